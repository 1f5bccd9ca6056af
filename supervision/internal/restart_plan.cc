// Lives and judgements. How a plan goes on is in restart_plan_steps.cc, requests
// are in restart_plan_requests.cc, what children wait for in restart_plan_waits.cc.
#include "understudy/supervision/internal/restart_plan.h"

#include <cstdint>
#include <iterator>
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
#include "understudy/supervision/internal/restart_decision.h"
#include "understudy/supervision/limits.h"
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

// The code of the first reason in the chain that has one, so that who asked for a start can tell a bad argument from a
// node that is away. Exceptions and the ends of processes have none.
absl::StatusCode CodeOfFailedStart(const ExitReason& reason) {
  for (const ExitReason* why = &reason; why != nullptr; why = why->cause()) {
    switch (why->kind()) {
      case ExitReason::Kind::kFailed:
        return why->status().code();
      case ExitReason::Kind::kNoProcess:
        return absl::StatusCode::kNotFound;
      case ExitReason::Kind::kNoConnection:
        return absl::StatusCode::kUnavailable;
      case ExitReason::Kind::kNotPermitted:
        return absl::StatusCode::kPermissionDenied;
      case ExitReason::Kind::kNameConflict:
        return absl::StatusCode::kAlreadyExists;
      case ExitReason::Kind::kOverflow:
        return absl::StatusCode::kResourceExhausted;
      case ExitReason::Kind::kStartTimeout:
        return absl::StatusCode::kDeadlineExceeded;
      default:
        break;
    }
  }
  return absl::StatusCode::kFailedPrecondition;
}

}  // namespace

RestartPlan::RestartPlan(const SupervisorSpec& spec, Random random)
    : flags_(WithoutChildren(spec)), decider_(spec.intensity, spec.period, random) {
  for (const ChildSpec& child : spec.children) Add(std::make_shared<const ChildSpec>(child));
}

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
  Child* child = FindLife(life);
  if (child == nullptr) return;
  pids_.erase(child->address);
  child->pid = child->address = pid;
  pids_[pid] = child;
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
  } else if (!is_stopping() && child.state == State::kParked && IsNameTaken(child)) {
    ArmTimer(child, limits::kParkedRetryAfter);
  } else if (is_stopping() || child.state == State::kBackoff || child.state == State::kParked) {
    WaitIsOver(child);
  } else if (child.state == State::kHeld) {
    GiveUp(child,
           {.kind = RestartDecision::Kind::kGiveUp,
            .why = "could not be replaced: its killed handler has not returned",
            .is_own_limit = true},
           ExitReason::Stuck().CausedBy(ExitReason::KilledHandlerRunning()));
  }
  Advance();
}

// ---- Children and their lives.

RestartPlan::Child* RestartPlan::FindLife(LifeId life) const {
  const auto found = lives_.find(life);
  return found == lives_.end() ? nullptr : found->second;
}

RestartPlan::LifeId RestartPlan::LifeOf(Pid pid) const {
  const auto found = pids_.find(pid);
  return found == pids_.end() || found->second->pid != pid ? 0 : found->second->life;
}

Pid RestartPlan::PidOf(LifeId life) const {
  const Child* child = FindLife(life);
  return child == nullptr ? Pid() : child->pid;
}

RestartPlan::Child& RestartPlan::Add(std::shared_ptr<const ChildSpec> spec) {
  const Key key = ++last_key_;
  ids_.emplace(spec->id, key);
  Child& child = children_[key];
  child.key = key;
  child.since = now_;
  child.spec = std::move(spec);
  ++counts_.specs;
  ++(child.spec->kind == ChildKind::kSupervisor ? counts_.supervisors : counts_.workers);
  return child;
}

void RestartPlan::Forget(Child& child) {
  SetState(child, State::kStopped);
  CancelTimer(child);
  --counts_.specs;
  --(child.spec->kind == ChildKind::kSupervisor ? counts_.supervisors : counts_.workers);
  ids_.erase(child.spec->id);
  pids_.erase(child.address);
  FreeNames(child);
  actions_.push_back({.kind = Action::Kind::kForget, .child = child.spec});
  children_.erase(child.key);
}

void RestartPlan::SetState(Child& child, State state) {
  Count(child, -1);
  const bool was_busy = IsBusy(child.state);
  if (IsExcused(child.state)) child.history.first_attempt = child.history.first_attempt + (now_ - child.since);
  child.state = state;
  child.since = now_;
  Count(child, 1);
  MayFreeNames(child);
  if (!was_busy || IsBusy(state)) return;
  const auto deferred = deferred_.find(child.key);
  if (deferred == deferred_.end()) return;
  deferred_count_ -= deferred->second.size();
  waiting_.insert(waiting_.begin(), std::make_move_iterator(deferred->second.begin()),
                  std::make_move_iterator(deferred->second.end()));
  deferred_.erase(deferred);
}

// Adds the child, or takes it from, what is counted of its state.
void RestartPlan::Count(const Child& child, int n) {
  if (IsBusy(child.state)) busy_ += n;
  if (child.state == State::kBackoff || child.state == State::kHeld) waits_ += n;
  if (child.state == State::kDue) due_ += n;
  if (child.state == State::kRunning) counts_.active += n;
  if (child.state != State::kStopped && child.spec->significant) significant_ += n;
  if (child.state == State::kParked && n > 0) parked_.insert(child.key);
  if (child.state == State::kParked && n < 0) parked_.erase(child.key);
}

bool RestartPlan::IsForgottenWhenDown(const Child& child) const {
  return is_pool() || child.spec->restart == RestartType::kTemporary;
}

