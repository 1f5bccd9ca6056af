// NodeCore: streams that other nodes opened, until they are a peer's. Such a stream has its entry in strangers_, and
// no other place, until its Hello has passed all that can be checked without a session. From then until its handshake
// is complete it has a peer's place, which it gives up to a newcomer when all are taken: names that are said and not
// followed up keep nobody out.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/handshake.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/peer_session.h"
#include "understudy/transport/stream_identity.h"

namespace understudy {
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

void NodeCore::PeerProvedDead(absl::string_view node, NodeIncarnation incarnation) {
  const Changing changing(*this, Change::kEvent);
  Peer* peer = FindPeer(node);
  if (peer == nullptr) return;
  peer->session.OnPeerProvedDead(incarnation, Now());
  CarryOut(*peer);
}

bool NodeCore::EndOldestHandshake() {
  Peer* oldest = nullptr;
  for (const auto& [name, peer] : peers_) {
    const bool gives_way = peer->is_unproved && !peer->is_kept && !peer->session.is_live();
    if (gives_way && (oldest == nullptr || peer->number < oldest->number)) oldest = peer.get();
  }
  if (oldest == nullptr) return false;
  ++counters_.streams_refused;
  oldest->session.AbandonHandshakes(Now());
  CarryOut(*oldest);
  EraseIdlePeers();
  return true;
}

absl::optional<Refusal> NodeCore::CheckStranger(const Link& link, const proto::Hello& hello) {
  const std::string& node = hello.from_node();
  if (absl::optional<Refusal> refusal = CheckHello(hello, options_.node, WireVersions()); refusal.has_value()) {
    return refusal;
  }
  if (leaving_) return Refusal{.reason = proto::Refuse::STOPPING, .detail = "this node is leaving"};
  if (!link.identity.MayBe(node) || (options_.may_claim != nullptr && !options_.may_claim(link.identity, node))) {
    return Refusal{.reason = proto::Refuse::NAME_TAKEN, .detail = WhyNotThatNode(link.identity, node)};
  }
  if (FindPeer(node) != nullptr) return absl::nullopt;
  if (peers_.size() >= limits::kPeersMax && !EndOldestHandshake()) {
    return Refusal{.reason = proto::Refuse::FULL,
                   .detail = absl::StrCat("this node has ", limits::kPeersMax, " peers, the most that it may have")};
  }
  const auto is_unproved = [](const auto& entry) { return entry.second->is_unproved && !entry.second->is_kept; };
  if (!link.identity.is_proved() &&
      std::count_if(peers_.begin(), peers_.end(), is_unproved) >= static_cast<int64_t>(limits::kUnprovedPeersMax) &&
      !EndOldestHandshake()) {
    return Refusal{
        .reason = proto::Refuse::FULL,
        .detail = absl::StrCat("this node has ", limits::kUnprovedPeersMax,
                               " peers whose identity is not proved, the most that it may have; TLS or a Unix "
                               "socket proves it, and AddPeer keeps a place")};
  }
  return absl::nullopt;
}

void NodeCore::BindAccepted(const std::shared_ptr<Link>& link, absl::string_view frame) {
  const absl::StatusOr<proto::Frame> decoded = DecodeHandshake(frame);
  if (link->is_refused || !decoded.ok() || !decoded->has_hello()) {
    CloseStranger(link);
    return;
  }
  const proto::Hello& hello = decoded->hello();
  if (const absl::optional<Refusal> refusal = CheckStranger(*link, hello); refusal.has_value()) {
    ++counters_.streams_refused;
    link->is_refused = true;  // closed by the peer, or when its time for a Hello is over
    stream_work_.push_back({.kind = StreamWork::Kind::kWrite,
                            .link = link,
                            .text = RefuseFrame(*refusal, WireVersions(), options_.incarnation)});
    ReportRefusal(hello.from_node(), *refusal);
    return;
  }
  const bool is_known = FindPeer(hello.from_node()) != nullptr;
  Peer* const peer = AddPeer(hello.from_node());
  if (!is_known) peer->is_unproved = !link->identity.is_proved();
  if (link->identity.is_proved()) peer->is_unproved = false;
  strangers_.erase(link->number);
  const uint64_t stream = peer->session.OnAccepted(hello, link->identity, Now());
  link->peer = peer;
  link->stream_of_peer = stream;
  peer->streams[stream] = link;
  CarryOut(*peer);
}

absl::StatusOr<NodePlace> NodeCore::TakePlace(const std::string& node, NodeIncarnation incarnation) {
  Peer* const peer = FindPeer(node);
  const bool is_new = peer->last_met != incarnation;
  const bool is_rationed = is_new && peer->is_unproved && !peer->is_kept;
  if (is_rationed && unproved_met_ >= limits::kUnprovedPlacesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the table of nodes has had ", limits::kUnprovedPlacesMax,
                     " incarnations whose identity is not proved, the most that it may have, and no place for node ",
                     node, "; restart this process, or use TLS or Unix sockets"));
  }
  // First: in a full table the place of the one before it may be the one that it gets.
  if (is_new) options_.mark_peers_dead(node, incarnation);
  absl::StatusOr<NodePlace> place = options_.intern_peer(node, incarnation);
  if (!place.ok()) return place;
  if (is_rationed) ++unproved_met_;
  peer->last_met = incarnation;
  return place;
}

void NodeCore::ReportRefusal(absl::string_view node, const Refusal& refusal) {
  deliveries_.push_back(
      PeerEvent{.kind = PeerEvent::Kind::kStreamRefused,
                .node = std::string(node),
                .detail = absl::StrCat(proto::Refuse::Reason_Name(refusal.reason), ": ", refusal.detail)});
}

}  // namespace understudy
