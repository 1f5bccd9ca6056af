// What a supervisor knows of lives of exclusive children that are not gone: of its
// own children, and of its earlier lives'.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/plan_supervisor.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

void PlanSupervisor::SetAbove(std::shared_ptr<ExclusiveLives> lives, bool is_below_exclusive) {
  lives_ = std::move(lives);
  is_below_exclusive_ = is_below_exclusive;
}

// A made-up id means another child in the pool's next life.
std::string PlanSupervisor::KeyOf(const std::string& child) {
  const bool is_of_this_life = spec_->pool != nullptr && !is_front() && IsMadeUpId(child);
  return is_of_this_life ? absl::StrCat(child, " of ", context().Self().ToString()) : child;
}

void PlanSupervisor::RecordLife(const ChildSpec& child, Pid life) {
  if (life.is_null() || !(child.exclusive || is_below_exclusive_)) return;
  const auto why = child.exclusive ? ExclusiveLives::Why::kIsExclusive : ExclusiveLives::Why::kIsBelowExclusive;
  lives_->Add(KeyOf(child.id), life, why, IsGone());
}

// Those that an earlier life of this supervisor has left.
void PlanSupervisor::InheritPredecessors() {
  for (std::string& key : lives_->NotGone(IsGone())) {
    const LifeId life = plan_->AddPredecessor(key);
    predecessors_due_.push_back({.life = life, .child = key, .key = std::move(key)});
  }
}

// That life is down.
void PlanSupervisor::NoticeWhatLingers(LifeId life) {
  const std::shared_ptr<const ChildSpec> child = plan_->children().SpecOf(life);
  if (child->exclusive && !lives_->FirstNotGone(KeyOf(child->id), IsGone()).is_null()) plan_->Lingers(life);
}

void PlanSupervisor::Carry(const RestartPlan::AwaitGone& await) {
  predecessors_due_.push_back({.life = await.life, .child = await.child->id, .key = KeyOf(await.child->id)});
}

// Monitors what is not gone of each, one life at a time: while it is not gone it may start others.
void PlanSupervisor::LookAtPredecessors() {
  for (Predecessor& predecessor : std::exchange(predecessors_due_, {})) {
    const Pid life = lives_->FirstNotGone(predecessor.key, IsGone());
    if (!life.is_null()) {
      predecessor.monitor = context().MonitorUntilGone(life, &PlanSupervisor::PredecessorDown);
      const uint64_t monitor = predecessor.monitor.id();
      awaited_.emplace(monitor, std::move(predecessor));
      continue;
    }
    plan_->Gone(predecessor.life, context().Now());
    if (!plan_->children().HasChild(predecessor.child)) lives_->Forget(predecessor.key, IsGone());
    Apply();
  }
}

void PlanSupervisor::PredecessorDown(const Down& down) {
  auto awaited = awaited_.extract(down.monitor);
  if (awaited.empty()) return;
  predecessors_due_.push_back(std::move(awaited.mapped()));
  LookAtPredecessors();
}

}  // namespace understudy::internal
