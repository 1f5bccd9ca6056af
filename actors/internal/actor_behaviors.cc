// Which behaviour an actor has: become, the stack below it, and the hooks of
// entering and leaving.
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/exceptions.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

void ActorCore::Become(std::shared_ptr<BehaviorTable> table) {
  if (table != nullptr) become_ = std::move(table);
}

absl::Status ActorCore::BecomeStacked(std::shared_ptr<BehaviorTable> table) {
  const std::shared_ptr<BehaviorTable>& top = become_ ? *become_ : behavior_;
  if (top == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("BecomeStacked(", table->name, "): the actor has no behavior yet for it to lie on"));
  }
  if (stack_.size() >= limits::kBehaviorsStackedMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("BecomeStacked(", table->name, "): ", limits::kBehaviorsStackedMax,
                                  " behaviors lie below ", top->name, " already, the most there may be"));
  }
  stack_.push_back(top);
  become_ = std::move(table);
  return absl::OkStatus();
}

absl::Status ActorCore::Unbecome() {
  if (stack_.empty()) {
    return absl::FailedPreconditionError(
        "Unbecome: no behavior lies below the present one; BecomeStacked puts one there");
  }
  become_ = std::move(stack_.back());
  stack_.pop_back();
  return absl::OkStatus();
}

// The changes that a step asked for, those of hooks included.
void ActorCore::ApplyBecome() {
  if (stage_ != Stage::kStartingOpen && stage_ != Stage::kRunning) return;
  for (int changes = 0; become_ && !exit_; ++changes) {
    if (changes == limits::kBehaviorChangesInARowMax) {
      SetExit(ExitReason::Failed(absl::ResourceExhaustedError(
                  absl::StrCat("the hooks of behavior ", behavior_->name, " and others have changed the behavior ",
                               limits::kBehaviorChangesInARowMax, " times in a row"))),
              /*is_kill=*/false);
      return;
    }
    ChangeBehavior();
  }
}

void ActorCore::ChangeBehavior() {
  if (*become_ == behavior_) {
    become_ = absl::nullopt;
    return;
  }
  if (behavior_ != nullptr) RunHook(behavior_->hooks.left);
  if (exit_) return;
  // Of what its leave hook has become, if it has.
  EnterBehavior(*std::exchange(become_, absl::nullopt));
  RunHook(behavior_->hooks.entered);
  ReturnPostponed();
}

void ActorCore::EnterBehavior(std::shared_ptr<BehaviorTable> table) {
  RemoveBehaviorTimers();
  behavior_ = std::move(table);
  ++epoch_;
  rank_index_ = 0;
  rank_used_ = 0;
  AddBehaviorTimers(*behavior_);
}

void ActorCore::RunHook(Hook& hook) {
  if (hook == nullptr) return;
  absl::optional<ExitReason> thrown = CatchExceptions([&] { hook(*actor_); });
  if (thrown) SetExit(*std::move(thrown), /*is_kill=*/false);
}

}  // namespace understudy::internal
