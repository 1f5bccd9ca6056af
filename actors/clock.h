// Two clocks and their types.
//
// MonotonicTime is a point on a clock that never jumps; deadlines, timers,
// heartbeats and restart windows use it. Wall time is absl::Time and is used
// only by At() clauses and by claims of names. The types do not convert, so
// one cannot be passed for the other.
//
// A Clock is injected into every ActorSystem. Threads: any. Lifetime: a clock
// outlives what uses it.
#ifndef UNDERSTUDY_ACTORS_CLOCK_H_
#define UNDERSTUDY_ACTORS_CLOCK_H_

#include <compare>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy {

// Nanoseconds since an arbitrary start that is fixed for the life of a process.
class MonotonicTime {
 public:
  constexpr MonotonicTime() = default;
  static constexpr MonotonicTime FromNanos(int64_t nanos) { return MonotonicTime(nanos); }
  // Later than every time a clock returns.
  static constexpr MonotonicTime InfiniteFuture() { return MonotonicTime(INT64_MAX); }

  constexpr int64_t nanos() const { return nanos_; }
  constexpr bool is_infinite() const { return nanos_ == INT64_MAX; }

  friend constexpr auto operator<=>(MonotonicTime, MonotonicTime) = default;

  // Saturates at InfiniteFuture and at the clock's start.
  friend MonotonicTime operator+(MonotonicTime time, absl::Duration duration);
  friend absl::Duration operator-(MonotonicTime a, MonotonicTime b);

 private:
  explicit constexpr MonotonicTime(int64_t nanos) : nanos_(nanos) {}
  int64_t nanos_ = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() = 0;
  virtual absl::Time WallNow() = 0;

  // The clocks of the machine. The object is never destroyed.
  static Clock& Real();
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CLOCK_H_
