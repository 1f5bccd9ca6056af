#include "understudy/supervision/internal/child_makers.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/remote_children.h"

namespace understudy::internal {
namespace {

class CannotStart final : public Actor {
 public:
  explicit CannotStart(absl::Status status) : status_(std::move(status)) {}
  StartResult Start() override { return status_; }

 private:
  const absl::Status status_;
};

}  // namespace

absl::StatusOr<ChildStart::MakeActor> MakerElsewhere(const ChildSpec& child, Spawner* spawner,
                                                     const std::shared_ptr<RemoteLife>& life) {
  if (spawner == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' is to run on another node, but this system has no Node; start one first"));
  }
  NodeChild remote;
  remote.nodes = NodesInTurn(*child.placement, child.id);
  remote.connect_within = child.placement->connect_within;
  if (child.factory.has_value()) {  // a placement without a factory is refused by ValidateSpec
    remote.factory = child.factory->name;
    remote.argument_type = child.factory->argument_type;
    remote.argument = child.factory->argument;
  }
  remote.published_as = child.published_as;
  remote.label = child.id;
  remote.stop_within = ShutdownOf(child).LongestStop();
  remote.on_started = [life](Pid pid) { life->child = pid; };
  remote.left = std::shared_ptr<std::shared_ptr<const void>>(life, &life->left);
  return spawner->ForNode(remote);
}

absl::StatusOr<ChildStart::MakeActor> MakerOfProcess(const ChildSpec& child, Spawner* spawner) {
  if (spawner == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' is a process, but this system has no Node to start it; start one first"));
  }
  ProcessChild process{.binary = child.process->binary,
                       .arguments = child.process->arguments,
                       .environment = child.process->environment,
                       .node_name = child.process->node_name.empty() ? child.id : child.process->node_name,
                       .limits = child.process->limits,
                       .silent_within = child.process->silent_within};
  // The process gets SIGTERM when half of its shutdown time is over, and SIGKILL at the end of that time, because its
  // supervisor then kills the proxy. Without a limit it gets neither.
  const ChildShutdown shutdown = ShutdownOf(child);
  if (shutdown.kind != ChildShutdown::Kind::kBrutalKill) process.stop_within = shutdown.LongestStop() / 2;
  return spawner->ForProcess(process);
}

ChildStart::MakeActor FailedStart(absl::Status status) {
  return [status = std::move(status)] { return std::make_unique<CannotStart>(status); };
}

}  // namespace understudy::internal
