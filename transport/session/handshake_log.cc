#include "understudy/transport/session/handshake_log.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/sockets/acceptor.h"

namespace understudy::internal {
namespace {

std::string WhatWasWrong(const ConnectionWithoutStream& connection, bool is_tls) {
  const std::string lasted = absl::FormatDuration(absl::Trunc(connection.lasted, absl::Milliseconds(1)));
  switch (connection.end) {
    case ConnectionWithoutStream::End::kMadeRoom:
      return absl::StrCat(
          "closed after ", lasted,
          " to make room, because too many connections have not begun a stream; find out who opens them");
    case ConnectionWithoutStream::End::kTimeOver:
      return connection.has_spoken
                 ? absl::StrCat("closed, because its handshake was not complete after ", lasted,
                                "; the peer or this machine is overloaded, or the peer is not a node of Understudy")
                 : absl::StrCat("closed, because it said nothing for ", lasted,
                                "; a node of Understudy speaks at once, so find out what dials this port");
    case ConnectionWithoutStream::End::kClosed:
      break;
  }
  return is_tls ? absl::StrCat(
                      "its TLS handshake failed; the peer must dial with Credentials::Tls, and its certificate "
                      "must be in date and signed by this node's ca_file (tools/make_certs makes such a one); ",
                      "the peer's log says more. Once, when two nodes dial each other, it is no fault")
                : absl::StrCat("it spoke, but not gRPC; if it is a node that dials with TLS, start this one with ",
                               "Credentials::Tls too. Once, when two nodes dial each other, it is no fault");
}

}  // namespace

void HandshakeLog::Add(Cause cause, absl::string_view peer, absl::string_view what) {
  const Key key(cause, peer);
  absl::MutexLock lock(&mu_);
  if (sink_ == nullptr) return;
  const MonotonicTime now = clock_.Now();
  if (!HasRoomLocked(key, now)) return;
  Written& written = written_[key];
  std::string line = absl::StrCat("node ", node_, ": no session with ", peer, ": ", what);
  if (written.left_out > 0) absl::StrAppend(&line, " (", written.left_out, " more like it since the last such line)");
  if (without_room_ > 0) absl::StrAppend(&line, " (", without_room_, " failures of other peers were not logged)");
  without_room_ = 0;
  written = {.quiet_until = now + kQuiet};
  sink_->Write(LogSeverity::kWarning, line);
}

bool HandshakeLog::HasRoomLocked(const Key& key, MonotonicTime now) {
  if (const auto known = written_.find(key); known != written_.end()) {
    if (known->second.quiet_until <= now) return true;
    ++known->second.left_out;
    return false;
  }
  if (written_.size() >= kLinesPerMinute) {
    for (auto other = written_.begin(); other != written_.end();) {
      if (other->second.quiet_until > now) {
        ++other;
        continue;
      }
      without_room_ += other->second.left_out;
      other = written_.erase(other);
    }
  }
  if (written_.size() < kLinesPerMinute) return true;
  ++without_room_;
  return false;
}

void HandshakeLog::Add(const ConnectionWithoutStream& connection, bool is_tls) {
  // To connect and to say nothing is how a node sees whether another's port is still listened on.
  if (connection.end == ConnectionWithoutStream::End::kClosed && !connection.has_spoken) return;
  Add(Cause::kNoStream, connection.peer, WhatWasWrong(connection, is_tls));
}

void HandshakeLog::Stop() {
  absl::MutexLock lock(&mu_);
  sink_ = nullptr;
}

void LogPeerEvent(const PeerEvent& event, absl::string_view node, HandshakeLog& handshakes, LogSink& sink) {
  const std::string peer = absl::StrCat("node ", event.node);
  switch (event.kind) {
    case PeerEvent::Kind::kRefused:
      return handshakes.Add(HandshakeLog::Cause::kRefusedByPeer, peer, absl::StrCat("it refused: ", event.detail));
    case PeerEvent::Kind::kStreamRefused:
      return handshakes.Add(HandshakeLog::Cause::kRefusedHere, peer, absl::StrCat("refused it: ", event.detail));
    case PeerEvent::Kind::kFailed:
      return handshakes.Add(HandshakeLog::Cause::kNoSession, peer, event.detail);
    default:
      sink.Write(LogSeverity::kInfo, absl::StrCat("node ", node, ": ", event.ToString()));
  }
}

std::string WhyDialFailed(const absl::Status& why, bool is_tls) {
  const std::string said = absl::AsciiStrToLower(why.message());
  const auto says = [&said](absl::string_view text) { return absl::StrContains(said, text); };
  absl::string_view cure = "see that a node of Understudy listens there, and that nothing between changes what it says";
  if (says("expected the dns name")) {
    cure = "";  // NodeNameVerifier has said it
  } else if (says("certificate verify failed")) {
    cure =
        "its certificate must be in date and signed by this node's ca_file; make it anew with tools/make_certs, for "
        "all "
        "nodes in one folder";
  } else if (says("wrong version number") || says("packet length too long") || says("http request")) {
    cure = "what listens there does not speak TLS; start that node with Credentials::Tls";
  } else if (says("connection refused") || says("no such file")) {
    cure = "nothing listens there; start that node, or correct its address";
  } else if (says("dns resolution") || says("name resolution") || says("not known")) {
    cure = "correct the host's name, or its entry in the DNS";
  } else if (says("no answer")) {
    cure =
        "see whether that node runs and is not overloaded, whether its address is right, and whether a firewall is "
        "between";
  } else if (says("unreachable") || says("no route") || says("timed out") || says("invalid argument")) {
    cure = "there is no way to that machine; see to its address, its routes and firewalls";
  } else if (says("reset") || says("closed") || says("handshake") || says("broken pipe") || says("goaway")) {
    cure = is_tls
               ? "if this node's certificate is out of date, or of another authority than that node's ca_file, that "
                 "node closes the connection, and its log says so; so does one that speaks without TLS"
               : "a node that was started with Credentials::Tls closes connections without TLS: start this node with "
                 "it too";
  }
  return absl::StrCat(why.message(), cure.empty() ? "" : "; ", cure);
}

}  // namespace understudy::internal
