#include "understudy/supervision/internal/restart_window.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy {
namespace {

MonotonicTime At(absl::Duration since_start) { return MonotonicTime::FromNanos(absl::ToInt64Nanoseconds(since_start)); }

TEST(RestartWindow, AllowsAsManyAsTheIntensityWithinThePeriod) {
  RestartWindow window(3, absl::Seconds(10));
  EXPECT_TRUE(window.Add(At(absl::Seconds(0))));
  EXPECT_TRUE(window.Add(At(absl::Seconds(1))));
  EXPECT_TRUE(window.Add(At(absl::Seconds(2))));
  EXPECT_FALSE(window.Add(At(absl::Seconds(3))));
}

TEST(RestartWindow, AnAttemptExactlyAPeriodOldCountsAndAnOlderOneDoesNot) {
  RestartWindow window(1, absl::Seconds(10));
  EXPECT_TRUE(window.Add(At(absl::Seconds(1))));
  EXPECT_FALSE(window.Add(At(absl::Seconds(11))));
  RestartWindow later(1, absl::Seconds(10));
  EXPECT_TRUE(later.Add(At(absl::Seconds(1))));
  EXPECT_TRUE(later.Add(At(absl::Seconds(11) + absl::Nanoseconds(1))));
}

TEST(RestartWindow, RestartsOlderThanThePeriodAreNotCountedAtALaterTime) {
  RestartWindow window(3, absl::Seconds(10));
  EXPECT_EQ(window.CountAt(At(absl::Seconds(0))), 0);
  for (const int second : {1, 2, 8}) EXPECT_TRUE(window.Add(At(absl::Seconds(second))));
  EXPECT_EQ(window.CountAt(At(absl::Seconds(8))), 3);
  EXPECT_EQ(window.CountAt(At(absl::Seconds(11))), 3) << "the first is exactly a period old";
  EXPECT_EQ(window.CountAt(At(absl::Milliseconds(11'500))), 2);
  EXPECT_EQ(window.CountAt(At(absl::Seconds(60))), 0);
}

TEST(RestartWindow, ZeroAllowsNone) {
  RestartWindow window(0, absl::Seconds(1));
  EXPECT_FALSE(window.Add(At(absl::Seconds(5))));
}

TEST(RestartWindow, IsBoundedEvenForACallerThatGoesOn) {
  RestartWindow window(2, absl::Seconds(1));
  for (int i = 0; i < 1000; ++i) (void)window.Add(At(absl::Seconds(1)));
  EXPECT_EQ(window.count(), 3);
  EXPECT_FALSE(window.Add(At(absl::Seconds(1))));
}

}  // namespace
}  // namespace understudy
