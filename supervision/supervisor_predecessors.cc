// What a supervisor knows of lives of exclusive children that are not gone: of its
// own children, and of its earlier lives'.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/context.h"
#include "understudy/supervision/exclusive_lives.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/member_ids.h"
#include "understudy/supervision/plan_supervisor.h"
#include "understudy/supervision/restart_plan.h"

namespace understudy::internal {
namespace {

constexpr absl::string_view kLookTimerName = "supervisor: predecessors";

}  // namespace

// What a new life holds: the actor has `life`, what is below it has `below`.
PlanSupervisor::Hold PlanSupervisor::HoldOf(const Action& start) {
  if (!start.child->exclusive) return {held_, held_};
  const auto life = std::make_shared<const std::shared_ptr<const void>>(held_);
  const auto below = std::make_shared<const std::shared_ptr<const void>>(life);
  tokens_[start.life] = {life, below};
  // A made-up id is of this life of the pool alone.
  if (spec_->pool == nullptr || !IsMadeUpId(start.child->id)) lives_->SetLast(start.child->id, life);
  return {life, below};
}

// Those that an earlier life of this supervisor has left.
void PlanSupervisor::AwaitInherited() {
  for (auto& [child, life] : lives_->NotGone()) {
    const LifeId predecessor = plan_->AddPredecessor(child);
    predecessors_[predecessor] = {std::move(child), std::move(life)};
  }
  LookLater();
}

// That life is down. Its own handler's return the reason tells of.
void PlanSupervisor::NoticeWhatLingers(LifeId life) {
  const auto found = tokens_.find(life);
  if (found != tokens_.end() && !found->second.below.expired()) plan_->Lingers(life);
}

void PlanSupervisor::AwaitGone(const Action& action) {
  const auto tokens = tokens_.extract(action.life);
  if (!tokens.empty()) predecessors_[action.life] = {action.child->id, tokens.mapped().life};
  LookLater();
}

// A kernel that told this would spare the looking; it is rare.
void PlanSupervisor::LookForPredecessors() {
  is_looking_ = false;
  std::vector<LifeId> gone;
  for (const auto& [life, predecessor] : predecessors_) {
    if (predecessor.life.expired()) gone.push_back(life);
  }
  for (const LifeId life : gone) {
    const std::string child = std::move(predecessors_.extract(life).mapped().child);
    plan_->Gone(life, context().Now());
    if (!plan_->HasChild(child)) lives_->Forget(child);
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
