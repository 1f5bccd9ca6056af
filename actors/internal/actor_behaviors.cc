// Which behaviour an actor has: become, the stack below it, and the hooks of
// entering and leaving.
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

void ActorCore::Become(BehaviorPtr table) {
  if (table != nullptr && (table != behavior_ || (rare_ != nullptr && rare_->become != nullptr))) {
    rare().become = std::move(table);
  }
}

absl::Status ActorCore::BecomeStacked(BehaviorPtr table) {
  const BehaviorPtr top = rare().become != nullptr ? rare_->become : behavior_;
  if (top == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("BecomeStacked(", table->name(), "): the actor has no behavior yet for it to lie on"));
  }
  if (rare_->stack.size() >= limits::kBehaviorsStackedMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("BecomeStacked(", table->name(), "): ", limits::kBehaviorsStackedMax,
                                  " behaviors lie below ", top->name(), " already, the most there may be"));
  }
  rare_->stack.push_back(top);
  rare_->become = std::move(table);
  return absl::OkStatus();
}

absl::Status ActorCore::Unbecome() {
  if (rare_ == nullptr || rare_->stack.empty()) {
    return absl::FailedPreconditionError(
        "Unbecome: no behavior lies below the present one; BecomeStacked puts one there");
  }
  rare_->become = std::move(rare_->stack.back());
  rare_->stack.pop_back();
  return absl::OkStatus();
}

// The changes that a step asked for, those of hooks included.
void ActorCore::ApplyBecome() {
  if (rare_->become == nullptr || (stage_ != Stage::kStartingOpen && stage_ != Stage::kRunning)) return;
  UNDERSTUDY_CHECK(!is_process_, self().ToString(), " would become ", rare_->become->name(),
                   ", but it is in the process style: what it waits for is said by its next Receive");
  for (int changes = 0; rare_->become != nullptr && !ends(); ++changes) {
    if (changes == limits::kBehaviorChangesInARowMax) {
      SetExit(ExitReason::Failed(absl::ResourceExhaustedError(
                  absl::StrCat("the hooks of behavior ", behavior_->name(), " and others have changed the behavior ",
                               limits::kBehaviorChangesInARowMax, " times in a row"))),
              ExitCause::kOwn);
      return;
    }
    ChangeBehavior();
  }
}

void ActorCore::ChangeBehavior() {
  if (rare_->become == behavior_) {
    rare_->become = nullptr;
    return;
  }
  if (behavior_ != nullptr && behavior_->extra() != nullptr) RunHook(behavior_->MakeExtra().hooks.left);
  if (ends()) return;
  // Of what its leave hook has become, if it has.
  EnterBehavior(std::exchange(rare_->become, nullptr));
}

void ActorCore::EnterBehavior(BehaviorPtr table) {
  if (rare_ != nullptr) {
    if (rare_->timers != nullptr) rare_->timers->Leave();
    ++rare_->epoch;
  }
  behavior_ = std::move(table);
  UNDERSTUDY_DCHECK(static_cast<size_t>(std::bit_width(behavior_->mailboxes())) <= layout().size(), "behavior ",
                    behavior_->name(), " of ", self().ToString(), " names a mailbox of another actor: this one has ",
                    layout().size());
  Set(kIsNotSimple, !behavior_->is_simple());
  if (behavior_->extra() != nullptr) {
    EnterTimersOf(*behavior_);
    RunHook(behavior_->MakeExtra().hooks.entered);
  }
  if (!is_fenced() && has_postponed()) ReturnPostponed();
}

void ActorCore::RunHook(Hook& hook) {
  if (hook == nullptr) return;
  const std::exception_ptr thrown = CaughtInUserCode([&] { hook(*actor_); });
  if (thrown != nullptr && !is_fenced()) SetExit(DescribeException(thrown), ExitCause::kOwn);
}

}  // namespace understudy::internal
