// RestartPlan's requests, waits, queries and replies.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/restart_plan.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

void RestartPlan::StartChild(ChildSpec spec, RequestId request, MonotonicTime now) {
  Waiting waiting{.kind = Waiting::Kind::kStart, .id = spec.id, .request = request};
  waiting.spec = std::make_shared<const ChildSpec>(std::move(spec));
  Request(std::move(waiting), now);
}

void RestartPlan::TerminateChild(absl::string_view id, RequestId request, MonotonicTime now) {
  Request({.kind = Waiting::Kind::kTerminate, .id = std::string(id), .request = request}, now);
}

void RestartPlan::RestartChild(absl::string_view id, RequestId request, MonotonicTime now) {
  Request({.kind = Waiting::Kind::kRestart, .id = std::string(id), .request = request}, now);
}

void RestartPlan::DeleteChild(absl::string_view id, RequestId request, MonotonicTime now) {
  Request({.kind = Waiting::Kind::kDelete, .id = std::string(id), .request = request}, now);
}

void RestartPlan::Request(Waiting request, MonotonicTime now) {
  now_ = now;
  if (finished_ || is_stopping()) {
    Reply(request.request, MakeError(ErrorKind::kStopping, "the supervisor stops its children"));
    return;
  }
  if (AnswerWhileStarting(request)) {
    Advance();
    return;
  }
  if (waiting_.size() >= limits::kWaitingRequestsMax) {
    Reply(request.request,
          MakeError(ErrorKind::kFull, absl::StrCat(waiting_.size(), " requests and exits wait for the supervisor")));
    return;
  }
  waiting_.push_back(std::move(request));
  Advance();
}

// A request about a child that is being started need not wait for that.
bool RestartPlan::AnswerWhileStarting(const Waiting& request) {
  Child* child = FindId(request.id);
  if (child == nullptr || child->state != State::kStarting) return false;
  switch (request.kind) {
    case Waiting::Kind::kRestart:
      Reply(request.request,
            absl::FailedPreconditionError(absl::StrCat("child '", request.id, "' is being started already")));
      return true;
    case Waiting::Kind::kTerminate:
    case Waiting::Kind::kDelete:
      child->delete_on_stop |= request.kind == Waiting::Kind::kDelete;
      child->stop_requests.push_back(request.request);
      if (plan_.has_value() && is_serial()) plan_->cancelled = true;
      BeginStop(*child);
      return true;
    default:
      return false;
  }
}

void RestartPlan::DoStart(const Waiting& request) {
  if (const Child* child = FindId(request.id); child != nullptr) {
    Reply(request.request, absl::AlreadyExistsError(absl::StrCat("there is a child '", request.id, "' already")));
    return;
  }
  if (const absl::Status status = ValidateSpec(*request.spec, flags_); !status.ok()) {
    Reply(request.request, status);
    return;
  }
  if (children_.size() >= limits::kChildrenPerSupervisorMax) {
    Reply(request.request,
          MakeError(ErrorKind::kFull, absl::StrCat("the supervisor has ", children_.size(), " children already")));
    return;
  }
  Child& child = Add(request.spec);
  child.is_new = true;
  child.start_request = request.request;
  BeginStart(child);
}

void RestartPlan::DoTerminate(const Waiting& request, Child& child) {
  if (child.state == State::kRunning) {
    child.stop_requests.push_back(request.request);
    BeginStop(child);
    return;
  }
  CancelRestart(child);
  Reply(request.request, absl::OkStatus());
}

// A child that waits to be started again no longer does.
void RestartPlan::CancelRestart(Child& child) {
  if (child.state == State::kStopped) return;
  CancelTimer(child);
  SetState(child, State::kStopped);
  if (is_serial()) EndFirstStart();  // nothing would go on with it
}

void RestartPlan::DoRestart(const Waiting& request, Child& child) {
  if (child.state == State::kStopped) {
    child.start_request = request.request;
    BeginStart(child);
    return;
  }
  Reply(request.request,
        absl::FailedPreconditionError(absl::StrCat(
            "child '", request.id, "' ",
            child.state == State::kRunning ? "is running; terminate it first" : "waits to be restarted already")));
}

void RestartPlan::DoDelete(const Waiting& request, Child& child) {
  if (child.state == State::kStopped) {
    Forget(child);
    Reply(request.request, absl::OkStatus());
    return;
  }
  Reply(request.request,
        absl::FailedPreconditionError(absl::StrCat(
            "child '", request.id, "' ", child.state == State::kRunning ? "is running" : "waits to be restarted",
            "; terminate it first")));
}

// ---- Waits.

bool RestartPlan::MayPark(const Child& child, const ExitReason& reason) const {
  const bool is_about_a_name =
      reason.kind() == ExitReason::Kind::kNameConflict || reason.kind() == ExitReason::Kind::kNameLost;
  const bool has_name = !child.spec->registered_as.empty() || !child.spec->published_as.empty();
  return is_about_a_name && has_name && child.spec->restart != RestartType::kTemporary;
}

