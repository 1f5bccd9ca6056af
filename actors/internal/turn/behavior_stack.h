// BehaviorStack: which behavior an actor enters next, those that lie below it, and how many it has entered.
//
// A plain state machine: it runs no hook. The behavior that the actor has is its owner's (ActorCore::behavior), which
// says which one that is. A change is asked for while a handler runs, and made when the handler has returned or awaits.
// Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_BEHAVIOR_STACK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_BEHAVIOR_STACK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/behavior_table.h"

namespace understudy::internal {

class BehaviorStack {
 public:
  // Makes `next` the behavior to enter next, in place of one set before. The stacked behaviors stay. If `next` is null,
  // none is entered.
  void SetNext(BehaviorPtr next) { next_ = std::move(next); }
  // `next` is entered next, and lies on what would have been: `current`, unless another was to be entered.
  // FailedPrecondition when that is null, Full beyond limits::kBehaviorsStackedMax.
  absl::Status Push(BehaviorPtr next, const BehaviorPtr& current);
  // The uppermost that lies below is entered next. FailedPrecondition when none does.
  absl::Status Pop();

  // Null when nothing is to be entered.
  const BehaviorPtr& next() const { return next_; }
  BehaviorPtr TakeNext() { return std::exchange(next_, nullptr); }

  // Counts the behaviors entered, and what else ends the timers of a behavior: the begin and the end of a Receive.
  uint64_t epoch() const { return epoch_; }
  void BeginEpoch() { ++epoch_; }

  // The actor ends: it has no behaviors any more.
  void Clear();

 private:
  BehaviorPtr next_;
  std::vector<BehaviorPtr> below_;  // the uppermost last
  uint64_t epoch_ = 1;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_BEHAVIOR_STACK_H_
