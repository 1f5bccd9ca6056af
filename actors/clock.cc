#include "understudy/actors/clock.h"

#include <chrono>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace understudy {
namespace {

class RealClock final : public Clock {
 public:
  MonotonicTime Now() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return MonotonicTime::FromNanos(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  absl::Time WallNow() override { return absl::Now(); }
};

}  // namespace

MonotonicTime operator+(MonotonicTime time, absl::Duration duration) {
  if (time.is_infinite() || duration == absl::InfiniteDuration()) {
    return MonotonicTime::InfiniteFuture();
  }
  if (duration == -absl::InfiniteDuration()) return MonotonicTime();
  const int64_t step = absl::ToInt64Nanoseconds(duration);
  int64_t sum = 0;
  if (__builtin_add_overflow(time.nanos(), step, &sum)) {
    return step > 0 ? MonotonicTime::InfiniteFuture() : MonotonicTime();
  }
  return MonotonicTime::FromNanos(sum < 0 ? 0 : sum);
}

absl::Duration operator-(MonotonicTime a, MonotonicTime b) {
  if (a.is_infinite()) return absl::InfiniteDuration();
  if (b.is_infinite()) return -absl::InfiniteDuration();
  return absl::Nanoseconds(a.nanos()) - absl::Nanoseconds(b.nanos());
}

Clock& Clock::Real() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace understudy
