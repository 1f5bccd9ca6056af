// The names that a PlanSupervisor keeps for its children while they are down (NameKeep in registry.h).
#include <memory>

#include "understudy/actors/context.h"
#include "understudy/actors/registry.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/plan_supervisor.h"

namespace understudy::internal {

// If the plan keeps them. Of a child on another node, KeepNameElsewhere does.
void PlanSupervisor::KeepNames(LifeId life, NameKeep::After after) {
  if (!plan_->KeepsNames(life)) return;
  const std::shared_ptr<const ChildSpec> child = plan_->children().SpecOf(life);
  if (child->placement.has_value()) return;
  if (!child->registered_as.empty()) {
    context().KeepName({.name = child->registered_as, .scope = NameScope::kNode, .after = after});
  }
  if (!child->published_as.empty()) {
    context().KeepName({.name = child->published_as, .scope = NameScope::kCluster, .after = after});
  }
}

// The child has started on another node, and has its name there.
void PlanSupervisor::KeepNameElsewhere(LifeId life) {
  if (!plan_->KeepsNames(life)) return;
  context().KeepName(
      {.name = plan_->children().SpecOf(life)->published_as, .scope = NameScope::kCluster, .is_elsewhere = true});
}

void PlanSupervisor::Carry(const RestartPlan::FreeNames& free) {
  const ChildSpec& child = *free.child;
  if (!child.registered_as.empty()) context().FreeName(child.registered_as);
  if (!child.published_as.empty()) context().FreeName(child.published_as);
}

}  // namespace understudy::internal
