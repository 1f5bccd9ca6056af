// RemoteChildProxy: the local actor that represents a child on another node (see
// actors/spawner.h).
//
// The proxy has started when the child has, and declines or fails to start as the child
// does. It ends with the child's exit reason, or with NoConnection when the session with
// the child's node ends or that node hosts no children any more. It forwards its parent's
// exit to the child, even while the child is starting, and ends when the child has ended.
// If the proxy is killed, the host on the other node kills the child.
#ifndef UNDERSTUDY_TRANSPORT_CHILDREN_REMOTE_CHILD_PROXY_H_
#define UNDERSTUDY_TRANSPORT_CHILDREN_REMOTE_CHILD_PROXY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/spawner.h"

namespace understudy::internal {

// Returns a function that makes a proxy at each call. InvalidArgument: `child` names no
// node or a malformed node name, or one of its times is negative.
absl::StatusOr<std::function<std::unique_ptr<Actor>()>> RemoteChildProxyMaker(const NodeChild& child);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CHILDREN_REMOTE_CHILD_PROXY_H_
