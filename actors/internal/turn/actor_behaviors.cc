// Which behaviour an actor has: become, the stack below it, and the hooks of
// entering and leaving.
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

void ActorCore::Become(BehaviorPtr table) {
  if (table == nullptr) return;
  if (table != behavior_ || (rare_ != nullptr && rare_->behaviors.next() != nullptr)) {
    rare().behaviors.SetNext(std::move(table));
  }
}

// Makes the changes of behavior that the last step of a handler asked for, and those that hooks ask for in turn.
void ActorCore::ApplyBecome() {
  const BehaviorStack& behaviors = rare_->behaviors;
  if (behaviors.next() == nullptr || !start_.handles_messages()) return;
  UNDERSTUDY_CHECK(!start_.is_process(), self().ToString(), " would become ", behaviors.next()->name(),
                   ", but it is in the process style: what it waits for is said by its next Receive");
  for (int changes = 0; behaviors.next() != nullptr && !ends(); ++changes) {
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
  if (rare_->behaviors.next() == behavior_) {
    rare_->behaviors.SetNext(nullptr);
    return;
  }
  if (behavior_ != nullptr && behavior_->extra() != nullptr) RunHook(behavior_->MakeExtra().hooks.left);
  if (ends()) return;
  // Taken only now, because the leave hook may have set another behavior to enter.
  EnterBehavior(rare_->behaviors.TakeNext());
}

void ActorCore::EnterBehavior(BehaviorPtr table) {
  if (rare_ != nullptr) {
    if (rare_->timers != nullptr) rare_->timers->Leave();
    rare_->behaviors.BeginEpoch();
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
