#include "understudy/transport/gateway/call_budget.h"

#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
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

TEST(CallBudgetTest, StreamsAreRefusedAndTheLastOneIsAwaited) {
  CallBudget budget(/*calls_max=*/2, /*streams_max=*/1, /*bytes_max=*/10);
  EXPECT_TRUE(budget.Admit(CallKind::kStream, 1).ok());
  budget.RefuseStreams(absl::Milliseconds(1));
  EXPECT_EQ(budget.streams(), 1);
  std::thread release([&] { budget.Release(CallKind::kStream, 1); });
  budget.RefuseStreams(absl::InfiniteDuration());
  EXPECT_EQ(budget.streams(), 0);
  release.join();
  const absl::Status refused = budget.Admit(CallKind::kStream, 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "the gateway is draining");
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 1).ok());
}

TEST(CallBudgetTest, WhoeverSeesNoCallFindsNoStream) {
  CallBudget budget(/*calls_max=*/1, /*streams_max=*/1, /*bytes_max=*/10);
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(budget.Admit(CallKind::kStream, 1).ok());
    std::thread release([&] { budget.Release(CallKind::kStream, 1); });
    while (budget.under_way() > 0) std::this_thread::yield();
    EXPECT_EQ(budget.streams(), 0);
    release.join();
  }
}

TEST(CallBudgetTest, FurtherBytesOfACallAreBoundedWithThoseOfAllCalls) {
  CallBudget budget(/*calls_max=*/2, /*streams_max=*/1, /*bytes_max=*/10);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 4).ok());
  EXPECT_TRUE(budget.Admit(CallKind::kStream, 0).ok());
  EXPECT_TRUE(budget.AddBytes(6).ok());
  EXPECT_EQ(budget.AddBytes(1).code(), absl::StatusCode::kResourceExhausted);
  budget.ReleaseBytes(3);
  EXPECT_TRUE(budget.AddBytes(3).ok());
  budget.Release(CallKind::kStream, 6);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary, 6).ok());
}

}  // namespace
}  // namespace understudy::internal
