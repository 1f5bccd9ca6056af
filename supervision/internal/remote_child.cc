#include "understudy/supervision/internal/remote_child.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"

namespace understudy::internal {

absl::StatusOr<ChildStart::MakeActor> MakerElsewhere(const ChildSpec& child, Spawner* spawner,
                                                     const std::shared_ptr<RemoteLife>& elsewhere) {
  if (spawner == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' runs on another node, and this system knows none: it has no node"));
  }
  NodeChild remote;
  remote.nodes = NodesInTurn(*child.placement, child.id);
  remote.connect_within = child.placement->connect_within;
  if (child.factory.has_value()) {  // the validation says so otherwise
    remote.factory = child.factory->name;
    remote.argument_type = child.factory->argument_type;
    remote.argument = child.factory->argument;
  }
  remote.published_as = child.published_as;
  remote.label = child.id;
  remote.stop_within = ShutdownOf(child).LongestStop();
  remote.on_started = [elsewhere](Pid pid) { elsewhere->child = pid; };
  remote.left = std::shared_ptr<std::shared_ptr<const void>>(elsewhere, &elsewhere->left);
  return spawner->ForNode(remote);
}

}  // namespace understudy::internal
