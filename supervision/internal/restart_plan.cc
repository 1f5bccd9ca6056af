// RestartPlan: the lives of children, the decisions after an exit, and the actions. The steps of ordered plans are in
// restart_plan_steps.cc, requests in restart_plan_requests.cc, waits for names and predecessors in
// restart_plan_waits.cc.
#include "understudy/supervision/internal/restart_plan.h"

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
#include "understudy/supervision/internal/child_names.h"
#include "understudy/supervision/internal/child_table.h"
#include "understudy/supervision/internal/ordered_plan.h"
#include "understudy/supervision/internal/restart_decision.h"
#include "understudy/supervision/internal/waiting_inputs.h"
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

// Returns the code of the first reason in the chain that has one, so that the caller of a start can tell a bad
// argument from a node that is away. Exceptions and the ends of processes have no code.
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

// Returns true if the child ended because another actor has its name, and may wait for the name. A conflict may also be
// over another name: that of an actor to which the child is linked, or one that the child has claimed itself.
bool MayPark(const ChildSpec& child, const ExitReason& reason) {
  const bool is_about_a_name =
      reason.kind() == ExitReason::Kind::kNameConflict || reason.kind() == ExitReason::Kind::kNameLost;
  if (!is_about_a_name || reason.detail().empty() || child.restart == RestartType::kTemporary) return false;
  return reason.detail() == child.registered_as || reason.detail() == child.published_as;
}

}  // namespace

RestartPlan::RestartPlan(const SupervisorSpec& spec, Random random)
    : flags_(WithoutChildren(spec)), decider_(spec.intensity, spec.period, random) {
  for (const ChildSpec& child : spec.children) children_.Add(std::make_shared<const ChildSpec>(child), now_);
}

void RestartPlan::StartAll(MonotonicTime now) {
  UNDERSTUDY_CHECK(!plan_.has_value() && stage_ == Stage::kFirstStart, "StartAll is called once, first");
  now_ = now;
  plan_.emplace(OrderedPlan::Kind::kFirstStart);
  Advance();
}

void RestartPlan::Shutdown(const ExitReason& reason, MonotonicTime now) {
  now_ = now;
  BeginStopAll(reason);
  Advance();
}

// ---- Inputs about lives.

void RestartPlan::Started(LifeId life, MonotonicTime now) {
  now_ = now;
  Child* const child = children_.FindLife(life);
  if (child == nullptr || child->state != State::kStarting) return;
  SetState(*child, State::kRunning);
  child->started = now_;
  child->has_started = true;
  child->was_parked = false;
  child->is_new = false;
  Tell(SupervisionEvent::Kind::kStarted, *child, child->pid, ExitReason());
  Answer(std::exchange(child->start_request, 0), absl::OkStatus(), child->pid);
  StartIsOver(*child);
  Advance();
}

void RestartPlan::Ignored(LifeId life, MonotonicTime now) {
  now_ = now;
  Child* const child = children_.FindLife(life);
  if (child == nullptr) return;
  if (child->state == State::kStarting) {
    HandleIgnored(*child);
  } else if (child->state == State::kStopping) {
    HandleStopped(*child, ExitReason::Normal());
  }
  Advance();
}

