#include "understudy/supervision/internal/plan_timers.h"

#include <cstdint>

#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

MonotonicTime At(int seconds) { return MonotonicTime::FromNanos(int64_t{1000000000} * seconds); }

TEST(PlanTimers, AreDueInOrderOfTimeAndThenOfArming) {
  PlanTimers timers;
  timers.Arm(1, At(5));
  timers.Arm(2, At(3));
  timers.Arm(3, At(5));
  EXPECT_EQ(timers.PopDue(At(2)), absl::nullopt);
  EXPECT_EQ(timers.PopDue(At(5)), 2U);
  EXPECT_EQ(timers.PopDue(At(5)), 1U);
  EXPECT_EQ(timers.PopDue(At(5)), 3U);
  EXPECT_EQ(timers.PopDue(At(9)), absl::nullopt);
}

TEST(PlanTimers, CancelledTimerIsNeverDue) {
  PlanTimers timers;
  timers.Arm(1, At(1));
  timers.Arm(2, At(2));
  timers.Cancel(1);
  timers.Cancel(1);
  EXPECT_EQ(timers.PopDue(At(3)), 2U);
  timers.Cancel(2);
  EXPECT_EQ(timers.PopDue(At(3)), absl::nullopt);
}

TEST(PlanTimers, ActorsTimerIsSetOnlyToComeEarlier) {
  PlanTimers timers;
  EXPECT_EQ(timers.TakeToArm(), absl::nullopt);
  timers.Arm(1, At(5));
  EXPECT_EQ(timers.TakeToArm(), At(5));
  EXPECT_EQ(timers.TakeToArm(), absl::nullopt) << "the timer is already set";
  timers.Arm(2, At(7));
  EXPECT_EQ(timers.TakeToArm(), absl::nullopt);
  timers.Arm(3, At(2));
  EXPECT_EQ(timers.TakeToArm(), At(2));
  timers.Cancel(3);
  EXPECT_EQ(timers.TakeToArm(), absl::nullopt) << "the timer may fire early";
  timers.Came();
  EXPECT_EQ(timers.TakeToArm(), At(5));
}

}  // namespace
}  // namespace understudy::internal
