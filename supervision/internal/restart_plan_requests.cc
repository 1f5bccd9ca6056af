// RestartPlan's requests, queries and replies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "understudy/supervision/internal/existing_child.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {
namespace {

absl::Status NotGoneError(absl::string_view id) {
  return absl::FailedPreconditionError(
      absl::StrCat("child '", id, "' is exclusive, and its last life is not gone: a killed handler runs still"));
}

}  // namespace

absl::Status OnlyMembersError() {
  return absl::FailedPreconditionError("a pool starts children of its own template only; use StartMember");
}

absl::Status NobodyIsStoppedError() {
  return absl::FailedPreconditionError("a pool forgets a child that is down: there is none to restart or delete");
}

void RestartPlan::StartChild(ChildSpec spec, RequestId request, MonotonicTime now) {
  Waiting waiting{.kind = Waiting::Kind::kStart, .id = spec.id, .request = request};
  waiting.spec = std::make_shared<const ChildSpec>(std::move(spec));
  Request(std::move(waiting), now);
}

void RestartPlan::StartMember(std::string id, std::shared_ptr<const ChildStart> start, RequestId request,
                              MonotonicTime now) {
  if (!is_pool()) {
    Reply(request, absl::FailedPreconditionError("the supervisor is no pool, and has no template; use StartChild"));
    return;
  }
  Waiting waiting{.kind = Waiting::Kind::kStart, .id = std::move(id), .request = request, .is_member = true};
  if (waiting.id.empty()) waiting.id = MemberId(flags_.pool->child, ++last_member_);
  auto spec = std::make_shared<ChildSpec>(flags_.pool->child);
  spec->id = waiting.id;
  NameMember(*spec);
  if (start != nullptr) spec->start = std::move(start);
  if (spec->process.has_value()) spec->process->node_name = MemberNodeName(spec->id);
  waiting.spec = std::move(spec);
  Request(std::move(waiting), now);
}

void RestartPlan::TerminateChild(absl::string_view id, RequestId request, MonotonicTime now) {
  Request({.kind = Waiting::Kind::kTerminate, .id = std::string(id), .request = request}, now);
}

void RestartPlan::TerminateChild(Pid pid, RequestId request, MonotonicTime now) {
  const auto found = pids_.find(pid);
  if (found == pids_.end()) {
    Reply(request, absl::NotFoundError(absl::StrCat(pid.ToString(), " is no child")));
    return;
  }
  Request({.kind = Waiting::Kind::kTerminate, .id = found->second->spec->id, .request = request}, now);
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
  if (absl::Status refused = RefuseForPool(request); !refused.ok()) {
    Reply(request.request, std::move(refused));
    return;
  }
  if (AnswerWhileStarting(request)) {
    Advance();
    return;
  }
  if (const size_t waiting = waiting_.size() + deferred_count_; waiting >= limits::kWaitingRequestsMax) {
    Reply(request.request,
          MakeError(ErrorKind::kFull, absl::StrCat(waiting, " requests and exits wait for the supervisor")));
    return;
  }
  waiting_.push_back(std::move(request));
  Advance();
}

// A pool has no children of other specs, and none that are stopped.
absl::Status RestartPlan::RefuseForPool(const Waiting& request) const {
  if (!is_pool() || request.kind == Waiting::Kind::kTerminate) return absl::OkStatus();
  if (request.kind == Waiting::Kind::kStart) return request.is_member ? absl::OkStatus() : OnlyMembersError();
  return NobodyIsStoppedError();
}

// A request about a child that is being started need not wait for that.
bool RestartPlan::AnswerWhileStarting(const Waiting& request) {
  Child* child = FindId(request.id);
  if (child == nullptr) return false;
  if (is_pool() && child->state == State::kStopping && request.kind == Waiting::Kind::kTerminate) {
    child->stop_requests.push_back(request.request);
    return true;
  }
  if (child->state != State::kStarting) return false;
  switch (request.kind) {
    case Waiting::Kind::kStart:
      if (child->is_new) return false;  // if it cannot start, its id becomes free
      Reply(request.request, ExistingChildError(InfoOf(*child)));
      return true;
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
    Reply(request.request, ExistingChildError(InfoOf(*child)));
    return;
  }
  if (const absl::Status status = ValidateSpec(*request.spec, flags_); !status.ok()) {
    Reply(request.request, status);
    return;
  }
  if (request.spec->exclusive && HasPredecessor(request.id)) {
    Reply(request.request, NotGoneError(request.id));
    return;
  }
  const size_t children_max =
      is_pool() ? static_cast<size_t>(flags_.pool->children_max) : limits::kChildrenPerSupervisorMax;
  if (children_.size() >= children_max) {
    Reply(request.request,
          MakeError(ErrorKind::kFull, absl::StrCat("the supervisor has ", children_.size(), " children, its limit")));
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
  if (is_pool()) Forget(child);
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
  if (child.state == State::kStopped && MustWait(child)) {
    Reply(request.request, NotGoneError(request.id));
    return;
  }
  if (child.state == State::kStopped) {
    child.history.attempts = 0;  // who asks for it has seen to what was wrong
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

// ---- Queries.

RestartPlan::Child* RestartPlan::FindId(absl::string_view id) {
  return const_cast<Child*>(std::as_const(*this).FindId(id));
}

const RestartPlan::Child* RestartPlan::FindId(absl::string_view id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : &children_.at(found->second);
}

ChildInfo RestartPlan::InfoOf(const Child& child) {
  ChildInfo info{.id = child.spec->id,
                 .pid = child.pid,
                 .kind = child.spec->kind,
                 .restart = child.spec->restart,
                 .restarts = child.restarts,
                 .place = child.key};
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
    case State::kHeld:
    case State::kDown:
      info.state = ChildState::kRestarting;
      break;
    case State::kParked:
      info.state = ChildState::kParked;
      break;
  }
  return info;
}

std::vector<ChildInfo> RestartPlan::WhichChildren(uint64_t after, size_t at_most) const {
  std::vector<ChildInfo> result;
  result.reserve(std::min(children_.size(), at_most));
  for (auto next = children_.upper_bound(after); next != children_.end() && result.size() < at_most; ++next) {
    result.push_back(InfoOf(next->second));
  }
  return result;
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

void RestartPlan::Report(SupervisionEvent::Kind kind, const Child& child, Pid pid, const ExitReason& reason,
                         absl::Duration wait) {
  if (!has_reports_) return;
  Action action{.kind = Action::Kind::kReport};
  action.event = std::make_unique<SupervisionEvent>(SupervisionEvent{.kind = kind,
                                                                     .child = child.spec->id,
                                                                     .pid = pid,
                                                                     .reason = reason,
                                                                     .restarts = child.restarts,
                                                                     .wait = wait,
                                                                     .time = now_,
                                                                     .spec = child.spec});
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
