// Lives, judgements and plans; the requests are in restart_plan_requests.cc.
#include "understudy/supervision/restart_plan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/restart_decision.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {
namespace {

SupervisorSpec WithoutChildren(SupervisorSpec spec) {
  spec.children.clear();
  return spec;
}

bool NeedsRestart(RestartType type, const ExitReason& reason) {
  return type == RestartType::kPermanent || (type == RestartType::kTransient && reason.is_abnormal());
}

}  // namespace

RestartPlan::RestartPlan(const SupervisorSpec& spec, Random random)
    : flags_(WithoutChildren(spec)), decider_(spec.intensity, spec.period, random) {
  for (const ChildSpec& child : spec.children) Add(std::make_shared<const ChildSpec>(child));
}

std::vector<RestartPlan::Action> RestartPlan::TakeActions() { return std::exchange(actions_, {}); }

void RestartPlan::StartAll(MonotonicTime now) {
  UNDERSTUDY_CHECK(!plan_.has_value() && !start_done_, "StartAll is called once, first");
  now_ = now;
  plan_.emplace();
  Advance();
}

void RestartPlan::Shutdown(const ExitReason& reason, MonotonicTime now) {
  now_ = now;
  BeginStopAll(reason);
  Advance();
}

// ---- Inputs about lives.

void RestartPlan::Spawned(LifeId life, Pid pid) {
  if (Child* child = FindLife(life); child != nullptr) child->pid = pid;
}

void RestartPlan::Started(LifeId life, MonotonicTime now) {
  now_ = now;
  Child* child = FindLife(life);
  if (child == nullptr || child->state != State::kStarting) return;
  HandleStarted(*child);
  Advance();
}

void RestartPlan::Ignored(LifeId life, MonotonicTime now) {
  now_ = now;
  Child* child = FindLife(life);
  if (child == nullptr) return;
  if (child->state == State::kStarting) {
    HandleIgnored(*child);
  } else if (child->state == State::kStopping) {
    HandleStopped(*child, ExitReason::Normal());
  }
  Advance();
}

void RestartPlan::Failed(LifeId life, const ExitReason& reason, MonotonicTime now) { Down(life, reason, now); }

void RestartPlan::Down(LifeId life, const ExitReason& reason, MonotonicTime now) {
  now_ = now;
  Child* child = FindLife(life);
  if (child == nullptr) return;
  switch (child->state) {
    case State::kStarting:
      HandleStartFailed(*child, reason);
      break;
    case State::kRunning:
      HandleExited(*child, reason);
      break;
    case State::kStopping:
      HandleStopped(*child, reason);
      break;
    default:
      break;
  }
  Advance();
}

void RestartPlan::TimerElapsed(TimerId timer, MonotonicTime now) {
  now_ = now;
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  Child& child = children_.at(found->second);
  timers_.erase(found);
  child.timer = 0;
  if (child.state == State::kStopping) {
    actions_.push_back({.kind = Action::Kind::kKill, .life = child.life});
  } else if (child.state == State::kBackoff || child.state == State::kParked) {
    WaitIsOver(child);
  }
  Advance();
}

// ---- Children and their lives.

RestartPlan::Child* RestartPlan::FindLife(LifeId life) {
  const auto found = lives_.find(life);
  return found == lives_.end() ? nullptr : &children_.at(found->second);
}

RestartPlan::Child& RestartPlan::Add(std::shared_ptr<const ChildSpec> spec) {
  const Key key = ++last_key_;
  ids_.emplace(spec->id, key);
  Child& child = children_[key];
  child.key = key;
  child.spec = std::move(spec);
  return child;
}

void RestartPlan::Forget(Child& child) {
  SetState(child, State::kStopped);
  CancelTimer(child);
  ids_.erase(child.spec->id);
  children_.erase(child.key);
}

void RestartPlan::SetState(Child& child, State state) {
  const auto is_busy = [](State s) { return s == State::kStarting || s == State::kStopping ? 1 : 0; };
  busy_ += is_busy(state) - is_busy(child.state);
  backoffs_ += (state == State::kBackoff ? 1 : 0) - (child.state == State::kBackoff ? 1 : 0);
  parked_ += (state == State::kParked ? 1 : 0) - (child.state == State::kParked ? 1 : 0);
  child.state = state;
}

void RestartPlan::EndLife(Child& child) {
  lives_.erase(child.life);
  child.pid = Pid();
  const bool was_healthy = child.started.has_value() && child.spec->backoff.has_value() &&
                           now_ - *child.started >= child.spec->backoff->reset_after;
  if (was_healthy) child.history.attempts = 0;
}

void RestartPlan::BeginStart(Child& child) {
  SetState(child, State::kStarting);
  child.life = ++last_life_;
  lives_[child.life] = child.key;
  child.started.reset();
  actions_.push_back({.kind = Action::Kind::kStart, .life = child.life, .child = child.spec});
}

