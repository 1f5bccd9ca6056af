// HandshakeLog: logs why this node and a peer cannot begin a session: at most one line a
// minute for each peer and cause, however often they try.
//
//   node ledger: no session with node house-1: dialled at 10.0.0.7:7000: Connection refused: … (28 more like it)
//
// Guarantees. All peers together get at most kLinesPerMinute lines a minute, because an
// unknown node can claim one name after another. Lines that are left out are counted,
// and the next line of that peer and cause says how many. Lines left out because
// kLinesPerMinute was reached are reported by the next line of any peer.
// Threads: any. Lifetime: it may outlive its sink once Stop has been called.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_LOG_H_
#define UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/sockets/acceptor.h"

namespace understudy::internal {

class HandshakeLog {
 public:
  enum class Cause {
    kDialFailed,     // the peer was dialled, and no frame came from it
    kRefusedByPeer,  // the peer refused this node's stream
    kRefusedHere,    // this node refused the peer's stream
    kNoSession,      // this node cannot begin a session with the peer
    kNoStream,       // a connection ended before a stream began on it
  };
  static constexpr absl::Duration kQuiet = absl::Minutes(1);
  static constexpr size_t kLinesPerMinute = 64;

  // `clock` must outlive this object; `sink` must outlive it or the call of Stop.
  HandshakeLog(absl::string_view node, Clock& clock, LogSink& sink) : node_(node), clock_(clock), sink_(&sink) {}

  // Logs one failure. `peer` names the peer, as in "node house-1"; `what` says what is wrong and what would help.
  void Add(Cause cause, absl::string_view peer, absl::string_view what);
  // Logs a connection on which no stream began; `is_tls`: this node expects TLS there.
  void Add(const ConnectionWithoutStream& connection, bool is_tls);
  MonotonicTime Now() { return clock_.Now(); }
  // Nothing is written after Stop has returned.
  void Stop();

 private:
  using Key = std::pair<Cause, std::string>;
  struct Written {
    MonotonicTime quiet_until;
    int64_t left_out = 0;  // lines left out since the last one
  };
  // Whether there is room for a line of `key`.
  bool HasRoomLocked(const Key& key, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string node_;
  Clock& clock_;
  absl::Mutex mu_;
  LogSink* sink_ ABSL_GUARDED_BY(mu_);  // null after Stop
  // At most kLinesPerMinute.
  std::map<Key, Written> written_ ABSL_GUARDED_BY(mu_);
  int64_t without_room_ ABSL_GUARDED_BY(mu_) = 0;  // other lines left out, of peers that have no entry in written_
};

// Logs a PeerEvent as one line. Events that mean that no session could begin go through
// `handshakes`, the others to `sink`.
void LogPeerEvent(const PeerEvent& event, absl::string_view node, HandshakeLog& handshakes, LogSink& sink);

// Explains why a dial failed with `why`, and what would help. `is_tls`: this node dials
// with TLS.
[[nodiscard]] std::string WhyDialFailed(const absl::Status& why, bool is_tls);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_LOG_H_
