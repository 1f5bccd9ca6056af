// PlanTimers: runs all timers of a RestartPlan on one timer of the actor, which is set to the earliest deadline.
//
// Invariant: after TakeToArm, the actor's timer fires no later than the earliest deadline. It may fire earlier, because
// cancelling a timer of the plan does not change it.
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

  // Call when the actor's timer has fired.
  void Came() { armed_ = MonotonicTime::InfiniteFuture(); }
  // Returns the time to which the caller must set the actor's timer, or nullopt if it is set early enough.
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
