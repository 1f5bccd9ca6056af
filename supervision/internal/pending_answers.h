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

// A function that is called once with the result of a request: the pid (null if the result has none) or the error.
using AnswerRequest = absl::AnyInvocable<void(absl::StatusOr<Pid>) &&>;

// Makes the function that answers the call of `replier`: with the error, or with of_pid(pid).
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

  // Returns the id with which to pass the request to the plan.
  RequestId Add(AnswerRequest answer) {
    answers_.emplace(++last_request_, std::move(answer));
    return last_request_;
  }
  // Answers the request. Does nothing if it has been answered before.
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