// The child is started again when its name is free; nothing is counted.
void RestartPlan::Park(Child& child, const ExitReason& reason) {
  SetState(child, State::kParked);
  if (!std::exchange(child.was_parked, true)) Report(SupervisionEvent::Kind::kParked, child, Pid(), reason);
  for (const std::string& name : {child.spec->registered_as, child.spec->published_as}) {
    if (name.empty() || !watched_names_.insert(name).second) continue;
    actions_.push_back({.kind = Action::Kind::kWatchName, .name = name});
  }
  ArmTimer(child, limits::kParkedRetryAfter);
  if (is_serial()) RestartGroup(child);
}

void RestartPlan::NameFreed(absl::string_view name, MonotonicTime now) {
  now_ = now;
  for (auto& [key, child] : children_) {
    if (child.state != State::kParked || (child.spec->registered_as != name && child.spec->published_as != name)) {
      continue;
    }
    CancelTimer(child);
    WaitIsOver(child);
  }
  Advance();
}

// A child's backoff has elapsed, or its name may be free.
void RestartPlan::WaitIsOver(Child& child) {
  SetState(child, State::kDue);
  if (is_serial()) {
    waiting_.push_back({.kind = Waiting::Kind::kDue, .key = child.key, .life = child.life});
  } else {
    BeginStart(child);
  }
}

// ---- Queries.

RestartPlan::Child* RestartPlan::FindId(absl::string_view id) {
  return const_cast<Child*>(std::as_const(*this).FindId(id));
}

const RestartPlan::Child* RestartPlan::FindId(absl::string_view id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : &children_.at(found->second);
}

std::vector<ChildInfo> RestartPlan::WhichChildren() const {
  std::vector<ChildInfo> result;
  result.reserve(children_.size());
  for (const auto& [key, child] : children_) {
    ChildInfo info{.id = child.spec->id,
                   .pid = child.pid,
                   .kind = child.spec->kind,
                   .restart = child.spec->restart,
                   .restarts = child.restarts};
    switch (child.state) {
      case State::kStopped:
        info.state = ChildState::kStopped;
        break;
      case State::kStarting:
        info.state = ChildState::kStarting;
        break;
      case State::kRunning:
        info.state = ChildState::kRunning;
        break;
      case State::kStopping:
        info.state = ChildState::kStopping;
        break;
      case State::kDue:
      case State::kBackoff:
      case State::kDown:
        info.state = ChildState::kRestarting;
        break;
      case State::kParked:
        info.state = ChildState::kParked;
        break;
    }
    result.push_back(std::move(info));
  }
  return result;
}

ChildCounts RestartPlan::CountChildren() const {
  ChildCounts counts;
  for (const auto& [key, child] : children_) {
    ++counts.specs;
    if (child.state == State::kRunning) ++counts.active;
    ++(child.spec->kind == ChildKind::kSupervisor ? counts.supervisors : counts.workers);
  }
  return counts;
}

absl::StatusOr<ChildSpec> RestartPlan::GetChildSpec(absl::string_view id) const {
  const Child* child = FindId(id);
  if (child == nullptr) return absl::NotFoundError(absl::StrCat("there is no child '", id, "'"));
  return *child->spec;
}

// ---- What goes out.

void RestartPlan::Reply(RequestId request, absl::Status status, Pid pid) {
  if (request == 0) return;
  actions_.push_back({.kind = Action::Kind::kReply, .request = request, .status = std::move(status), .pid = pid});
}

void RestartPlan::Report(SupervisionEvent::Kind kind, const Child& child, Pid pid, const ExitReason& reason) {
  Action action{.kind = Action::Kind::kReport};
  action.event = {.kind = kind,
                  .child = child.spec->id,
                  .pid = pid,
                  .reason = reason,
                  .restarts = child.restarts,
                  .time = now_,
                  .spec = child.spec};
  actions_.push_back(std::move(action));
}

void RestartPlan::ArmTimer(Child& child, absl::Duration wait) {
  child.timer = ++last_timer_;
  timers_[child.timer] = child.key;
  actions_.push_back({.kind = Action::Kind::kArmTimer, .timer = child.timer, .wait = wait});
}

void RestartPlan::CancelTimer(Child& child) {
  if (child.timer == 0) return;
  timers_.erase(child.timer);
  actions_.push_back({.kind = Action::Kind::kCancelTimer, .timer = std::exchange(child.timer, 0)});
}

absl::string_view ChildStateName(ChildState state) {
  switch (state) {
    case ChildState::kStopped:
      return "stopped";
    case ChildState::kStarting:
      return "starting";
    case ChildState::kRunning:
      return "running";
    case ChildState::kStopping:
      return "stopping";
    case ChildState::kRestarting:
      return "restarting";
    case ChildState::kParked:
      return "parked";
  }
  return "?";
}

}  // namespace understudy
