// How a PlanSupervisor makes its children.
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/plan_supervisor.h"
#include "understudy/supervision/internal/remote_child.h"
#include "understudy/supervision/supervisor.h"

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

absl::StatusOr<MakeActor> PlanSupervisor::MakerOf(const std::shared_ptr<const ChildSpec>& spec,
                                                  const std::shared_ptr<RemoteLife>& elsewhere) {
  const ChildSpec& child = *spec;
  const bool is_below_exclusive = is_below_exclusive_ || child.exclusive;
  if (child.placement.has_value()) {
    if (!is_below_exclusive) return MakerElsewhere(child, context().Spawner(), elsewhere);
    return absl::FailedPreconditionError(absl::StrCat(
        "child '", child.id, "' is to run on another node, but a supervisor above it is exclusive: when the node is ",
        "lost nobody knows whether its handler runs on"));
  }
  if (child.kind == ChildKind::kProcess) return MakerOfProcess(child);
  if (child.subtree == nullptr && child.start == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' has nothing to start: no ChildSpec::start"));
  }
  // A factory may make a supervisor too.
  auto hand_down = [lives = lives_, key = KeyOf(child.id), is_below_exclusive](std::unique_ptr<Actor> made) {
    if (auto* const supervisor = dynamic_cast<PlanSupervisor*>(made.get()); supervisor != nullptr) {
      supervisor->SetAbove(lives->Below(key), is_below_exclusive);
    }
    return made;
  };
  if (child.subtree == nullptr) {
    return MakeActor([spec, hand_down = std::move(hand_down)] { return hand_down(spec->start->make()()); });
  }
  SupervisorSpec subtree = *child.subtree;
  if (!subtree.on_event) subtree.on_event = spec_->on_event;
  ChildStart::MakeActor make =
      child.start != nullptr ? child.start->MakerOf(std::move(subtree)) : MakeSupervisor(std::move(subtree)).make;
  return MakeActor([make = std::move(make), hand_down = std::move(hand_down)] { return hand_down(make()); });
}

absl::StatusOr<MakeActor> PlanSupervisor::MakerOfProcess(const ChildSpec& child) {
  understudy::Spawner* spawner = context().Spawner();
  if (spawner == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' is a process, and this system cannot start one: it has no node"));
  }
  ProcessChild process{.binary = child.process->binary,
                       .arguments = child.process->arguments,
                       .environment = child.process->environment,
                       .node_name = child.process->node_name.empty() ? child.id : child.process->node_name,
                       .limits = child.process->limits,
                       .silent_within = child.process->silent_within};
  // SIGTERM in the middle of the time it has; SIGKILL by us at its end. Neither without a limit.
  const ChildShutdown shutdown = ShutdownOf(child);
  if (shutdown.kind != ChildShutdown::Kind::kBrutalKill) process.stop_within = shutdown.LongestStop() / 2;
  return spawner->ForProcess(process);
}

MakeActor PlanSupervisor::FailedStart(absl::Status status) {
  return [status = std::move(status)] { return std::make_unique<CannotStart>(status); };
}

}  // namespace understudy::internal