void RestartPlan::EndLife(Child& child) {
  const bool lingers = std::exchange(lingering_, 0) == child.life;
  if (child.spec->exclusive && lingers) {
    predecessors_[child.spec->id] = child.life;
    not_gone_[child.life] = child.spec->id;
    actions_.push_back({.kind = Action::Kind::kAwaitGone, .life = child.life, .child = child.spec});
  }
  lives_.erase(child.life);
  child.pid = Pid();
  const bool was_healthy = child.started.has_value() && child.spec->backoff.has_value() &&
                           now_ - *child.started >= child.spec->backoff->reset_after;
  if (was_healthy) child.history.attempts = 0;
}

void RestartPlan::BeginStart(Child& child) {
  SetState(child, State::kStarting);
  child.life = ++last_life_;
  lives_[child.life] = &child;
  child.started.reset();
  child.keeps_names = HasName(*child.spec) && child.spec->restart != RestartType::kTemporary;
  actions_.push_back({.kind = Action::Kind::kStart, .life = child.life, .child = child.spec});
  ForgetArguments(child);
}

// A temporary child is started once, so what its arguments hold is let go. The start of a pool's template is kept by
// the pool itself.
void RestartPlan::ForgetArguments(Child& child) {
  if (child.spec->restart != RestartType::kTemporary || child.spec->start == nullptr) return;
  if (is_pool() && child.spec->start == flags_.pool->child.start) return;
  auto rest = std::make_shared<ChildSpec>(*child.spec);
  rest->start = nullptr;
  child.spec = std::move(rest);
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
  if (IsForgottenWhenDown(child)) Forget(child);
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
          absl::Status(CodeOfFailedStart(reason), absl::StrCat(what, ": ", reason.ToString())));
    if (child.is_new) Forget(child);
  } else if (is_stopping()) {
    return;  // nobody is started again
  } else if (!start_done_ && !child.has_started && !MayPark(child, reason)) {
    BeginStopAll(ExitReason::Failed(absl::Status(CodeOfFailedStart(reason), what)).CausedBy(reason));
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
    if (IsForgottenWhenDown(child)) Forget(child);
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
  if (child.delete_on_stop || IsForgottenWhenDown(child)) Forget(child);
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
  if (IsForgottenWhenDown(child)) Forget(child);
  if (was_significant) CheckAutoShutdown();
}

void RestartPlan::RestartOrGiveUp(Child& child, const ExitReason& reason) {
  if (MayPark(child, reason)) {
    Park(child, reason);
    return;
  }
  const RestartDecision decision = decider_.Decide(*child.spec, child.history, now_);
  if (decision.kind == RestartDecision::Kind::kGiveUp) {
    GiveUp(child, decision, reason);
    return;
  }
  ++child.restarts;
  if (decision.kind == RestartDecision::Kind::kLater) {
    SetState(child, State::kBackoff);
    Report(SupervisionEvent::Kind::kBackoff, child, Pid(), reason, decision.wait);
    ArmTimer(child, decision.wait);
  } else {
    SetState(child, State::kDue);
    Report(SupervisionEvent::Kind::kRestarting, child, Pid(), reason);
  }
  if (is_serial()) {
    RestartGroup(child);
  } else if (child.state == State::kDue) {
    StartOrHold(child);
  }
}

// The child is not restarted. A pool loses no more than that by a child's own
// limit: its other children are none of its siblings' business.
void RestartPlan::GiveUp(Child& child, const RestartDecision& decision, const ExitReason& reason) {
  const ExitReason given_up =
      ExitReason::RestartsExhausted(absl::StrCat("child '", child.spec->id, "' ", decision.why)).CausedBy(reason);
  SetState(child, State::kStopped);
  Report(SupervisionEvent::Kind::kGaveUp, child, Pid(), given_up);
  if (!is_pool() || !decision.is_own_limit) {
    BeginStopAll(given_up);
    return;
  }
  const bool was_significant = child.spec->significant;
  Forget(child);
  if (was_significant) CheckAutoShutdown();
}

// Makes a plan that stops the group of `child` and then starts it. If a plan is running, it is turned back: it stops
// the group and ends, and the start waits behind the requests and exits that have arrived before. Otherwise a child
// that fails again and again would keep them waiting until the supervisor gives up.
void RestartPlan::RestartGroup(const Child& child) {
  if (!plan_.has_value()) {
    plan_.emplace();
    plan_->kind = start_done_ ? PlanKind::kGroup : PlanKind::kFirstStart;
  } else if (child.state == State::kDue) {
    plan_->ends_when_stopped = true;
    AwaitTurn(child);
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
  if (flags_.auto_shutdown == AutoShutdown::kAllSignificant && significant_ > 0) return;
  BeginStopAll(ExitReason::Shutdown());
}

void RestartPlan::BeginStopAll(const ExitReason& reason) {
  if (is_stopping()) return;
  const auto refuse = [this](const Waiting& waiting) {
    Reply(waiting.request, MakeError(ErrorKind::kStopping, "the supervisor stops its children"));
  };
  for (const Waiting& waiting : std::exchange(waiting_, {})) refuse(waiting);
  for (const auto& [key, requests] : std::exchange(deferred_, {})) {
    for (const Waiting& waiting : requests) refuse(waiting);
  }
  deferred_count_ = 0;
  plan_.emplace();
  plan_->kind = PlanKind::kStopAll;
  for (const auto& [key, child] : children_) MayFreeNames(child);
  plan_->phase = Phase::kStop;
  plan_->cursor = last_key_ + 1;
  plan_->reason = reason;
  if (!has_reports_) return;
  Action action{.kind = Action::Kind::kReport};
  action.event = std::make_unique<SupervisionEvent>();
  action.event->kind = SupervisionEvent::Kind::kShutdown;
  action.event->reason = reason;
  action.event->time = now_;
  actions_.push_back(std::move(action));
}

}  // namespace understudy
