// How long the names of a RestartPlan's children are kept.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy {

// Judged here, after the input: on the way there a child that will wait for its next start is stopped, say.
std::vector<RestartPlan::Action> RestartPlan::TakeActions() {
  for (const Key key : std::exchange(may_free_names_, {})) {
    Child& child = children_.at(key);
    if (!WillBeStarted(child)) {
      FreeNames(child);
    } else if (child.state == State::kStopped || child.state == State::kStopping) {
      may_free_names_.insert(may_free_names_.end(), key);  // as long as its group will be started
    }
  }
  return std::exchange(actions_, {});
}

bool RestartPlan::KeepsNames(LifeId life) const {
  const Child* child = FindLife(life);
  return child != nullptr && child->keeps_names;
}

void RestartPlan::MayFreeNames(const Child& child) {
  if (child.keeps_names) may_free_names_.insert(child.key);
}

// The first of all actions: who sees the end of a child that is stopped sees that its name is free.
void RestartPlan::FreeNames(Child& child) {
  may_free_names_.erase(child.key);
  if (!std::exchange(child.keeps_names, false)) return;
  actions_.insert(actions_.begin(), {.kind = Action::Kind::kFreeNames, .child = child.spec});
}

// Of a child that is up: whether it would be started again if it failed now.
bool RestartPlan::WillBeStarted(const Child& child) const {
  if (is_stopping() || child.state == State::kParked) return false;  // parked: another actor has the name
  if (child.state != State::kStopped && child.state != State::kStopping) return true;
  if (!is_serial()) return false;
  const bool is_in_plan = plan_.has_value() && !plan_->cancelled && child.key >= plan_->first;
  if (is_in_plan && (plan_->phase == Phase::kStop || child.key >= plan_->cursor)) return true;
  // A sibling that waits will start its group.
  if (waits_ + due_ == 0 && parked_.empty()) return false;
  if (flags_.strategy == RestartStrategy::kOneForAll) return true;
  return std::any_of(children_.begin(), children_.find(child.key), [](const auto& entry) {
    const State state = entry.second.state;
    return state == State::kDue || state == State::kBackoff || state == State::kHeld || state == State::kParked;
  });
}

}  // namespace understudy
