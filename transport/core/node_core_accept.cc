// NodeCore: streams that other nodes opened, until they belong to a peer. Such a stream has only its entry in
// pending_handshakes_ until its Hello has passed all checks that need no session. Then its node gets a place in the
// table of peers. Until the handshake is complete, an unproved peer loses that place to a newcomer if all such places
// are taken, so that nodes which claim names and do not go on cannot keep others out.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

using internal::Change;
using internal::PeerOrigin;

namespace {

std::string WhyNotThatNode(const StreamIdentity& identity, absl::string_view node) {
  if (identity.proof != StreamIdentity::Proof::kCertificate) {
    return absl::StrCat("the process at the other end may not be node ", node,
                        ": the connection that it came by is another node's");
  }
  return absl::StrCat("the process at the other end calls itself ", node, ", and its certificate names '",
                      absl::StrJoin(identity.names, ", "), "': expected the DNS name ", node,
                      " (tools/make_certs makes such a one)");
}

}  // namespace

FrameStream::Events* NodeCore::Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                                      OnStreamOver on_over) {
  std::shared_ptr<NodeLink> link;
  {
    absl::MutexLock lock(&table_mu_);
    // Streams whose identity is unproved may use only a quarter of the entries, so that they cannot keep others out.
    const auto unproved = std::count_if(pending_handshakes_.begin(), pending_handshakes_.end(),
                                        [](const auto& entry) { return !entry.second.link->identity.is_proved(); });
    const bool is_full = !identity.is_proved() && unproved >= static_cast<int64_t>(limits::kUnprovedPeersMax);
    if (leaving_.load(std::memory_order_relaxed) || is_full || pending_handshakes_.size() >= limits::kPeersMax) {
      ++streams_refused_;
      return nullptr;
    }
    link = parts_.links.Add(identity);
    link->SetProcess(stream->peer_process());
    link->SetStream(std::move(stream));
    link->on_over = std::move(on_over);
    link->Open();
    const MonotonicTime deadline = ReadClock() + parts_.options.times.handshake_timeout;
    pending_handshakes_[link->number] = {.link = link, .deadline = deadline};
    nobody_->VisitAt(deadline);
  }
  nobody_->Settle(Change::kCall);
  return link.get();
}

void NodeCore::ClosePendingHandshake(const std::shared_ptr<NodeLink>& link) {
  if (!link->is_refused) ++streams_refused_;  // a refused one was counted when it was refused
  pending_handshakes_.erase(link->number);
  nobody_->Close(link);
}

void NodeCore::CloseLateStrangers() {
  {
    absl::MutexLock lock(&table_mu_);
    const MonotonicTime now = ReadClock();
    const std::map<uint64_t, PendingHandshake> strangers = pending_handshakes_;
    for (const auto& [number, stranger] : strangers) {
      if (stranger.deadline <= now) {
        ClosePendingHandshake(stranger.link);
      } else {
        nobody_->VisitAt(stranger.deadline);
      }
    }
  }
  nobody_->Settle(Change::kEvent);
}

void NodeCore::OnLinkFrame(const std::shared_ptr<NodeLink>& link, absl::string_view frame) {
  // Acquire: pairs with the store that bound the link to its peer.
  if (PeerCore* const core = link->peer.load(std::memory_order_acquire); core != nullptr) {
    core->OnFrame(*link, frame);
    return;
  }
  PeerCore* evicted = nullptr;
  {
    absl::MutexLock lock(&table_mu_);
    if (!pending_handshakes_.contains(link->number)) return;
    evicted = BindAccepted(link, frame);
  }
  // The lock is released, so streams may be called.
  if (evicted != nullptr) evicted->Settle(Change::kEvent);
  PeerCore* const core = link->peer.load(std::memory_order_acquire);
  (core != nullptr ? core : nobody_.get())->Settle(Change::kEvent);
}

