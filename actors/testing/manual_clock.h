// ManualClock: a clock that stands still until the test moves it. Any thread.
#ifndef UNDERSTUDY_ACTORS_TESTING_MANUAL_CLOCK_H_
#define UNDERSTUDY_ACTORS_TESTING_MANUAL_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy {

class ManualClock final : public Clock {
 public:
  MonotonicTime Now() override { return MonotonicTime::FromNanos(nanos_.load()); }
  absl::Time WallNow() override { return absl::UnixEpoch(); }
  void Advance(absl::Duration by) { nanos_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> nanos_{1'000'000'000};
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_MANUAL_CLOCK_H_
