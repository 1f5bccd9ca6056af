// DueTimes without an actor, a clock or an executor.
#include "understudy/actors/internal/turn/due_times.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

MonotonicTime At(int64_t seconds) { return MonotonicTime::FromNanos(seconds * 1'000'000'000); }

TEST(DueTimesTest, TheTimerIsSetOnlyForATimeBeforeItsOwn) {
  DueTimes due;
  EXPECT_FALSE(due.MustSetTimer(MonotonicTime::InfiniteFuture())) << "nothing is due";
  EXPECT_TRUE(due.MustSetTimer(At(5)));
  EXPECT_EQ(due.TakeTimer(), 0) << "none was set";
  due.SetTimer(/*timer=*/7, At(5));
  EXPECT_FALSE(due.MustSetTimer(At(5)));
  EXPECT_FALSE(due.MustSetTimer(At(6))) << "its tick finds nothing due";
  EXPECT_TRUE(due.MustSetTimer(At(4)));
  EXPECT_EQ(due.TakeTimer(), 7);
  due.SetTimer(/*timer=*/8, At(4));
  EXPECT_FALSE(due.MustSetTimer(At(5)));
}

TEST(DueTimesTest, ATimerThatFiredIsNotSetAnyMore) {
  DueTimes due;
  due.SetTimer(/*timer=*/7, At(5));
  due.TimerFired();
  EXPECT_TRUE(due.MustSetTimer(At(6)));
  EXPECT_EQ(due.TakeTimer(), 0);
}

TEST(DueTimesTest, ExpiryComesOnceAndNotBeforeItsTime) {
  DueTimes due;
  EXPECT_FALSE(due.TakeExpiry(At(100)));
  due.SetExpiry(At(5));
  EXPECT_EQ(due.expiry(), At(5));
  EXPECT_FALSE(due.TakeExpiry(At(4)));
  EXPECT_TRUE(due.TakeExpiry(At(5)));
  EXPECT_FALSE(due.TakeExpiry(At(6)));
  EXPECT_TRUE(due.expiry().is_infinite());
}

}  // namespace
}  // namespace understudy::internal
