// NodeParts: what the cores of all peers of a node share. Nothing here is locked on
// the path of a message, but for what its own header says of it.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_PARTS_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_PARTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/node_names.h"
#include "understudy/transport/core/node_timer.h"
#include "understudy/transport/core/peer_places.h"
#include "understudy/transport/grants.h"

namespace understudy::internal {

// Whether a peer came by itself, and nothing proves its identity.
enum class PeerOrigin : uint8_t { kKnown, kUnproved };

// What a peer's core wants of its node. Called without any lock.
class PeerCoreOwner {
 public:
  virtual ~PeerCoreOwner() = default;
  // Calls for NodeTimer::OnTime then.
  virtual void WakeAt(MonotonicTime time) = 0;
  // Peers may have to be told names.
  virtual void TellNames() = 0;
  // Nothing keeps the peer any more.
  virtual void OnIdle(PeerCore& core) = 0;
};

struct NodeParts {
  NodeParts(NodeCoreOptions its_options, NodeLinkOwner* link_owner, PeerCoreOwner* its_owner)
      : options(std::move(its_options)),
        owner(its_owner),
        names(options.node, std::make_shared<const Grants>(options.grants), options.registry, options.inbound),
        links(link_owner) {}

  const NodeCoreOptions options;
  PeerCoreOwner* const owner;
  NodeNames names;
  NodeTimer timer;
  PeerPlaces places;
  NodeLinks links;
  // A leaf, held from marking a peer's earlier incarnations dead to the place of the new one.
  absl::Mutex meeting_mu;
  // Asks of peers are refused. Relaxed: an ask that is delivered at the same time may come before or after it.
  std::atomic<bool> draining{false};
  // Incarnations that began a session without a proof of their identity, each as often as it came back after another.
  // Relaxed: it is a count.
  std::atomic<int64_t> unproved_met{0};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_PARTS_H_