NodeCore::PeerCore* NodeCore::EndOldestHandshake() {
  PeerCore* oldest = nullptr;
  uint64_t tenancy = 0;
  for (const auto& [name, core] : peers_) {
    const PeerCore::Standing standing = core->standing();
    // A peer with pending deliveries stays: if it came back in another core, the two would deliver in parallel.
    const bool gives_way = standing.is_unproved && !standing.is_live && !standing.is_delivering;
    if (gives_way && (oldest == nullptr || standing.tenancy < tenancy)) {
      oldest = core;
      tenancy = standing.tenancy;
    }
  }
  if (oldest == nullptr) return nullptr;
  const absl::optional<SessionLedger> ledger = oldest->Evict();
  if (!ledger.has_value()) return nullptr;
  ++streams_refused_;
  ErasePeer(*oldest, *ledger);
  return oldest;
}

absl::optional<Refusal> NodeCore::CheckStranger(const NodeLink& link, const proto::Hello& hello, PeerCore*& evicted) {
  const std::string& node = hello.from_node();
  const NodeCoreOptions& options = parts_.options;
  if (absl::optional<Refusal> refusal = CheckHello(hello, options.node, WireVersions()); refusal.has_value()) {
    return refusal;
  }
  if (leaving_.load(std::memory_order_relaxed)) {
    return Refusal{.reason = proto::Refuse::STOPPING, .detail = "this node is leaving"};
  }
  if (!link.identity.MayBe(node) || (options.may_claim != nullptr && !options.may_claim(link.identity, node))) {
    return Refusal{.reason = proto::Refuse::NAME_TAKEN, .detail = WhyNotThatNode(link.identity, node)};
  }
  if (FindPeer(node) != nullptr) return absl::nullopt;
  if (peers_.size() >= limits::kPeersMax) evicted = EndOldestHandshake();
  if (peers_.size() >= limits::kPeersMax) {
    return Refusal{.reason = proto::Refuse::FULL,
                   .detail = absl::StrCat("this node has ", limits::kPeersMax, " peers, the most that it may have")};
  }
  const auto is_unproved = [](const auto& entry) { return entry.second->standing().is_unproved; };
  const bool is_full =
      !link.identity.is_proved() && evicted == nullptr &&
      std::count_if(peers_.begin(), peers_.end(), is_unproved) >= static_cast<int64_t>(limits::kUnprovedPeersMax);
  if (is_full) evicted = EndOldestHandshake();
  if (is_full && evicted == nullptr) {
    return Refusal{
        .reason = proto::Refuse::FULL,
        .detail = absl::StrCat("this node has ", limits::kUnprovedPeersMax,
                               " peers whose identity is not proved, the most that it may have; TLS or a Unix "
                               "socket proves it, and AddPeer keeps a place")};
  }
  return absl::nullopt;
}

NodeCore::PeerCore* NodeCore::BindAccepted(const std::shared_ptr<NodeLink>& link, absl::string_view frame) {
  const absl::StatusOr<proto::Frame> decoded = DecodeHandshake(frame);
  if (link->is_refused || !decoded.ok() || !decoded->has_hello()) {
    ClosePendingHandshake(link);
    return nullptr;
  }
  const proto::Hello& hello = decoded->hello();
  PeerCore* evicted = nullptr;
  if (const absl::optional<Refusal> refusal = CheckStranger(*link, hello, evicted); refusal.has_value()) {
    ++streams_refused_;
    link->is_refused = true;  // closed by the peer, or when its time for a Hello is over
    nobody_->Write(link, RefuseFrame(*refusal, WireVersions(), parts_.options.incarnation));
    nobody_->Report(
        PeerEvent{.kind = PeerEvent::Kind::kStreamRefused,
                  .node = hello.from_node(),
                  .detail = absl::StrCat(proto::Refuse::Reason_Name(refusal->reason), ": ", refusal->detail)});
    return evicted;
  }
  pending_handshakes_.erase(link->number);
  // CheckStranger made sure that there is a place.
  AddPeer(hello.from_node(), link->identity.is_proved() ? PeerOrigin::kKnown : PeerOrigin::kUnproved)
      ->Bind(link, hello);
  return evicted;
}

}  // namespace understudy
