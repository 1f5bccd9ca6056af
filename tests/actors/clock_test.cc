#include "understudy/actors/clock.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace understudy {
namespace {

TEST(MonotonicTimeTest, AddsAndSubtractsDurations) {
  const MonotonicTime time = MonotonicTime::FromNanos(1000);
  EXPECT_EQ(time + absl::Nanoseconds(5), MonotonicTime::FromNanos(1005));
  EXPECT_EQ(time + absl::Nanoseconds(5) - time, absl::Nanoseconds(5));
  EXPECT_LT(time, time + absl::Nanoseconds(1));
}

TEST(MonotonicTimeTest, SaturatesAtItsEnds) {
  const MonotonicTime time = MonotonicTime::FromNanos(1000);
  EXPECT_TRUE((time + absl::InfiniteDuration()).is_infinite());
  EXPECT_TRUE((time + absl::Hours(24 * 366 * 300)).is_infinite());
  EXPECT_TRUE((MonotonicTime::InfiniteFuture() + -absl::Seconds(1)).is_infinite());
  EXPECT_EQ(time + -absl::Hours(1), MonotonicTime());
  EXPECT_EQ(time + -absl::InfiniteDuration(), MonotonicTime());
  EXPECT_EQ(MonotonicTime::InfiniteFuture() - time, absl::InfiniteDuration());
  EXPECT_EQ(time - MonotonicTime::InfiniteFuture(), -absl::InfiniteDuration());
}

TEST(ClockTest, TheRealMonotonicClockDoesNotGoBack) {
  MonotonicTime last = Clock::Real().Now();
  for (int i = 0; i < 1000; ++i) {
    const MonotonicTime now = Clock::Real().Now();
    ASSERT_LE(last, now);
    last = now;
  }
}

}  // namespace
}  // namespace understudy
