#include "understudy/examples/auction/root_watch.h"

#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace auction {

understudy::StartResult RootWatch::Start() {
  understudy::SpawnOptions options;
  options.link = understudy::SpawnLink::kUnlinked;
  root_ = context().Spawn(std::move(options).OnOutcome(&RootWatch::Outcome), tree_);
  monitor_ = context().Monitor(root_, &RootWatch::RootDown);
  return watching_;
}

void RootWatch::Outcome(const understudy::SpawnOutcome& outcome) {
  has_started_ = outcome.kind == understudy::SpawnOutcome::Kind::kStarted;
  AnswerWaiting();
}

void RootWatch::AnswerStarted(const WhenTreeStarted&, understudy::Replier<TreeStarted> replier) {
  started_waiting_.push_back(std::move(replier));
  AnswerWaiting();
}

void RootWatch::AnswerWaiting() {
  if (!has_started_ && !end_.has_value()) return;
  for (understudy::Replier<TreeStarted>& replier : started_waiting_) {
    if (has_started_) {
      replier.Reply(TreeStarted());
    } else {
      replier.Reply(absl::AbortedError(end_->ToString()));
    }
  }
  started_waiting_.clear();
}

void RootWatch::Add(const WaitsForTree& waiting) {
  waiting_.push_back(waiting.actor);
  if (end_.has_value()) Tell(waiting.actor);
}

void RootWatch::RootDown(const understudy::Down& down) {
  end_ = down.reason;
  AnswerWaiting();
  for (const understudy::Pid actor : waiting_) Tell(actor);
}

// Always sends an abnormal reason, because an exit with reason Normal does not end its receiver.
void RootWatch::Tell(understudy::Pid actor) {
  context().Exit(actor,
                 understudy::ExitReason::Failed(absl::AbortedError("the launcher's tree has ended")).CausedBy(*end_));
}

}  // namespace auction
