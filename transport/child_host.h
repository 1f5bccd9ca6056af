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
// Guarantees. A child is made by a factory that is registered here, for peers
// that have this node's grant (Spawner::Grants) and for this node itself; others
// are answered NotPermitted. It is linked to the host, and dies with it. It ends
// when its supervisor says so, is killed when what stands for it there is killed,
// and when that node is lost it gets NoConnection from its parent, and has its
// own time to stop before it is killed: no orphan. Its end is told with its whole
// reason; only what it was at when it crashed stays in this node's log. When the
// host itself is stopped, it stops the children, all at once, each within its own
// time; their supervisors hear NoConnection, as for a node that is lost.
//
// A node has one: a second one does not start, its name is taken. An actor like
// any other; threads as for every actor.
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
  // Children at once; a start beyond it fails with ResourceExhausted.
  size_t children_max = limits::kHostedChildrenMax;
};

// The host as an actor to be spawned, best as a child of the node's own tree.
// It publishes its name; without a node it serves nobody.
ActorSpec<Ref<Actor>> HostChildren(ActorFactories factories, ChildHostOptions options = {});

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CHILD_HOST_H_
