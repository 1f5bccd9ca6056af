// The actor that stands for a child on another node (see actors/spawner.h).
//
// It is started when the child is; declines or fails to start as the child does;
// ends with the child's reason, told once, and with NoConnection when the session
// with its node ends or the node takes no children any more. Its parent's exit is
// passed on to the child, also while that starts, and it ends when the child has
// ended. It may be killed: then the host at the other end kills the child.
#ifndef UNDERSTUDY_TRANSPORT_CHILDREN_REMOTE_CHILD_PROXY_H_
#define UNDERSTUDY_TRANSPORT_CHILDREN_REMOTE_CHILD_PROXY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/spawner.h"

namespace understudy::internal {

// Makes one per call. InvalidArgument: no nodes, or one whose name is none.
absl::StatusOr<std::function<std::unique_ptr<Actor>()>> RemoteChildProxyMaker(const NodeChild& child);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CHILDREN_REMOTE_CHILD_PROXY_H_
