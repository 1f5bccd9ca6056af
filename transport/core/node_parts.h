// NodeParts: the objects that the cores of all peers of a node share. A message that is
// sent or delivered takes no lock here, except where the header of a part says so.
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

// kUnproved: the peer dialled this node, and nothing proves its identity. kKnown: any other peer.
enum class PeerOrigin : uint8_t { kKnown, kUnproved };

// The calls that a peer's core makes of its node, without holding any lock.
class PeerCoreOwner {
 public:
  virtual ~PeerCoreOwner() = default;
  // Arranges for NodeTimer::OnTime(time) to be called at `time`.
  virtual void WakeAt(MonotonicTime time) = 0;
  // Sends each peer the changes of names that it has not been sent.
  virtual void TellNames() = 0;
  // Nothing seems to keep the peer of `core` any more; the node vacates the core if that is so.
  virtual void OnIdle(PeerCore& core) = 0;
};

struct NodeParts {
  NodeParts(NodeCoreOptions its_options, NodeLinkOwner* link_owner, PeerCoreOwner* its_owner)
      : options(std::move(its_options)),
        owner(its_owner),
        names(options.node, std::make_shared<const Grants>(options.grants), options.registry, options.inbound,
              LocalTypes(options.messages)),
        links(link_owner) {}

  const NodeCoreOptions options;
  PeerCoreOwner* const owner;
  NodeNames names;
  NodeTimer timer;
  PeerPlaces places;
  NodeLinks links;
  // A leaf, held while a peer's earlier incarnations are marked dead and the new one is given its place.
  absl::Mutex meeting_mu;
  // Asks that arrive from peers are refused (NodeCore::BeginDrain). Relaxed: an ask that is delivered at the same time
  // may be accepted or refused.
  std::atomic<bool> draining{false};
  // The number of times that an incarnation without a proved identity got a place in the table of nodes. An incarnation
  // that comes back after another one of its name counts again. Relaxed: only the count matters.
  std::atomic<int64_t> unproved_met{0};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_PARTS_H_
