// How a RestartPlan's ordered plans go on, and what waits for their end.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy {

void RestartPlan::Advance() {
  while (!finished_) {
    if (start_done_ && std::exchange(auto_shutdown_due_, false)) CheckAutoShutdown();
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
  if (plan_->phase == Phase::kStop && !StepStop()) return false;
  if (plan_->ends_when_stopped) return true;
  if (plan_->kind != PlanKind::kStopAll) return StepStart();
  actions_.push_back({.kind = Action::Kind::kFinish, .reason = plan_->reason});
  finished_ = true;
  return false;
}

// Stops the last child that is up. True when none is.
bool RestartPlan::StepStop() {
  if (is_pool() || flags_.stop_together) return StepStopTogether();
  auto next = children_.lower_bound(plan_->cursor);
  while (next != children_.begin()) {
    Child& child = (--next)->second;
    if (child.key < plan_->first) break;
    plan_->cursor = child.key + 1;
    if (child.state == State::kStopping) return false;
    if (child.state == State::kStarting || child.state == State::kRunning) {
      BeginStop(child);
      return false;
    }
    // Down already. Its wait goes on, unless everything ends.
    if (plan_->kind != PlanKind::kStopAll && child.state != State::kDown) continue;
    CancelTimer(child);
    SetState(child, State::kStopped);
    if (IsForgottenWhenDown(child)) {
      Forget(child);
      next = children_.lower_bound(plan_->cursor);
    }
  }
  plan_->phase = Phase::kStart;
  plan_->cursor = plan_->first;
  return true;
}

// Stops all children, newest first, without waiting for any. True when all are
// down.
bool RestartPlan::StepStopTogether() {
  auto next = children_.lower_bound(plan_->cursor);
  while (next != children_.begin()) {
    Child& child = (--next)->second;
    plan_->cursor = child.key;
    if (child.state == State::kStarting || child.state == State::kRunning) {
      BeginStop(child);
    } else if (child.state != State::kStopping) {
      CancelTimer(child);
      SetState(child, State::kStopped);
      if (!IsForgottenWhenDown(child)) continue;
      Forget(child);
      next = children_.lower_bound(plan_->cursor);
    }
  }
  return busy_ == 0;
}

bool RestartPlan::StepStart() {
  if (plan_->cancelled && !plan_->in_hand) {
    EndFirstStart();
    return true;
  }
  // A child that waits holds up those that start after it: with one_for_all,
  // all. The end of its wait makes the plan that goes on. To wait for a name is
  // no failure, so the first start is complete.
  if (flags_.strategy == RestartStrategy::kOneForAll && !plan_->in_hand) {
    HoldAllWithPredecessors();
    if (waits_ == 0 && !parked_.empty()) EndFirstStart();
    if (waits_ > 0 || !parked_.empty()) return true;
  }
  for (auto next = children_.lower_bound(plan_->cursor); next != children_.end(); ++next) {
    Child& child = next->second;
    plan_->cursor = child.key;
    if (child.state == State::kStarting || child.state == State::kStopping) return false;
    const bool is_to_start = child.state == State::kStopped || child.state == State::kDue;
    if (is_to_start && MustWait(child)) Hold(child);
    if ((child.state == State::kBackoff || child.state == State::kHeld) && is_serial()) return true;
    if (child.state == State::kParked && is_serial()) break;
    if (child.state == State::kStopped || child.state == State::kDue) {
      plan_->in_hand = true;
      BeginStart(child);
      return false;
    }
    plan_->cursor = child.key + 1;
  }
  EndFirstStart();
  return true;
}

void RestartPlan::EndFirstStart() {
  if (start_done_) return;
  start_done_ = true;
  actions_.push_back({.kind = Action::Kind::kStartDone});
}

// Runs the oldest input that need not wait longer. False when there is none.
bool RestartPlan::RunOneWaiting() {
  while (!waiting_.empty()) {
    if (is_serial() && busy_ > 0) return false;
    Waiting waiting = std::move(waiting_.front());
    waiting_.pop_front();
    if (Defer(waiting)) continue;
    Run(waiting);
    return true;
  }
  return false;
}

// Puts a request about a child that is starting or stopping with that child.
bool RestartPlan::Defer(Waiting& waiting) {
  const Child* child = FindId(waiting.id);
  if (child == nullptr || !IsBusy(child->state)) return false;
  deferred_[child->key].push_back(std::move(waiting));
  ++deferred_count_;
  return true;
}

void RestartPlan::Run(const Waiting& waiting) {
  if (waiting.kind == Waiting::Kind::kStart) {
    DoStart(waiting);
    return;
  }
  if (waiting.kind == Waiting::Kind::kExit || waiting.kind == Waiting::Kind::kDue) {
    const auto found = children_.find(waiting.key);
    if (found == children_.end() || found->second.life != waiting.life) return;
    Child& child = found->second;
    if (waiting.kind == Waiting::Kind::kExit && child.state == State::kDown) JudgeExit(child, waiting.reason);
    if (waiting.kind == Waiting::Kind::kDue && child.state == State::kDue) RestartGroup(child);
    return;
  }
  Child* child = FindId(waiting.id);
  if (child == nullptr) {
    Reply(waiting.request, absl::NotFoundError(absl::StrCat("there is no child '", waiting.id, "'")));
  } else if (waiting.kind == Waiting::Kind::kTerminate) {
    DoTerminate(waiting, *child);
  } else if (waiting.kind == Waiting::Kind::kRestart) {
    DoRestart(waiting, *child);
  } else {
    DoDelete(waiting, *child);
  }
}

}  // namespace understudy
