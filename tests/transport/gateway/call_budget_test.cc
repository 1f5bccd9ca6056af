#include "understudy/transport/gateway/call_budget.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

TEST(CallBudgetTest, CallsAndBytesAreBoundedAndARefusedCallTakesNothing) {
  CallBudget budget(/*calls_max=*/2, /*bytes_max=*/10);
  EXPECT_TRUE(budget.Admit(8).ok());
  EXPECT_EQ(budget.Admit(3).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(budget.Admit(2).ok());
  EXPECT_EQ(budget.Admit(0).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.under_way(), 2);
  budget.Release(8);
  EXPECT_TRUE(budget.Admit(8).ok());
  EXPECT_EQ(budget.admitted(), 3);
  EXPECT_EQ(budget.refused(), 2);
}

}  // namespace
}  // namespace understudy::internal
