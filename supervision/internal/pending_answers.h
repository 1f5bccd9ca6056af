// PendingAnswers: the requests that a RestartPlan has not answered yet, and how each of them is answered.
//
// Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_PENDING_ANSWERS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_PENDING_ANSWERS_H_

#include <map>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/replier.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

// Called once with what became of a request: OK with the pid where there is one.
using AnswerRequest = absl::AnyInvocable<void(absl::StatusOr<Pid>) &&>;

// Answers the call of `replier` with the error, or with what `of_pid` makes of the pid.
template <class R, class OfPid>
AnswerRequest AnswerWith(Replier<R> replier, OfPid of_pid) {
  return [replier = std::move(replier), of_pid = std::move(of_pid)](absl::StatusOr<Pid> pid) mutable {
    if (pid.ok()) {
      replier.Reply(of_pid(*pid));
    } else {
      replier.Reply(std::move(pid).status());
    }
  };
}

class PendingAnswers {
 public:
  using RequestId = RestartPlan::RequestId;

  // Returns the id to give to the plan with the request.
  RequestId Add(AnswerRequest answer) {
    answers_.emplace(++last_request_, std::move(answer));
    return last_request_;
  }
  // Ignored for a request that has its answer.
  void Answer(RestartPlan::Reply reply) {
    auto found = answers_.extract(reply.request);
    if (found.empty()) return;
    if (reply.status.ok()) {
      std::move(found.mapped())(reply.pid);
    } else {
      std::move(found.mapped())(std::move(reply.status));
    }
  }

 private:
  std::map<RequestId, AnswerRequest> answers_;
  RequestId last_request_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_PENDING_ANSWERS_H_