void RestartPlan::Down(LifeId life, const ExitReason& reason, MonotonicTime now) {
  now_ = now;
  Child* const child = children_.FindLife(life);
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
  Child* const found = children_.FindKey(timers_.Elapsed(timer));
  if (found == nullptr) return;
  Child& child = *found;
  if (child.state == State::kStopping) {
    actions_.push_back(KillLife{child.life});
  } else if (!is_stopping() && child.state == State::kParked && watched_names_.IsTaken(*child.spec)) {
    Arm(child, limits::kParkedRetryAfter);
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

void RestartPlan::Forget(Child& child) {
  SetState(child, State::kStopped);
  Disarm(child);
  StopKeepingNames(child);
  actions_.push_back(ForgetChild{child.spec});
  children_.Remove(child);
}

void RestartPlan::SetState(Child& child, State state) {
  const bool was_busy = ChildTable::IsBusy(child);
  children_.SetState(child, state, now_);
  kept_names_.Doubt(child.key);
  if (was_busy && !ChildTable::IsBusy(child)) waiting_.Settled(child.key);
}

bool RestartPlan::IsForgottenWhenDown(const Child& child) const {
  return is_pool() || child.spec->restart == RestartType::kTemporary;
}

void RestartPlan::EndLife(Child& child) {
  const bool lingers = predecessors_.EndedLingering(child.life);
  if (child.spec->exclusive && lingers) {
    predecessors_.Add(child.spec->id, child.life);
    actions_.push_back(AwaitGone{child.life, child.spec});
  }
  children_.EndLife(child);
  const bool was_healthy = child.started.has_value() && child.spec->backoff.has_value() &&
                           now_ - *child.started >= child.spec->backoff->reset_after;
  if (was_healthy) child.history.attempts = 0;
}

void RestartPlan::BeginStart(Child& child) {
  SetState(child, State::kStarting);
  children_.BeginLife(child);
  child.started.reset();
  if (HasName(*child.spec) && child.spec->restart != RestartType::kTemporary) kept_names_.Keep(child.key);
  actions_.push_back(StartLife{child.life, child.spec});
  ForgetArguments(child);
}

// Destroys the arguments of a temporary child, which is started only once. A pool's template keeps its own.
void RestartPlan::ForgetArguments(Child& child) {
  if (child.spec->restart != RestartType::kTemporary || child.spec->start == nullptr) return;
  if (is_pool() && child.spec->start == flags_.pool->child.start) return;
  auto rest = std::make_shared<ChildSpec>(*child.spec);
  rest->start = nullptr;
  children_.SetSpec(child, std::move(rest));
}

void RestartPlan::BeginStop(Child& child) {
  SetState(child, State::kStopping);
  const ChildShutdown shutdown = ShutdownOf(*child.spec);
  if (shutdown.kind == ChildShutdown::Kind::kBrutalKill) {
    actions_.push_back(KillLife{child.life});
    return;
  }
  actions_.push_back(StopLife{child.life});
  if (shutdown.kind == ChildShutdown::Kind::kWithin) Arm(child, shutdown.timeout);
}

// Keeps `reason` as the child's last exit, unless the child is forgotten with it.
void RestartPlan::NoteExit(Child& child, const ExitReason& reason) {
  const bool is_restarted = NeedsRestart(child.spec->restart, reason) && child.state != State::kStopping;
  if (is_restarted || !IsForgottenWhenDown(child)) children_.SetLastExit(child, reason, now_);
}

void RestartPlan::HandleIgnored(Child& child) {
  Tell(SupervisionEvent::Kind::kIgnored, child, child.pid, ExitReason());
  EndLife(child);
  Answer(std::exchange(child.start_request, 0), absl::OkStatus());
  child.is_new = false;
  SetState(child, State::kStopped);
  StartIsOver(child);
  if (IsForgottenWhenDown(child)) Forget(child);
}

void RestartPlan::HandleStartFailed(Child& child, const ExitReason& reason) {
  if (!child.was_parked || !MayPark(*child.spec, reason)) {
    Tell(SupervisionEvent::Kind::kStartFailed, child, child.pid, reason);
  }
  NoteExit(child, reason);
  EndLife(child);
  SetState(child, State::kStopped);
  StartIsOver(child);
  const std::string what = absl::StrCat("child '", child.spec->id, "' could not start");
  if (child.start_request != 0) {
    Answer(std::exchange(child.start_request, 0),
           absl::Status(CodeOfFailedStart(reason), absl::StrCat(what, ": ", reason.ToString())));
    if (child.is_new) Forget(child);
  } else if (is_stopping()) {
    return;  // no child is restarted while the supervisor stops
  } else if (stage_ == Stage::kFirstStart && !child.has_started && !MayPark(*child.spec, reason)) {
    BeginStopAll(ExitReason::Failed(absl::Status(CodeOfFailedStart(reason), what)).CausedBy(reason));
  } else {
    RestartOrGiveUp(child, reason);
  }
}

void RestartPlan::HandleExited(Child& child, const ExitReason& reason) {
  Tell(SupervisionEvent::Kind::kExited, child, child.pid, reason);
  NoteExit(child, reason);
  EndLife(child);
  if (plan_.has_value() && plan_->WillStop(child.key)) {
    SetState(child, State::kStopped);
    if (IsForgottenWhenDown(child)) Forget(child);
  } else if (MayJudge(child)) {
    JudgeExit(child, reason);
  } else {
    SetState(child, State::kDown);
    waiting_.Push({.kind = WaitingInput::Kind::kExit, .key = child.key, .life = child.life, .reason = reason});
  }
}

void RestartPlan::HandleStopped(Child& child, const ExitReason& reason) {
  Disarm(child);
  Tell(SupervisionEvent::Kind::kStopped, child, child.pid, reason);
  NoteExit(child, reason);
  EndLife(child);
  SetState(child, State::kStopped);
  StartIsOver(child);
  child.is_new = false;
  for (const RequestId request : std::exchange(child.stop_requests, {})) Answer(request, absl::OkStatus());
  const std::string what = absl::StrCat("child '", child.spec->id, "' was stopped while it was being started");
  Answer(std::exchange(child.start_request, 0),
         is_stopping() ? MakeError(ErrorKind::kStopping, what) : MakeError(ErrorKind::kCancelled, what));
  if (child.delete_on_stop || IsForgottenWhenDown(child)) Forget(child);
}

// Call when the start of the child has succeeded, failed or was cancelled: the plan may go on.
void RestartPlan::StartIsOver(const Child& child) {
  if (plan_.has_value()) plan_->StartIsOver(child.key);
}

// ---- What follows from an exit.

bool RestartPlan::MayJudge(const Child& child) const {
  if (!plan_.has_value()) return !is_serial() || children_.busy() == 0;
  if (!is_serial()) return plan_->kind() == OrderedPlan::Kind::kFirstStart;
  return plan_->Includes(child.key);
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
  if (MayPark(*child.spec, reason)) {
    Park(child, reason);
    return;
  }
  const RestartDecision decision = decider_.Decide(*child.spec, child.history, now_);
  if (decision.kind == RestartDecision::Kind::kGiveUp) {
    GiveUp(child, decision, reason);
    return;
  }
  children_.CountRestart(child);
  if (decision.kind == RestartDecision::Kind::kLater) {
    children_.SetNextStart(child, now_ + decision.wait);
    SetState(child, State::kBackoff);
    Tell(SupervisionEvent::Kind::kBackoff, child, Pid(), reason, decision.wait);
    Arm(child, decision.wait);
  } else {
    SetState(child, State::kDue);
    Tell(SupervisionEvent::Kind::kRestarting, child, Pid(), reason);
  }
  if (is_serial()) {
    RestartGroup(child);
  } else if (child.state == State::kDue) {
    StartOrHold(child);
  }
}

// Call when the child must not be restarted because a limit is exceeded. If the limit is the child's own, a pool
// forgets the child and goes on; otherwise the supervisor gives up.
void RestartPlan::GiveUp(Child& child, const RestartDecision& decision, const ExitReason& reason) {
  const ExitReason given_up =
      ExitReason::RestartsExhausted(absl::StrCat("child '", child.spec->id, "' ", decision.why)).CausedBy(reason);
  SetState(child, State::kStopped);
  Tell(SupervisionEvent::Kind::kGaveUp, child, Pid(), given_up);
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
    plan_.emplace(stage_ == Stage::kFirstStart ? OrderedPlan::Kind::kFirstStart : OrderedPlan::Kind::kGroup);
  } else if (child.state == State::kDue) {
    plan_->EndWhenStopped();
    AwaitTurn(child);
  }
  plan_->TurnBack(flags_.strategy == RestartStrategy::kOneForAll ? 0 : child.key, children_.end_key());
}

void RestartPlan::CheckAutoShutdown() {
  if (flags_.auto_shutdown == AutoShutdown::kNever) return;
  if (stage_ == Stage::kFirstStart) {  // the supervisor completes its start before it ends
    auto_shutdown_due_ = true;
    return;
  }
  if (flags_.auto_shutdown == AutoShutdown::kAllSignificant && children_.significant() > 0) return;
  BeginStopAll(ExitReason::Shutdown());
}

void RestartPlan::BeginStopAll(const ExitReason& reason) {
  if (is_stopping()) return;
  for (const WaitingInput& waiting : waiting_.TakeAll()) {
    Answer(waiting.request, MakeError(ErrorKind::kStopping, "the supervisor is stopping its children"));
  }
  plan_ = OrderedPlan::StopAll(reason, children_.end_key());
  kept_names_.DoubtAll();
  if (!has_reports_) return;
  SupervisionEvent event;
  event.kind = SupervisionEvent::Kind::kShutdown;
  event.reason = reason;
  event.time = now_;
  actions_.push_back(Report{std::move(event)});
}

// ---- Actions.

// Decides here which names are still kept, and not within an input, because a child that will be started again may be
// in a stopped state for a moment while an input is handled.
std::vector<RestartPlan::Action> RestartPlan::TakeActions() {
  for (const Key key : kept_names_.TakeDoubtful()) {
    const Child& child = *children_.FindKey(key);
    if (!WillBeStarted(child)) {
      StopKeepingNames(child);
    } else if (child.state == State::kStopped || child.state == State::kStopping) {
      kept_names_.Doubt(key);  // the child depends on its group, whose start later inputs may cancel: judge again then
    }
  }
  return std::exchange(actions_, {});
}

void RestartPlan::Answer(RequestId request, absl::Status status, Pid pid) {
  if (request != 0) actions_.push_back(Reply{request, std::move(status), pid});
}

void RestartPlan::Tell(SupervisionEvent::Kind kind, const Child& child, Pid pid, const ExitReason& reason,
                       absl::Duration wait) {
  if (!has_reports_) return;
  actions_.push_back(Report{{.kind = kind,
                             .child = child.spec->id,
                             .pid = pid,
                             .reason = reason,
                             .restarts = child.restarts,
                             .wait = wait,
                             .time = now_,
                             .spec = child.spec}});
}

void RestartPlan::Arm(const Child& child, absl::Duration wait) {
  actions_.push_back(ArmTimer{timers_.Arm(child.key), wait});
}

void RestartPlan::Disarm(const Child& child) {
  if (const TimerId timer = timers_.Cancel(child.key); timer != 0) actions_.push_back(CancelTimer{timer});
}

}  // namespace understudy
