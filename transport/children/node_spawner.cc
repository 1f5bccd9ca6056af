#include "understudy/transport/children/node_spawner.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/spawner.h"
#include "understudy/transport/children/remote_child_proxy.h"

namespace understudy::internal {

absl::StatusOr<NodeSpawner::MakeActor> NodeSpawner::ForProcess(const ProcessChild& child) {
  if (processes_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot start process '", child.binary, "': this node starts no process children"));
  }
  return processes_(child);
}

absl::StatusOr<NodeSpawner::MakeActor> NodeSpawner::ForNode(const NodeChild& child) {
  return RemoteChildProxyMaker(child);
}

}  // namespace understudy::internal
