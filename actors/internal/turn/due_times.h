// DueTimes: when one actor has to run although nothing arrives, and the executor's timer for it.
//
// A plain state machine: it has no clock and sets no timer. It is told when the earliest timer, ask or message of the
// actor is due, and answers whether the executor's timer must be set anew. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_DUE_TIMES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_DUE_TIMES_H_

#include <cstdint>

#include "understudy/actors/clock.h"

namespace understudy::internal {

class DueTimes {
 public:
  // The first of the waiting messages that are watched expires at `first`; infinite if there is none.
  void SetExpiry(MonotonicTime first) { expiry_ = first; }
  MonotonicTime expiry() const { return expiry_; }
  // Returns true if that time has come at `now`. Then no message is watched any more.
  [[nodiscard]] bool TakeExpiry(MonotonicTime now) {
    if (expiry_ > now) return false;
    expiry_ = MonotonicTime::InfiniteFuture();
    return true;
  }

  // Returns true if the executor's timer, which may not be set, would come too late for `next`, the earliest due time.
  // A timer that comes too early is left: its tick finds nothing due.
  bool MustSetTimer(MonotonicTime next) const { return !next.is_infinite() && next < timer_time_; }
  // `timer` is set for `time`, in place of the one that TakeTimer returned.
  void SetTimer(uint64_t timer, MonotonicTime time) {
    timer_ = timer;
    timer_time_ = time;
  }
  // The timer's tick has arrived.
  void TimerFired() { SetTimer(0, MonotonicTime::InfiniteFuture()); }
  // Returns the timer, which the caller cancels; 0 if none is set.
  uint64_t TakeTimer() {
    const uint64_t timer = timer_;
    TimerFired();
    return timer;
  }

 private:
  MonotonicTime expiry_ = MonotonicTime::InfiniteFuture();
  uint64_t timer_ = 0;
  MonotonicTime timer_time_ = MonotonicTime::InfiniteFuture();
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_DUE_TIMES_H_
