#include "understudy/supervision/internal/ordered_plan.h"

#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"

namespace understudy {
namespace {

using Kind = OrderedPlan::Kind;

TEST(OrderedPlan, FirstStartBeginsWithTheFirstChild) {
  OrderedPlan plan(Kind::kFirstStart);
  EXPECT_FALSE(plan.is_stopping());
  EXPECT_TRUE(plan.Includes(1));
  EXPECT_TRUE(plan.WillStart(1));
  plan.MoveTo(1);
  plan.BeginsToStart(1);
  EXPECT_TRUE(plan.is_starting_one());
  EXPECT_TRUE(plan.WillStart(1)) << "the child is being started";
  plan.StartIsOver(1);
  EXPECT_FALSE(plan.is_starting_one());
  EXPECT_FALSE(plan.WillStart(1)) << "the start of the child is over";
  EXPECT_TRUE(plan.WillStart(2));
}

TEST(OrderedPlan, EndsOfOtherStartsDoNotMoveIt) {
  OrderedPlan plan(Kind::kFirstStart);
  plan.BeginsToStart(2);
  plan.StartIsOver(3);
  EXPECT_TRUE(plan.is_starting_one());
  EXPECT_EQ(plan.cursor(), 2U);
  plan.StartIsOver(2);
  plan.StartIsOver(3);
  EXPECT_EQ(plan.cursor(), 3U);
}

TEST(OrderedPlan, APlanThatIsTurnedBackStopsItsGroupAndThenStartsIt) {
  OrderedPlan plan(Kind::kGroup);
  plan.BeginsToStart(4);
  plan.TurnBack(2, 6);
  EXPECT_TRUE(plan.is_stopping());
  EXPECT_FALSE(plan.is_starting_one());
  EXPECT_EQ(plan.cursor(), 6U);
  EXPECT_FALSE(plan.Includes(1));
  EXPECT_TRUE(plan.WillStop(2));
  EXPECT_FALSE(plan.WillStop(1));
  EXPECT_TRUE(plan.WillStart(2)) << "the child is started after the stop";
  plan.HasStopped();
  EXPECT_FALSE(plan.WillStop(5));
  EXPECT_EQ(plan.cursor(), 2U);
  EXPECT_FALSE(plan.ends_when_stopped());
}

TEST(OrderedPlan, ACancelledPlanEndsAfterTheStartInHand) {
  OrderedPlan plan(Kind::kGroup);
  plan.BeginsToStart(1);
  plan.Cancel();
  EXPECT_FALSE(plan.is_abandoned());
  EXPECT_FALSE(plan.WillStart(2));
  plan.StartIsOver(1);
  EXPECT_TRUE(plan.is_abandoned());
  plan.TurnBack(1, 3);
  EXPECT_FALSE(plan.is_abandoned()) << "the new stop and start are not cancelled";
  EXPECT_TRUE(plan.WillStart(2));
}

TEST(OrderedPlan, StopOfAllIncludesEveryChildAndKeepsItsReason) {
  const OrderedPlan plan = OrderedPlan::StopAll(ExitReason::Shutdown(), 9);
  EXPECT_EQ(plan.kind(), Kind::kStopAll);
  EXPECT_EQ(plan.reason().kind(), ExitReason::Kind::kShutdown);
  EXPECT_EQ(plan.cursor(), 9U);
  EXPECT_TRUE(plan.WillStop(1));
  EXPECT_TRUE(plan.WillStop(8));
}

}  // namespace
}  // namespace understudy
