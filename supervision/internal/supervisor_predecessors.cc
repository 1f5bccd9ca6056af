// PlanSupervisor: records and awaits lives of exclusive children that are not gone, both lives of its own children and
// those that an earlier life of this supervisor has left.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/plan_supervisor.h"
#include "understudy/supervision/internal/predecessor_watch.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

void PlanSupervisor::SetAbove(std::shared_ptr<ExclusiveLives> lives, bool is_below_exclusive) {
  lives_ = std::move(lives);
  is_below_exclusive_ = is_below_exclusive;
}

// Returns the child's key in ExclusiveLives: its id, which means the same child in the next life of this supervisor. An
// id that a pool has generated does not, so its key contains the pid of this life.
std::string PlanSupervisor::KeyOf(const std::string& child) {
  const bool is_of_this_life = spec_->pool != nullptr && !is_front() && IsMadeUpId(child);
  return is_of_this_life ? absl::StrCat(child, " of ", context().Self().ToString()) : child;
}

void PlanSupervisor::RecordLife(const ChildSpec& child, Pid life) {
  if (life.is_null() || !(child.exclusive || is_below_exclusive_)) return;
  const auto why = child.exclusive ? ExclusiveLives::Why::kIsExclusive : ExclusiveLives::Why::kIsBelowExclusive;
  lives_->Add(KeyOf(child.id), life, why, IsGone());
}

// Awaits the lives that an earlier life of this supervisor has left.
void PlanSupervisor::InheritPredecessors() {
  for (std::string& key : lives_->NotGone(IsGone())) {
    const LifeId life = plan_->AddPredecessor(key);
    predecessors_.Add({.life = life, .child = key, .key = std::move(key)});
  }
}

// Call before the plan is told that this life is down. Tells the plan if the life is not gone.
void PlanSupervisor::NoticeWhatLingers(LifeId life) {
  const std::shared_ptr<const ChildSpec> child = plan_->children().SpecOf(life);
  if (child->exclusive && !lives_->FirstNotGone(KeyOf(child->id), IsGone()).is_null()) plan_->Lingers(life);
}

void PlanSupervisor::Carry(const RestartPlan::AwaitGone& await) {
  predecessors_.Add({.life = await.life, .child = await.child->id, .key = KeyOf(await.child->id)});
}

void PlanSupervisor::LookAtPredecessors() {
  for (Predecessor& predecessor : predecessors_.TakeDue()) {
    if (const Pid left = lives_->FirstNotGone(predecessor.key, IsGone()); !left.is_null()) {
      const uint64_t monitor = context().MonitorUntilGone(left, &PlanSupervisor::PredecessorDown).Keep();
      predecessors_.Await(std::move(predecessor), monitor);
      continue;
    }
    plan_->Gone(predecessor.life, context().Now());
    if (!plan_->children().HasChild(predecessor.child)) lives_->Forget(predecessor.key, IsGone());
    Apply();
  }
}

void PlanSupervisor::PredecessorDown(const Down& down) {
  if (predecessors_.Fired(down.monitor)) LookAtPredecessors();
}

}  // namespace understudy::internal
