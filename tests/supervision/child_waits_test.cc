#include "understudy/supervision/internal/child_waits.h"

#include "absl/types/optional.h"
#include "gtest/gtest.h"

namespace understudy {
namespace {

TEST(ChildTimers, TimerElapsesOnceForItsChild) {
  ChildTimers timers;
  const ChildTimers::TimerId timer = timers.Arm(5);
  const ChildTimers::TimerId other = timers.Arm(6);
  EXPECT_NE(timer, other);
  EXPECT_EQ(timers.Elapsed(timer), 5U);
  EXPECT_EQ(timers.Elapsed(timer), 0U);
  EXPECT_EQ(timers.Cancel(5), 0U) << "an elapsed timer needs no cancelling";
  EXPECT_EQ(timers.Elapsed(other), 6U);
}

TEST(ChildTimers, CancelledTimerIsUnknown) {
  ChildTimers timers;
  const ChildTimers::TimerId first = timers.Arm(5);
  EXPECT_EQ(timers.Cancel(5), first);
  EXPECT_EQ(timers.Cancel(5), 0U);
  const ChildTimers::TimerId second = timers.Arm(5);
  EXPECT_NE(second, first);
  EXPECT_EQ(timers.Elapsed(first), 0U);
  EXPECT_EQ(timers.Elapsed(second), 5U);
}

TEST(Predecessors, LifeStaysUntilItIsGone) {
  Predecessors predecessors;
  predecessors.Add("a", 3);
  EXPECT_TRUE(predecessors.Has("a"));
  EXPECT_FALSE(predecessors.Has("b"));
  EXPECT_EQ(predecessors.Gone(4), absl::nullopt);
  EXPECT_EQ(predecessors.Gone(3), "a");
  EXPECT_FALSE(predecessors.Has("a"));
  EXPECT_EQ(predecessors.Gone(3), absl::nullopt);
}

TEST(Predecessors, OnlyALifeThatLingersIsAPredecessorAndOnlyOnce) {
  Predecessors predecessors;
  predecessors.Lingers(3);
  EXPECT_TRUE(predecessors.EndedLingering(3));
  EXPECT_FALSE(predecessors.EndedLingering(3));
  predecessors.Lingers(4);
  EXPECT_FALSE(predecessors.EndedLingering(5));
  EXPECT_FALSE(predecessors.EndedLingering(4)) << "Lingers applies only to the next end";
}

}  // namespace
}  // namespace understudy
