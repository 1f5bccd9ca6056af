// RestartPlan: children that wait for a name or for a predecessor, and the names that are kept meanwhile.
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_names.h"
#include "understudy/supervision/internal/child_table.h"
#include "understudy/supervision/internal/child_waits.h"
#include "understudy/supervision/internal/ordered_plan.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/waiting_inputs.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

// Makes the child wait until its name is free. It is then started again, which is not counted as a restart.
void RestartPlan::Park(Child& child, const ExitReason& reason) {
  SetState(child, State::kParked);
  if (!std::exchange(child.was_parked, true)) Tell(SupervisionEvent::Kind::kParked, child, Pid(), reason);
  for (const std::string& name : {child.spec->registered_as, child.spec->published_as}) {
    // A watch is never given up, and a pool's children may have any number of names over time: a pool relies on the
    // timer below.
    if (is_pool()) break;
    if (!name.empty() && watched_names_.Watch(name)) actions_.push_back(WatchName{name});
  }
  Arm(child, limits::kParkedRetryAfter);
  if (is_serial()) RestartGroup(child);
}

void RestartPlan::NameFreed(absl::string_view name, MonotonicTime now) {
  now_ = now;
  watched_names_.Freed(name);
  for (const Key key : std::set<Key>(children_.parked())) {
    Child& child = *children_.FindKey(key);
    if (child.spec->registered_as != name && child.spec->published_as != name) continue;
    if (watched_names_.IsTaken(*child.spec)) continue;  // another actor has the child's other name
    Disarm(child);
    WaitIsOver(child);
  }
  Advance();
}

// Call when a child's backoff has elapsed, its name may be free, or its predecessor is gone.
void RestartPlan::WaitIsOver(Child& child) {
  // While everything stops, no child is started: this one stays down.
  SetState(child, is_stopping() ? State::kStopped : State::kDue);
  if (is_stopping()) return;
  if (is_serial()) {
    AwaitTurn(child);
  } else {
    StartOrHold(child);
  }
}

// Queues the restart of the group of `child`, which is due, behind the requests and exits that wait already.
void RestartPlan::AwaitTurn(const Child& child) {
  waiting_.Push({.kind = WaitingInput::Kind::kDue, .key = child.key, .life = child.life});
}

// A child is still due after the last plan if that plan was cancelled before it came to this child, or if a sibling's
// wait held the child up and the sibling's start was then cancelled. It stays down, like the other children that such
// a plan would have started.
void RestartPlan::StopForsaken() {
  if (!is_serial() || children_.CountIn(State::kDue) == 0 || waiting_.has_next()) return;
  if (children_.busy() + children_.waiting() > 0 || !children_.parked().empty()) return;
  for (Child* child = children_.FirstFrom(0); child != nullptr; child = children_.FirstFrom(child->key + 1)) {
    if (child->state == State::kDue) SetState(*child, State::kStopped);
  }
}

// ---- Names that are kept.

bool RestartPlan::KeepsNames(LifeId life) const {
  const Child* const child = children_.FindLife(life);
  return child != nullptr && kept_names_.Keeps(child->key);
}

// FreeNames goes before all other actions, so that an actor that learns of a child's end finds its name free.
void RestartPlan::StopKeepingNames(const Child& child) {
  if (kept_names_.Free(child.key)) actions_.insert(actions_.begin(), FreeNames{child.spec});
}

// True if the child will be started again or, if it is up, would be started again if it failed now.
bool RestartPlan::WillBeStarted(const Child& child) const {
  if (is_stopping() || child.state == State::kParked) return false;  // parked: another actor has the name
  if (child.state != State::kStopped && child.state != State::kStopping) return true;
  if (!is_serial()) return false;
  if (plan_.has_value() && plan_->WillStart(child.key)) return true;
  // A sibling that waits, or is due, will start its group.
  if (children_.waiting() + children_.CountIn(State::kDue) == 0 && children_.parked().empty()) return false;
  return flags_.strategy == RestartStrategy::kOneForAll || children_.IsAnyBeforeWaiting(child.key);
}

// ---- Predecessors of exclusive children.

RestartPlan::LifeId RestartPlan::AddPredecessor(absl::string_view id) {
  const LifeId life = children_.NewLife();
  predecessors_.Add(id, life);
  return life;
}

void RestartPlan::StartOrHold(Child& child) {
  if (MustWait(child)) {
    Hold(child);
  } else {
    BeginStart(child);
  }
}

// Makes the child wait until its predecessor is gone. It is given up if that takes longer than its shutdown time, or
// than the default shutdown time if it is stopped by a kill.
void RestartPlan::Hold(Child& child) {
  SetState(child, State::kHeld);
  ChildShutdown limit = ShutdownOf(*child.spec);
  if (limit.kind == ChildShutdown::Kind::kBrutalKill) limit = ChildShutdown();
  Tell(SupervisionEvent::Kind::kHeld, child, Pid(), ExitReason::KilledHandlerRunning(), limit.LongestStop());
  if (limit.kind == ChildShutdown::Kind::kWithin) Arm(child, limit.timeout);
}

// Holds every child that has a predecessor and that the running plan would start.
void RestartPlan::HoldAllWithPredecessors() {
  for (const auto& [id, life] : predecessors_.lives()) {
    Child* const child = children_.FindId(id);
    if (child == nullptr || !MustWait(*child)) continue;
    if (child->state == State::kStopped || child->state == State::kDue) Hold(*child);
  }
}

void RestartPlan::Gone(LifeId life, MonotonicTime now) {
  now_ = now;
  const absl::optional<std::string> id = predecessors_.Gone(life);
  if (!id.has_value()) return;
  Child* const child = children_.FindId(*id);
  if (child == nullptr || child->state != State::kHeld) return;
  Disarm(*child);
  WaitIsOver(*child);
  Advance();
}

}  // namespace understudy
