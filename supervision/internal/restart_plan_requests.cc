// RestartPlan: requests.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_table.h"
#include "understudy/supervision/internal/existing_child.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/waiting_inputs.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/spec_errors.h"

namespace understudy {
namespace {

absl::Status NotGoneError(absl::string_view id) {
  return absl::FailedPreconditionError(absl::StrCat(
      "child '", id, "' is exclusive, and its last life is not gone: its killed handler still runs; ask again later"));
}

// Refuses the requests that a pool does not have: it starts only children of its template, and none of its children is
// stopped.
absl::Status RefuseForPool(const WaitingInput& request) {
  if (request.kind == WaitingInput::Kind::kTerminate) return absl::OkStatus();
  if (request.kind == WaitingInput::Kind::kStart) return request.is_member ? absl::OkStatus() : OnlyMembersError();
  return NobodyIsStoppedError();
}

}  // namespace

absl::Status OnlyMembersError() {
  return absl::FailedPreconditionError("a pool starts children of its own template only; use StartMember");
}

absl::Status UnknownPidError(const Pid& pid) {
  return absl::NotFoundError(absl::StrCat("no child of this supervisor has the pid ", pid.ToString()));
}

absl::Status NobodyIsStoppedError() {
  return absl::FailedPreconditionError(
      "a pool forgets a child that has stopped, so it has none to restart or delete; use StartMember");
}

void RestartPlan::StartChild(ChildSpec spec, RequestId request, MonotonicTime now) {
  WaitingInput waiting{.kind = WaitingInput::Kind::kStart, .id = spec.id, .request = request};
  waiting.spec = std::make_shared<const ChildSpec>(std::move(spec));
  Request(std::move(waiting), now);
}

void RestartPlan::StartMember(std::string id, std::shared_ptr<const ChildStart> start, RequestId request,
                              MonotonicTime now) {
  if (!is_pool()) {
    Answer(request, absl::FailedPreconditionError(
                        "the supervisor is not a pool, so it has no template to start a child of; use StartChild"));
    return;
  }
  WaitingInput waiting{.kind = WaitingInput::Kind::kStart, .id = std::move(id), .request = request, .is_member = true};
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
  Request({.kind = WaitingInput::Kind::kTerminate, .id = std::string(id), .request = request}, now);
}

void RestartPlan::TerminateChild(Pid pid, RequestId request, MonotonicTime now) {
  const Child* const child = children_.FindPid(pid);
  if (child == nullptr) {
    Answer(request, UnknownPidError(pid));
    return;
  }
  Request({.kind = WaitingInput::Kind::kTerminate, .id = child->spec->id, .request = request}, now);
}

void RestartPlan::RestartChild(absl::string_view id, RequestId request, MonotonicTime now) {
  Request({.kind = WaitingInput::Kind::kRestart, .id = std::string(id), .request = request}, now);
}

void RestartPlan::DeleteChild(absl::string_view id, RequestId request, MonotonicTime now) {
  Request({.kind = WaitingInput::Kind::kDelete, .id = std::string(id), .request = request}, now);
}

void RestartPlan::Request(WaitingInput request, MonotonicTime now) {
  now_ = now;
  if (is_stopping()) {
    Answer(request.request, MakeError(ErrorKind::kStopping, "the supervisor is stopping its children"));
    return;
  }
  if (absl::Status refused = is_pool() ? RefuseForPool(request) : absl::OkStatus(); !refused.ok()) {
    Answer(request.request, std::move(refused));
    return;
  }
  if (AnswerWhileStarting(request)) {
    Advance();
    return;
  }
  if (const size_t waiting = waiting_.size(); waiting >= limits::kWaitingRequestsMax) {
    Answer(request.request,
           MakeError(ErrorKind::kFull,
                     absl::StrCat(waiting,
                                  " requests and exits wait for the supervisor, the most it keeps; ask again later")));
    return;
  }
  waiting_.Push(std::move(request));
  Advance();
}

// Handles a request about a child that is being started, or in a pool stopped, without waiting for that to end. Returns
// false if the request has to wait.
bool RestartPlan::AnswerWhileStarting(const WaitingInput& request) {
  Child* const child = children_.FindId(request.id);
  if (child == nullptr) return false;
  if (is_pool() && child->state == State::kStopping && request.kind == WaitingInput::Kind::kTerminate) {
    child->stop_requests.push_back(request.request);
    return true;
  }
  if (child->state != State::kStarting) return false;
  switch (request.kind) {
    case WaitingInput::Kind::kStart:
      if (child->is_new) return false;  // the id becomes free if that child cannot start
      Answer(request.request, ExistingChildError(ChildTable::InfoOf(*child)));
      return true;
    case WaitingInput::Kind::kRestart:
      Answer(request.request,
             absl::FailedPreconditionError(absl::StrCat("child '", request.id, "' is being started already")));
      return true;
    case WaitingInput::Kind::kTerminate:
    case WaitingInput::Kind::kDelete:
      child->delete_on_stop |= request.kind == WaitingInput::Kind::kDelete;
      child->stop_requests.push_back(request.request);
      if (plan_.has_value() && is_serial()) plan_->Cancel();
      BeginStop(*child);
      return true;
    default:
      return false;
  }
}

void RestartPlan::DoStart(const WaitingInput& request) {
  if (const Child* const child = children_.FindId(request.id); child != nullptr) {
    Answer(request.request, ExistingChildError(ChildTable::InfoOf(*child)));
    return;
  }
  if (const absl::Status status = ValidateSpec(*request.spec, flags_); !status.ok()) {
    Answer(request.request, status);
    return;
  }
  // Also if that child is down: its supervisor keeps the name for it, and a second child would end that.
  for (const std::string* const name : NamesOf(*request.spec)) {
    const Child* const sibling = children_.FindName(*name);
    if (sibling == nullptr) continue;
    Answer(request.request,
           absl::AlreadyExistsError(absl::StrCat("child '", request.id, "' cannot have the name '", *name,
                                                 "', which is a name of child '", sibling->spec->id,
                                                 "'; choose another, or delete that child first")));
    return;
  }
  if (request.spec->exclusive && HasPredecessor(request.id)) {
    Answer(request.request, NotGoneError(request.id));
    return;
  }
  const size_t children_max =
      is_pool() ? static_cast<size_t>(flags_.pool->children_max) : limits::kChildrenPerSupervisorMax;
  if (children_.size() >= children_max) {
    Answer(request.request,
           MakeError(ErrorKind::kFull, absl::StrCat("the supervisor has ", children_.size(), " children, its limit")));
    return;
  }
  Child& child = children_.Add(request.spec, now_);
  child.is_new = true;
  child.start_request = request.request;
  BeginStart(child);
}

void RestartPlan::DoTerminate(const WaitingInput& request, Child& child) {
  if (child.state == State::kRunning) {
    child.stop_requests.push_back(request.request);
    BeginStop(child);
    return;
  }
  CancelRestart(child);
  if (is_pool()) Forget(child);
  Answer(request.request, absl::OkStatus());
}

// If the child waits to be started again, stops it for good.
void RestartPlan::CancelRestart(Child& child) {
  if (child.state == State::kStopped) return;
  Disarm(child);
  SetState(child, State::kStopped);
  if (is_serial()) EndFirstStart();  // the end of this child's wait would have continued the first start
}

void RestartPlan::DoRestart(const WaitingInput& request, Child& child) {
  if (child.state == State::kStopped && MustWait(child)) {
    Answer(request.request, NotGoneError(request.id));
    return;
  }
  if (child.state == State::kStopped) {
    child.history.attempts = 0;  // the request may follow a repair, so the backoff begins anew
    child.start_request = request.request;
    BeginStart(child);
    return;
  }
  Answer(request.request,
         absl::FailedPreconditionError(absl::StrCat(
             "child '", request.id, "' ",
             child.state == State::kRunning ? "is running; terminate it first" : "waits to be restarted already")));
}

void RestartPlan::DoDelete(const WaitingInput& request, Child& child) {
  if (child.state == State::kStopped) {
    Forget(child);
    Answer(request.request, absl::OkStatus());
    return;
  }
  Answer(request.request,
         absl::FailedPreconditionError(absl::StrCat(
             "child '", request.id, "' ", child.state == State::kRunning ? "is running" : "waits to be restarted",
             "; terminate it first")));
}

}  // namespace understudy