void RestartPlan::BeginStop(Child& child) {
  SetState(child, State::kStopping);
  const ChildShutdown shutdown = ShutdownOf(*child.spec);
  if (shutdown.kind == ChildShutdown::Kind::kBrutalKill) {
    actions_.push_back({.kind = Action::Kind::kKill, .life = child.life});
    return;
  }
  actions_.push_back({.kind = Action::Kind::kStop, .life = child.life});
  if (shutdown.kind == ChildShutdown::Kind::kWithin) ArmTimer(child, shutdown.timeout);
}

void RestartPlan::HandleStarted(Child& child) {
  SetState(child, State::kRunning);
  child.started = now_;
  child.has_started = true;
  child.was_parked = false;
  child.is_new = false;
  Report(SupervisionEvent::Kind::kStarted, child, child.pid, ExitReason());
  Reply(std::exchange(child.start_request, 0), absl::OkStatus(), child.pid);
  StartSettled(child);
}

void RestartPlan::HandleIgnored(Child& child) {
  Report(SupervisionEvent::Kind::kIgnored, child, child.pid, ExitReason());
  EndLife(child);
  Reply(std::exchange(child.start_request, 0), absl::OkStatus());
  child.is_new = false;
  SetState(child, State::kStopped);
  StartSettled(child);
  if (child.spec->restart == RestartType::kTemporary) Forget(child);
}

void RestartPlan::HandleStartFailed(Child& child, const ExitReason& reason) {
  if (!child.was_parked || !MayPark(child, reason)) {
    Report(SupervisionEvent::Kind::kStartFailed, child, child.pid, reason);
  }
  EndLife(child);
  SetState(child, State::kStopped);
  StartSettled(child);
  const std::string what = absl::StrCat("child '", child.spec->id, "' could not start");
  if (child.start_request != 0) {
    Reply(std::exchange(child.start_request, 0),
          absl::FailedPreconditionError(absl::StrCat(what, ": ", reason.ToString())));
    if (child.is_new) Forget(child);
  } else if (!start_done_ && !child.has_started && !MayPark(child, reason)) {
    BeginStopAll(ExitReason::Failed(absl::FailedPreconditionError(what)).CausedBy(reason));
  } else {
    RestartOrGiveUp(child, reason);
  }
}

void RestartPlan::HandleExited(Child& child, const ExitReason& reason) {
  Report(SupervisionEvent::Kind::kExited, child, child.pid, reason);
  EndLife(child);
  const bool is_inside = plan_.has_value() && child.key >= plan_->first;
  if (is_inside && plan_->phase == Phase::kStop) {  // it was to be stopped anyway
    SetState(child, State::kStopped);
    if (child.spec->restart == RestartType::kTemporary) Forget(child);
  } else if (MayJudge(child)) {
    JudgeExit(child, reason);
  } else {
    SetState(child, State::kDown);
    waiting_.push_back({.kind = Waiting::Kind::kExit, .key = child.key, .life = child.life, .reason = reason});
  }
}

void RestartPlan::HandleStopped(Child& child, const ExitReason& reason) {
  CancelTimer(child);
  Report(SupervisionEvent::Kind::kStopped, child, child.pid, reason);
  EndLife(child);
  SetState(child, State::kStopped);
  StartSettled(child);
  child.is_new = false;
  for (const RequestId request : std::exchange(child.stop_requests, {})) Reply(request, absl::OkStatus());
  const std::string what = absl::StrCat("child '", child.spec->id, "' was stopped while it was being started");
  Reply(std::exchange(child.start_request, 0),
        is_stopping() ? MakeError(ErrorKind::kStopping, what) : MakeError(ErrorKind::kCancelled, what));
  if (child.delete_on_stop || child.spec->restart == RestartType::kTemporary) Forget(child);
}

// The child's start is over, one way or another: the plan may go on.
void RestartPlan::StartSettled(const Child& child) {
  if (!plan_.has_value() || !plan_->in_hand || plan_->cursor != child.key) return;
  plan_->in_hand = false;
  plan_->cursor = child.key + 1;
}

// ---- What follows from an exit.

bool RestartPlan::MayJudge(const Child& child) const {
  if (!plan_.has_value()) return !is_serial() || busy_ == 0;
  if (!is_serial()) return plan_->kind == PlanKind::kFirstStart;
  return child.key >= plan_->first;
}

void RestartPlan::JudgeExit(Child& child, const ExitReason& reason) {
  if (NeedsRestart(child.spec->restart, reason)) {
    RestartOrGiveUp(child, reason);
    return;
  }
  const bool was_significant = child.spec->significant;
  SetState(child, State::kStopped);
  if (child.spec->restart == RestartType::kTemporary) Forget(child);
  if (was_significant) CheckAutoShutdown();
}

