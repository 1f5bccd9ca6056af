// HostChildren: a node's offer to run children of supervisors on other nodes.
//
//   int main() {                                            // worker-1
//     ActorSystem system({.name = "worker-1"});
//     auto node = Node::Start(system, {.listen = …, .insecure_loopback_grants = true});
//     ActorFactories factories;
//     factories.Add<EncoderConfig>("encoder", [](const EncoderConfig& config) { return … });
//     return (*node)->RunTree(OneForOne().Child("host", Of(HostChildren(factories)).ShutdownWithoutLimit()));
//   }
//
// The other node's supervisor has a child Remote(OnNode("worker-1"),
// "encoder", config): see builders.h.
//
// Guarantees. The host starts a child with a registered factory, for peers that have
// this node's grant (Spawner::Grants) and for this node itself; other peers get
// NotPermitted. A child is linked to the host and ends with it. A child has no orphaned
// life: it ends when its supervisor says so; it is killed when its proxy (spawner.h) on
// the supervisor's node is killed; and when that node is lost it gets an exit with
// NoConnection from its parent, the host, and has its own shutdown time before it is
// killed. The supervisor gets the child's full exit reason; the crash report stays in
// this node's log. A host that is stopped stops all of its children at once, each
// within its own shutdown time; their supervisors get NoConnection, as for a lost node.
//
// A node has at most one host: a second one does not start, because its name is taken.
// Threads: as for every actor.
#ifndef UNDERSTUDY_TRANSPORT_CHILD_HOST_H_
#define UNDERSTUDY_TRANSPORT_CHILD_HOST_H_

#include <cstddef>

#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/ref.h"
#include "understudy/supervision/actor_factories.h"

namespace understudy {

struct ChildHostOptions {
  // The most children at one time; a further start fails with ResourceExhausted.
  size_t children_max = limits::kHostedChildrenMax;
};

// The spec of the host, to be spawned preferably as a child of the node's own tree.
// Other nodes find the host by the name that it publishes; in a system without a node
// it gets no requests.
ActorSpec<Ref<Actor>> HostChildren(ActorFactories factories, ChildHostOptions options = {});

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CHILD_HOST_H_
