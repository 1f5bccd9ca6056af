// RestartPlan: the steps of its ordered plans, and the inputs that wait for their end.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_table.h"
#include "understudy/supervision/internal/ordered_plan.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/waiting_inputs.h"

namespace understudy {

void RestartPlan::Advance() {
  while (!is_finished()) {
    if (stage_ == Stage::kStarted && std::exchange(auto_shutdown_due_, false)) CheckAutoShutdown();
    if (plan_.has_value()) {
      if (!StepPlan()) return;
      plan_.reset();
    } else if (!RunOneWaiting()) {
      StopForsaken();
      return;
    }
  }
}

bool RestartPlan::StepPlan() {
  if (plan_->is_stopping() && !StepStop()) return false;
  if (plan_->ends_when_stopped()) return true;
  if (plan_->kind() != OrderedPlan::Kind::kStopAll) return StepStart();
  actions_.push_back(Finish{plan_->reason()});
  stage_ = Stage::kFinished;
  return false;
}

// Stops the last child of the group that is up. Returns true when all of them are down.
bool RestartPlan::StepStop() {
  if (is_pool() || flags_.stop_together) return StepStopTogether();
  for (Key end = plan_->cursor();;) {
    Child* const child = children_.LastBefore(end);
    if (child == nullptr || !plan_->Includes(child->key)) break;
    end = child->key;
    plan_->MoveTo(end + 1);
    if (child->state == State::kStopping) return false;
    if (child->state == State::kStarting || child->state == State::kRunning) {
      BeginStop(*child);
      return false;
    }
    // The child is down already. If it waits for a backoff, a name or a predecessor, the wait goes on, unless the
    // supervisor stops all children.
    if (plan_->kind() != OrderedPlan::Kind::kStopAll && child->state != State::kDown) continue;
    Disarm(*child);
    SetState(*child, State::kStopped);
    if (IsForgottenWhenDown(*child)) Forget(*child);
  }
  plan_->HasStopped();
  return true;
}

// Stops all children, newest first, without waiting in between. Returns true when all are down.
bool RestartPlan::StepStopTogether() {
  while (Child* const child = children_.LastBefore(plan_->cursor())) {
    plan_->MoveTo(child->key);
    if (child->state == State::kStarting || child->state == State::kRunning) {
      BeginStop(*child);
    } else if (child->state != State::kStopping) {
      Disarm(*child);
      SetState(*child, State::kStopped);
      if (IsForgottenWhenDown(*child)) Forget(*child);
    }
  }
  return children_.busy() == 0;
}

bool RestartPlan::StepStart() {
  if (plan_->is_abandoned()) {
    EndFirstStart();
    return true;
  }
  // Children that start after a waiting child wait too; with one_for_all these are all children. This plan then ends,
  // and the end of the wait makes the plan that goes on. Waiting for a name is no failure, so it completes the first
  // start.
  if (flags_.strategy == RestartStrategy::kOneForAll && !plan_->is_starting_one()) {
    HoldAllWithPredecessors();
    const bool is_any_parked = !children_.parked().empty();
    if (children_.waiting() == 0 && is_any_parked) EndFirstStart();
    if (children_.waiting() > 0 || is_any_parked) return true;
  }
  while (Child* const child = children_.FirstFrom(plan_->cursor())) {
    plan_->MoveTo(child->key);
    if (ChildTable::IsBusy(*child)) return false;
    const bool is_to_start = child->state == State::kStopped || child->state == State::kDue;
    if (is_to_start && MustWait(*child)) Hold(*child);
    if ((child->state == State::kBackoff || child->state == State::kHeld) && is_serial()) return true;
    if (child->state == State::kParked && is_serial()) break;
    if (child->state == State::kStopped || child->state == State::kDue) {
      plan_->BeginsToStart(child->key);
      BeginStart(*child);
      return false;
    }
    plan_->MoveTo(child->key + 1);
  }
  EndFirstStart();
  return true;
}

void RestartPlan::EndFirstStart() {
  if (stage_ != Stage::kFirstStart) return;
  stage_ = Stage::kStarted;
  actions_.push_back(StartDone());
}

// Runs the oldest input that need not wait longer. Returns false if there is none.
bool RestartPlan::RunOneWaiting() {
  while (waiting_.has_next() && !(is_serial() && children_.busy() > 0)) {
    WaitingInput input = *waiting_.Pop();
    if (const Child* const child = children_.FindId(input.id); child != nullptr && ChildTable::IsBusy(*child)) {
      waiting_.Defer(child->key, std::move(input));
      continue;
    }
    Run(input);
    return true;
  }
  return false;
}

void RestartPlan::Run(const WaitingInput& input) {
  if (input.kind == WaitingInput::Kind::kStart) {
    DoStart(input);
    return;
  }
  if (input.kind == WaitingInput::Kind::kExit || input.kind == WaitingInput::Kind::kDue) {
    Child* const child = children_.FindKey(input.key);
    if (child == nullptr || child->life != input.life) return;
    if (input.kind == WaitingInput::Kind::kExit && child->state == State::kDown) JudgeExit(*child, input.reason);
    if (input.kind == WaitingInput::Kind::kDue && child->state == State::kDue) RestartGroup(*child);
    return;
  }
  Child* const child = children_.FindId(input.id);
  if (child == nullptr) {
    Answer(input.request, absl::NotFoundError(absl::StrCat("there is no child '", input.id, "'")));
  } else if (input.kind == WaitingInput::Kind::kTerminate) {
    DoTerminate(input, *child);
  } else if (input.kind == WaitingInput::Kind::kRestart) {
    DoRestart(input, *child);
  } else {
    DoDelete(input, *child);
  }
}

}  // namespace understudy