void RestartPlan::RestartOrGiveUp(Child& child, const ExitReason& reason) {
  if (MayPark(child, reason)) {
    Park(child, reason);
    return;
  }
  const RestartDecision decision = decider_.Decide(child.spec->backoff, child.history, now_);
  if (decision.kind == RestartDecision::Kind::kGiveUp) {
    const ExitReason given_up =
        ExitReason::RestartsExhausted(absl::StrCat("child '", child.spec->id, "' ", decision.why)).CausedBy(reason);
    SetState(child, State::kStopped);
    Report(SupervisionEvent::Kind::kGaveUp, child, Pid(), given_up);
    BeginStopAll(given_up);
    return;
  }
  ++child.restarts;
  if (decision.kind == RestartDecision::Kind::kLater) {
    SetState(child, State::kBackoff);
    Report(SupervisionEvent::Kind::kBackoff, child, Pid(), reason);
    actions_.back().event.wait = decision.wait;
    ArmTimer(child, decision.wait);
  } else {
    SetState(child, State::kDue);
    Report(SupervisionEvent::Kind::kRestarting, child, Pid(), reason);
  }
  if (is_serial()) {
    RestartGroup(child);
  } else if (child.state == State::kDue) {
    BeginStart(child);
  }
}

// Makes the plan, or turns the running one back: stop the group of `child`,
// then start it.
void RestartPlan::RestartGroup(const Child& child) {
  if (!plan_.has_value()) {
    plan_.emplace();
    plan_->kind = start_done_ ? PlanKind::kGroup : PlanKind::kFirstStart;
  }
  plan_->phase = Phase::kStop;
  plan_->first = flags_.strategy == RestartStrategy::kOneForAll ? 0 : child.key;
  plan_->cursor = last_key_ + 1;
  plan_->in_hand = false;
  plan_->cancelled = false;
}

void RestartPlan::CheckAutoShutdown() {
  if (flags_.auto_shutdown == AutoShutdown::kNever) return;
  if (!start_done_) {  // who starts us is told that we did, first
    auto_shutdown_due_ = true;
    return;
  }
  if (flags_.auto_shutdown == AutoShutdown::kAllSignificant) {
    for (const auto& [key, child] : children_) {
      if (child.spec->significant && child.state != State::kStopped) return;
    }
  }
  BeginStopAll(ExitReason::Shutdown());
}

void RestartPlan::BeginStopAll(const ExitReason& reason) {
  if (is_stopping()) return;
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    Reply(waiting.request, MakeError(ErrorKind::kStopping, "the supervisor stops its children"));
  }
  plan_.emplace();
  plan_->kind = PlanKind::kStopAll;
  plan_->phase = Phase::kStop;
  plan_->cursor = last_key_ + 1;
  plan_->reason = reason;
  Action action{.kind = Action::Kind::kReport};
  action.event.kind = SupervisionEvent::Kind::kShutdown;
  action.event.reason = reason;
  action.event.time = now_;
  actions_.push_back(std::move(action));
}

// ---- Plans.

void RestartPlan::Advance() {
  while (!finished_) {
    if (start_done_ && std::exchange(auto_shutdown_due_, false)) CheckAutoShutdown();
    if (plan_.has_value()) {
      if (!StepPlan()) return;
      plan_.reset();
    } else if (!RunOneWaiting()) {
      return;
    }
  }
}

bool RestartPlan::StepPlan() {
  if (plan_->phase == Phase::kStop && !StepStop()) return false;
  if (plan_->kind != PlanKind::kStopAll) return StepStart();
  actions_.push_back({.kind = Action::Kind::kFinish, .reason = plan_->reason});
  finished_ = true;
  return false;
}

// Stops the last child that is up. True when none is.
bool RestartPlan::StepStop() {
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
    if (child.spec->restart == RestartType::kTemporary) {
      Forget(child);
      next = children_.lower_bound(plan_->cursor);
    }
  }
  plan_->phase = Phase::kStart;
  plan_->cursor = plan_->first;
  return true;
}

bool RestartPlan::StepStart() {
  if (plan_->cancelled && !plan_->in_hand) {
    EndFirstStart();
    return true;
  }
  // A child that waits holds up those that start after it: with one_for_all,
  // all. The end of its wait makes the plan that goes on. To wait for a name is
  // no failure, so the first start is complete.
  if (flags_.strategy == RestartStrategy::kOneForAll && backoffs_ + parked_ > 0 && !plan_->in_hand) {
    if (backoffs_ == 0) EndFirstStart();
    return true;
  }
  for (auto next = children_.lower_bound(plan_->cursor); next != children_.end(); ++next) {
    Child& child = next->second;
    plan_->cursor = child.key;
    if (child.state == State::kStarting || child.state == State::kStopping) return false;
    if (child.state == State::kBackoff && is_serial()) return true;
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
  for (auto next = waiting_.begin(); next != waiting_.end(); ++next) {
    if (!CanRun(*next)) continue;
    const Waiting waiting = std::move(*next);
    waiting_.erase(next);
    Run(waiting);
    return true;
  }
  return false;
}

bool RestartPlan::CanRun(const Waiting& waiting) {
  if (is_serial()) return busy_ == 0;
  const Child* child = FindId(waiting.id);
  return child == nullptr || (child->state != State::kStarting && child->state != State::kStopping);
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
