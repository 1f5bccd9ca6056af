// PlanTimers: a RestartPlan's timers on one timer of its actor, which is set to the earliest of them.
//
// Invariant: from TakeToArm on, the actor's timer comes no later than the earliest deadline. It may come earlier,
// because a timer that is cancelled leaves it as it is.
//
// No clock. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_PLAN_TIMERS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_PLAN_TIMERS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/scheduling/timer_queue.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

class PlanTimers {
 public:
  using TimerId = RestartPlan::TimerId;

  void Arm(TimerId timer, MonotonicTime deadline) { places_[timer] = queue_.Add(deadline, timer); }
  // Ignored for a timer that has elapsed.
  void Cancel(TimerId timer) {
    const auto found = places_.find(timer);
    if (found == places_.end()) return;
    queue_.Remove(found->second);
    places_.erase(found);
  }
  // Removes and returns the first timer whose deadline is not after `now`; nullopt if there is none.
  absl::optional<TimerId> PopDue(MonotonicTime now) {
    const absl::optional<TimerId> due = queue_.PopDue(now);
    if (due.has_value()) places_.erase(*due);
    return due;
  }

  // The actor's timer has come, and is not set any more.
  void Came() { armed_ = MonotonicTime::InfiniteFuture(); }
  // Returns the time to set the actor's timer to, or nullopt if it comes early enough.
  absl::optional<MonotonicTime> TakeToArm() {
    if (queue_.Next() >= armed_) return absl::nullopt;
    armed_ = queue_.Next();
    return armed_;
  }

 private:
  TimerQueue<TimerId> queue_;
  absl::flat_hash_map<TimerId, uint64_t> places_;  // in the queue
  MonotonicTime armed_ = MonotonicTime::InfiniteFuture();
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_PLAN_TIMERS_H_
