// NodeCore: what is proved of peers: what they may do by it, and whether their
// processes have ended.
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/message.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/peer_watch.h"
#include "understudy/transport/stream_identity.h"

namespace understudy {

void NodeCore::SetGrants(Grants grants) {
  const Changing changing(*this, Change::kCall);
  grants_ = std::move(grants);
  for (const auto& [name, peer] : peers_) names_.OnGrantsChanged(name);
  TellAllNames();
}

bool NodeCore::MayPublish(absl::string_view node, absl::string_view name) {
  const Peer* peer = FindPeer(node);
  return peer != nullptr && grants_.Allows(peer->identity, node, Operation::kPublish, name);
}

bool NodeCore::Allows(absl::string_view node, Operation operation, absl::string_view name) {
  absl::MutexLock lock(&mu_);
  const Peer* peer = FindPeer(node);
  return peer != nullptr && peer->session.is_live() && grants_.Allows(peer->identity, node, operation, name);
}

bool NodeCore::IsGranted(const Peer& peer, SignalKind kind) {
  switch (kind) {
    case SignalKind::kKill:
      return grants_.Allows(peer.identity, peer.name, Operation::kKill);
    case SignalKind::kLink:
      return grants_.Allows(peer.identity, peer.name, Operation::kLink);
    default:
      return grants_.Allows(peer.identity, peer.name, Operation::kExit);
  }
}

std::shared_ptr<NodeCore::Link> NodeCore::CarrierOf(const Peer& peer) {
  const absl::optional<uint64_t> carrying = peer.session.carrying_stream();
  const auto stream = carrying.has_value() ? peer.streams.find(*carrying) : peer.streams.end();
  return stream != peer.streams.end() ? stream->second : nullptr;
}

void NodeCore::WatchPeer(const Peer& peer) {
  if (options_.watch == nullptr || !peer.session.is_live()) return;
  const std::shared_ptr<Link> carrier = CarrierOf(peer);
  if (carrier == nullptr) return;
  // Where the address is not the peer's own, a tunnel or a proxy may listen there: its end proves nothing of the peer.
  const bool is_own = peer.dialled_address == peer.learned_address;
  options_.watch->OnCarried(peer.name, peer.session.nodes().peer, is_own ? peer.dialled_address : "", carrier->process);
}

}  // namespace understudy
