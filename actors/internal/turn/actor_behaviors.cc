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
#include "understudy/actors/internal/turn/actor_due.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/in_user_code.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

void RunHook(ActorCore& core, Hook& hook) {
  if (hook == nullptr) return;
  const std::exception_ptr thrown = CaughtInUserCode([&] { hook(*core.object()); });
  if (thrown != nullptr && !core.stage().is_fenced()) core.SetExit(DescribeException(thrown), ExitCause::kOwn);
}

}  // namespace

void ActorCore::Become(BehaviorPtr table) {
  if (table == nullptr) return;
  if (table != behavior_ || (!parts_.empty() && parts_.behaviors().next() != nullptr)) {
    parts_.behaviors().SetNext(std::move(table));
  }
}

// Makes the changes of behavior that the last step of a handler asked for, and those that hooks ask for in turn.
void ActorCore::ApplyBecome() {
  BehaviorStack& behaviors = parts_.behaviors();
  if (behaviors.next() == nullptr || !stage_.start().handles_messages()) return;
  UNDERSTUDY_CHECK(!stage_.start().is_process(), self().ToString(), " would become ", behaviors.next()->name(),
                   ", but it is in the process style: what it waits for is said by its next Receive");
  for (int changes = 0; behaviors.next() != nullptr && !stage_.has_exit(); ++changes) {
    if (changes == limits::kBehaviorChangesInARowMax) {
      SetExit(ExitReason::Failed(absl::ResourceExhaustedError(
                  absl::StrCat("the hooks of behavior ", behavior_->name(), " and others have changed the behavior ",
                               limits::kBehaviorChangesInARowMax, " times in a row"))),
              ExitCause::kOwn);
      return;
    }
    if (behaviors.next() == behavior_) {
      behaviors.SetNext(nullptr);
      return;
    }
    if (behavior_ != nullptr && behavior_->extra() != nullptr) RunHook(*this, behavior_->MakeExtra().hooks.left);
    if (stage_.has_exit()) return;
    // Taken only now, because the leave hook may have set another behavior to enter.
    EnterBehavior(behaviors.TakeNext());
  }
}

void ActorCore::SetTraced(bool is_traced) {
  is_traced_ = is_traced;
  stage_.SetSimple(behavior_ != nullptr && behavior_->is_simple() && !is_traced);
}

void ActorCore::EnterBehavior(BehaviorPtr table) {
  if (!parts_.empty()) {
    if (parts_.known_timers() != nullptr) parts_.known_timers()->Leave();
    parts_.behaviors().BeginEpoch();
  }
  (void)behavior_.Publish(std::move(table));
  UNDERSTUDY_DCHECK(static_cast<size_t>(std::bit_width(behavior_->mailboxes())) <= layout().size(), "behavior ",
                    behavior_->name(), " of ", self().ToString(), " names a mailbox of another actor: this one has ",
                    layout().size());
  stage_.SetSimple(behavior_->is_simple() && !is_traced_);
  if (behavior_->extra() != nullptr) {
    EnterTimersOf(*this, *behavior_);
    RunHook(*this, behavior_->MakeExtra().hooks.entered);
  }
  if (!stage_.is_fenced() && HasPostponed(*this)) ReturnPostponed(*this);
}

}  // namespace understudy::internal
