// What a RestartPlan's children wait for: their name, or their predecessor.
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

bool RestartPlan::MayPark(const Child& child, const ExitReason& reason) const {
  const bool is_about_a_name =
      reason.kind() == ExitReason::Kind::kNameConflict || reason.kind() == ExitReason::Kind::kNameLost;
  return is_about_a_name && HasName(*child.spec) && child.spec->restart != RestartType::kTemporary;
}

// The child is started again when its name is free; nothing is counted.
void RestartPlan::Park(Child& child, const ExitReason& reason) {
  SetState(child, State::kParked);
  if (!std::exchange(child.was_parked, true)) Report(SupervisionEvent::Kind::kParked, child, Pid(), reason);
  for (const std::string& name : {child.spec->registered_as, child.spec->published_as}) {
    if (is_pool()) break;  // a watch stays, and a pool's children have any number of names: they are tried now and then
    if (name.empty() || !watched_names_.insert(name).second) continue;
    actions_.push_back({.kind = Action::Kind::kWatchName, .name = name});
  }
  ArmTimer(child, limits::kParkedRetryAfter);
  if (is_serial()) RestartGroup(child);
}

bool RestartPlan::IsNameTaken(const Child& child) const {
  return taken_names_.contains(child.spec->registered_as) || taken_names_.contains(child.spec->published_as);
}

void RestartPlan::NameFreed(absl::string_view name, MonotonicTime now) {
  now_ = now;
  if (const auto taken = taken_names_.find(name); taken != taken_names_.end()) taken_names_.erase(taken);
  for (const Key key : std::set<Key>(parked_)) {
    Child& child = children_.at(key);
    if (child.spec->registered_as != name && child.spec->published_as != name) continue;
    if (IsNameTaken(child)) continue;  // its other one
    CancelTimer(child);
    WaitIsOver(child);
  }
  Advance();
}

// A child's backoff has elapsed, its name may be free, or its predecessor is gone.
void RestartPlan::WaitIsOver(Child& child) {
  // While everything stops, nobody is started: the child is down, as it was.
  SetState(child, is_stopping() ? State::kStopped : State::kDue);
  if (is_stopping()) return;
  if (is_serial()) {
    AwaitTurn(child);
  } else {
    StartOrHold(child);
  }
}

// The group of `child`, which is due, is restarted after the requests and exits that wait already.
void RestartPlan::AwaitTurn(const Child& child) {
  waiting_.push_back({.kind = Waiting::Kind::kDue, .key = child.key, .life = child.life});
}

// A child that was to be started by a plan that was cancelled, or that a sibling's
// wait held up which was, stays down like what else the plan would have started.
void RestartPlan::StopForsaken() {
  if (!is_serial() || due_ == 0 || busy_ + waits_ > 0 || !parked_.empty() || !waiting_.empty()) return;
  for (auto& [key, child] : children_) {
    if (child.state == State::kDue) SetState(child, State::kStopped);
  }
}

// ---- Predecessors of exclusive children.

RestartPlan::LifeId RestartPlan::AddPredecessor(absl::string_view id) {
  predecessors_[std::string(id)] = ++last_life_;
  not_gone_[last_life_] = std::string(id);
  return last_life_;
}

void RestartPlan::StartOrHold(Child& child) {
  if (MustWait(child)) {
    Hold(child);
  } else {
    BeginStart(child);
  }
}

// The child is started when its predecessor is gone, and given up when that
// takes longer than a stop may.
void RestartPlan::Hold(Child& child) {
  SetState(child, State::kHeld);
  ChildShutdown limit = ShutdownOf(*child.spec);
  if (limit.kind == ChildShutdown::Kind::kBrutalKill) limit = ChildShutdown();
  Report(SupervisionEvent::Kind::kHeld, child, Pid(), ExitReason::KilledHandlerRunning(), limit.LongestStop());
  if (limit.kind == ChildShutdown::Kind::kWithin) ArmTimer(child, limit.timeout);
}

// Those that the running plan would start.
void RestartPlan::HoldAllWithPredecessors() {
  for (const auto& [id, life] : predecessors_) {
    Child* child = FindId(id);
    if (child == nullptr || !MustWait(*child)) continue;
    if (child->state == State::kStopped || child->state == State::kDue) Hold(*child);
  }
}

void RestartPlan::Gone(LifeId life, MonotonicTime now) {
  now_ = now;
  const auto found = not_gone_.extract(life);
  if (found.empty()) return;
  predecessors_.erase(found.mapped());
  Child* child = FindId(found.mapped());
  if (child == nullptr || child->state != State::kHeld) return;
  CancelTimer(*child);
  WaitIsOver(*child);
  Advance();
}

}  // namespace understudy
