#include "understudy/actors/internal/scheduling/stuck_watch.h"

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

using Verdict = StuckWatch::Verdict;

class StuckWatchTest : public ::testing::Test {
 protected:
  Verdict ObserveAt(int64_t milliseconds, uint64_t handlers) {
    return watch_.Observe(handlers, MonotonicTime() + absl::Milliseconds(milliseconds));
  }
  StuckWatch watch_{absl::Milliseconds(5), absl::Seconds(1)};
};

TEST_F(StuckWatchTest, AWorkerThatEntersHandlersIsNotStuck) {
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(ObserveAt(static_cast<int64_t>(i) * 4, i), Verdict::kNothing);
}

TEST_F(StuckWatchTest, OneSectionOfFiveMillisecondsIsTakenOverOnce) {
  EXPECT_EQ(ObserveAt(0, 7), Verdict::kNothing);
  EXPECT_EQ(ObserveAt(4, 7), Verdict::kNothing);
  EXPECT_EQ(ObserveAt(5, 7), Verdict::kTakeOver);
  EXPECT_EQ(ObserveAt(6, 7), Verdict::kTakeOver) << "it was in kernel code, and could not be taken over";
  watch_.TookOver();
  EXPECT_EQ(ObserveAt(7, 7), Verdict::kNothing);
  EXPECT_EQ(ObserveAt(100, 8), Verdict::kNothing) << "another section";
  EXPECT_EQ(ObserveAt(105, 8), Verdict::kTakeOver);
}

TEST_F(StuckWatchTest, IsNamedAfterASecondAndEachTimeItHasDoubled) {
  EXPECT_EQ(ObserveAt(0, 7), Verdict::kNothing);
  EXPECT_EQ(ObserveAt(10, 7), Verdict::kTakeOver);
  watch_.TookOver();
  std::vector<int64_t> named;
  for (int64_t time = 11; time <= 9000; ++time) {
    if (ObserveAt(time, 7) == Verdict::kNothing) continue;
    named.push_back(time);
    watch_.Named();
  }
  EXPECT_EQ(named, (std::vector<int64_t>{1000, 2000, 4000, 8000}));
  EXPECT_EQ(watch_.running(), absl::Seconds(9));
}

TEST_F(StuckWatchTest, AWorkerThatSleptBeginsAnew) {
  EXPECT_EQ(ObserveAt(0, 7), Verdict::kNothing);
  watch_.Reset();
  EXPECT_EQ(ObserveAt(50, 7), Verdict::kNothing);
  EXPECT_EQ(ObserveAt(54, 7), Verdict::kNothing);
  EXPECT_EQ(ObserveAt(55, 7), Verdict::kTakeOver);
}

TEST(ShortageWatchTest, IsReportedAtOnceAndEachTimeItHasLastedTwiceAsLong) {
  ShortageWatch watch(absl::Seconds(1));
  std::vector<int64_t> reported;
  for (int64_t time = 0; time <= 9000; ++time) {
    if (watch.Observe(time >= 10, MonotonicTime() + absl::Milliseconds(time))) reported.push_back(time);
  }
  EXPECT_EQ(reported, (std::vector<int64_t>{10, 1010, 2010, 4010, 8010}));
}

TEST(ShortageWatchTest, OneThatComesAndGoesIsReportedAtMostOnceInThatTime) {
  ShortageWatch watch(absl::Seconds(1));
  std::vector<int64_t> reported;
  for (int64_t time = 0; time < 3000; ++time) {
    if (watch.Observe(time % 2 == 0, MonotonicTime() + absl::Milliseconds(time))) reported.push_back(time);
  }
  EXPECT_EQ(reported, (std::vector<int64_t>{0, 1000, 2000}));
}

}  // namespace
}  // namespace understudy::internal
