#include "understudy/supervision/internal/predecessor_watch.h"

#include <vector>

#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

TEST(PredecessorWatch, LifeIsDueAgainEachTimeItsMonitorFires) {
  PredecessorWatch watch;
  watch.Add({.life = 1, .child = "a", .key = "a"});
  watch.Add({.life = 2, .child = "b", .key = "b"});
  std::vector<Predecessor> due = watch.TakeDue();
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].life, 1U);
  EXPECT_TRUE(watch.TakeDue().empty());
  watch.Await(due[0], 11);
  watch.Await(due[1], 12);
  EXPECT_TRUE(watch.TakeDue().empty());
  EXPECT_FALSE(watch.Fired(13)) << "the monitor is not one of this watch";
  EXPECT_TRUE(watch.Fired(12));
  EXPECT_FALSE(watch.Fired(12));
  due = watch.TakeDue();
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].life, 2U);
  EXPECT_EQ(due[0].child, "b");
  watch.Await(due[0], 14);
  EXPECT_TRUE(watch.Fired(14)) << "the same life has left another actor";
  EXPECT_TRUE(watch.Fired(11));
}

}  // namespace
}  // namespace understudy::internal
