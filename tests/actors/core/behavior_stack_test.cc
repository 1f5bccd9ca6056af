// BehaviorStack without an actor.
#include "understudy/actors/internal/turn/behavior_stack.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

BehaviorPtr Named(absl::string_view name) { return BehaviorPtr(BehaviorTable::Make(name, BehaviorDraft())); }

TEST(BehaviorStackTest, TheBehaviorSetLastIsEnteredNextAndOnce) {
  BehaviorStack stack;
  EXPECT_EQ(stack.next(), nullptr);
  const BehaviorPtr last = Named("last");
  stack.SetNext(Named("first"));
  stack.SetNext(last);
  EXPECT_EQ(stack.TakeNext(), last);
  EXPECT_EQ(stack.TakeNext(), nullptr);
}

TEST(BehaviorStackTest, PopGivesBackWhatLayBelowTheUppermostFirst) {
  BehaviorStack stack;
  const BehaviorPtr bottom = Named("bottom");
  const BehaviorPtr middle = Named("middle");
  const BehaviorPtr top = Named("top");
  ASSERT_TRUE(stack.Push(middle, bottom).ok());
  EXPECT_EQ(stack.TakeNext(), middle);
  ASSERT_TRUE(stack.Push(top, middle).ok());
  EXPECT_EQ(stack.TakeNext(), top);
  ASSERT_TRUE(stack.Pop().ok());
  EXPECT_EQ(stack.TakeNext(), middle);
  ASSERT_TRUE(stack.Pop().ok());
  EXPECT_EQ(stack.TakeNext(), bottom);
  EXPECT_TRUE(absl::IsFailedPrecondition(stack.Pop()));
}

TEST(BehaviorStackTest, ABehaviorIsPutOnTheOneThatWasToBeEntered) {
  BehaviorStack stack;
  const BehaviorPtr current = Named("current");
  const BehaviorPtr entered_next = Named("next");
  stack.SetNext(entered_next);
  ASSERT_TRUE(stack.Push(Named("top"), current).ok());
  ASSERT_TRUE(stack.Pop().ok());
  EXPECT_EQ(stack.TakeNext(), entered_next);
  EXPECT_TRUE(absl::IsFailedPrecondition(stack.Pop())) << "the current one does not lie below";
}

TEST(BehaviorStackTest, ThereMustBeABehaviorBelow) {
  BehaviorStack stack;
  EXPECT_TRUE(absl::IsFailedPrecondition(stack.Push(Named("top"), nullptr)));
  EXPECT_EQ(stack.next(), nullptr);
}

TEST(BehaviorStackTest, BeyondItsLimitAPushIsFullAndChangesNothing) {
  BehaviorStack stack;
  const BehaviorPtr current = Named("current");
  for (size_t i = 0; i < limits::kBehaviorsStackedMax; ++i) {
    ASSERT_TRUE(stack.Push(Named("one more"), current).ok());
    (void)stack.TakeNext();
  }
  EXPECT_EQ(ErrorKindOf(stack.Push(Named("too many"), current)), ErrorKind::kFull);
  EXPECT_EQ(stack.next(), nullptr);
  ASSERT_TRUE(stack.Pop().ok());
  EXPECT_TRUE(stack.Push(Named("again"), current).ok());
}

TEST(BehaviorStackTest, ClearLeavesNoBehaviorAndKeepsTheEpoch) {
  BehaviorStack stack;
  const uint64_t first = stack.epoch();
  stack.BeginEpoch();
  EXPECT_GT(stack.epoch(), first);
  const uint64_t second = stack.epoch();
  ASSERT_TRUE(stack.Push(Named("top"), Named("bottom")).ok());
  stack.Clear();
  EXPECT_EQ(stack.next(), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(stack.Pop()));
  EXPECT_EQ(stack.epoch(), second);
}

}  // namespace
}  // namespace understudy::internal
