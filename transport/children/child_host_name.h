// ChildHostName: the name under which a node's child host, an actor with the service ChildHost of child_host.proto, is
// found. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_CHILDREN_CHILD_HOST_NAME_H_
#define UNDERSTUDY_TRANSPORT_CHILDREN_CHILD_HOST_NAME_H_

#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// The name that the child host of `node` publishes.
std::string ChildHostName(absl::string_view node);

// The name of the node of `pid`, or "?" if the node is not known.
absl::string_view NodeNameOf(Pid pid);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CHILDREN_CHILD_HOST_NAME_H_
