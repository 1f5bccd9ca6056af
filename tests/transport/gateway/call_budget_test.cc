#include "understudy/transport/gateway/call_budget.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

TEST(CallBudgetTest, CallsAndBytesAreBoundedAndARefusedCallTakesNothing) {
  CallBudget budget(/*calls_max=*/2, /*streams_max=*/1, /*bytes_max=*/10);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 8).ok());
  EXPECT_EQ(budget.Admit(CallKind::kUnary, 3).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 2).ok());
  EXPECT_EQ(budget.Admit(CallKind::kUnary, 0).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.under_way(), 2);
  budget.Release(CallKind::kUnary, 8);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 8).ok());
  EXPECT_EQ(budget.admitted(), 3);
  EXPECT_EQ(budget.refused(), 2);
}

TEST(CallBudgetTest, StreamsCountAsCallsAndHaveABoundOfTheirOwn) {
  CallBudget budget(/*calls_max=*/2, /*streams_max=*/1, /*bytes_max=*/10);
  EXPECT_TRUE(budget.Admit(CallKind::kStream, 1).ok());
  const absl::Status second = budget.Admit(CallKind::kStream, 1);
  EXPECT_EQ(second.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(second.message(), "the gateway has 1 streams under way, the most that it takes at once");
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 1).ok());
  EXPECT_EQ(budget.Admit(CallKind::kUnary, 1).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.under_way(), 2);
  EXPECT_EQ(budget.streams(), 1);
  budget.Release(CallKind::kStream, 1);
  EXPECT_TRUE(budget.Admit(CallKind::kStream, 9).ok());
}

}  // namespace
}  // namespace understudy::internal
