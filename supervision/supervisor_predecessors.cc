// What a supervisor knows of killed handlers that run on: those of its own
// exclusive children, and those of its earlier lives'.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/context.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/exclusive_lives.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/plan_supervisor.h"
#include "understudy/supervision/restart_plan.h"

namespace understudy::internal {
namespace {

constexpr absl::string_view kLookTimerName = "supervisor: predecessors";

}  // namespace

// Those that an earlier life of this supervisor has left.
void PlanSupervisor::AwaitInherited() {
  for (const ChildSpec& child : spec_->children) {
    if (!child.exclusive && child.subtree == nullptr) continue;
    lives_->Keep(child.id);
    ExclusiveLives::Token last = lives_->LastOf(child.id);
    if (!last.expired()) predecessors_[plan_->AddPredecessor(child.id)] = std::move(last);
  }
  LookLater();
}

// A kernel that told this would spare the looking; it is rare.
void PlanSupervisor::LookForPredecessors() {
  is_looking_ = false;
  std::vector<LifeId> gone;
  for (const auto& [life, token] : predecessors_) {
    if (token.expired()) gone.push_back(life);
  }
  for (const LifeId life : gone) {
    predecessors_.erase(life);
    plan_->Gone(life, context().Now());
    CarryOut();
  }
  LookLater();
}

void PlanSupervisor::LookLater() {
  if (predecessors_.empty() || std::exchange(is_looking_, true)) return;
  const absl::Status armed =
      context().StartTimer(kLookTimerName, limits::kPredecessorLook, &PlanSupervisor::LookForPredecessors);
  if (!armed.ok()) Fail(armed);  // two timers are always within the limit
}

}  // namespace understudy::internal
