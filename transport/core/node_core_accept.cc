// NodeCore: streams that other nodes opened, until they belong to a peer. Such a stream has only its entry in
// handshakes_ until its Hello has passed all checks that need no session. Then its node gets a place in the table of
// peers.
#include <cstdint>
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
#include "understudy/transport/core/pending_handshakes.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

using internal::Change;
using internal::NodeLink;
using internal::PeerOrigin;
using internal::PeerTable;
using internal::PendingHandshakes;

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

PeerOrigin OriginOf(const NodeLink& link) {
  return link.identity.is_proved() ? PeerOrigin::kKnown : PeerOrigin::kUnproved;
}

}  // namespace

FrameStream::Events* NodeCore::Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                                      OnStreamOver on_over) {
  std::shared_ptr<NodeLink> link;
  {
    absl::MutexLock lock(&table_mu_);
    const bool is_leaving = leaving_.load(std::memory_order_relaxed);
    if (is_leaving || !handshakes_.HasRoom(identity)) {
      handshakes_.CountRefused(is_leaving ? RefusalCause(proto::Refuse::STOPPING) : PendingHandshakes::kNoRoom);
      return nullptr;
    }
    link = parts_.links.Add(identity);
    link->SetProcess(stream->peer_process());
    link->SetStream(std::move(stream));
    link->on_over = std::move(on_over);
    link->Open();
    const MonotonicTime deadline = ReadClock() + parts_.options.times.handshake_timeout;
    handshakes_.Add(link, deadline);
    no_peer_->VisitAt(deadline);
  }
  no_peer_->Settle(Change::kCall);
  return link.get();
}

void NodeCore::CloseLateHandshakes() {
  {
    absl::MutexLock lock(&table_mu_);
    for (const std::shared_ptr<NodeLink>& late : handshakes_.DropLate(ReadClock())) no_peer_->Close(late);
    no_peer_->VisitAt(handshakes_.NextDeadline());
  }
  no_peer_->Settle(Change::kEvent);
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
    if (!handshakes_.Contains(link->number)) return;
    evicted = BindAccepted(link, frame);
  }
  // The lock is released, so streams may be called.
  if (evicted != nullptr) evicted->Settle(Change::kEvent);
  PeerCore* const core = link->peer.load(std::memory_order_acquire);
  (core != nullptr ? core : no_peer_.get())->Settle(Change::kEvent);
}

absl::optional<Refusal> NodeCore::CheckNewPeer(const NodeLink& link, const proto::Hello& hello, PeerCore*& evicted) {
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
  if (table_.Find(node) != nullptr) return absl::nullopt;
  const PeerTable::Room room = table_.MakeRoom(OriginOf(link));
  evicted = room.evicted;
  if (evicted != nullptr) handshakes_.CountRefused(PendingHandshakes::kGaveWay);
  switch (room.verdict) {
    case PeerTable::Room::Verdict::kFree:
      return absl::nullopt;
    case PeerTable::Room::Verdict::kFull:
      return Refusal{.reason = proto::Refuse::FULL,
                     .detail = absl::StrCat("this node has ", limits::kPeersMax, " peers, the most that it may have")};
    case PeerTable::Room::Verdict::kFullOfUnproved:
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
  if (!handshakes_.AwaitsHello(link->number) || !decoded.ok() || !decoded->has_hello()) {
    handshakes_.Drop(link->number, PendingHandshakes::kNotAHello);
    no_peer_->Close(link);
    return nullptr;
  }
  const proto::Hello& hello = decoded->hello();
  PeerCore* evicted = nullptr;
  if (const absl::optional<Refusal> refusal = CheckNewPeer(*link, hello, evicted); refusal.has_value()) {
    handshakes_.Refuse(link->number, RefusalCause(refusal->reason));
    no_peer_->Write(link, RefuseFrame(*refusal, WireVersions(), parts_.options.incarnation));
    no_peer_->Report(
        PeerEvent{.kind = PeerEvent::Kind::kStreamRefused,
                  .node = hello.from_node(),
                  .detail = absl::StrCat(proto::Refuse::Reason_Name(refusal->reason), ": ", refusal->detail)});
    return evicted;
  }
  handshakes_.Remove(link->number);
  // CheckNewPeer made sure that there is a place.
  AddPeer(hello.from_node(), OriginOf(*link))->Bind(link, hello);
  return evicted;
}

}  // namespace understudy
