#include "understudy/transport/gateway/call_budget.h"

#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

constexpr CallBudget::Bounds kBounds = {
    .calls_max = 2, .streams_max = 1, .requests_bytes_max = 10, .replies_bytes_max = 5};

TEST(CallBudgetTest, CallsAndBytesAreBoundedAndARefusedCallTakesNothing) {
  CallBudget budget(kBounds);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
  EXPECT_TRUE(budget.AddRequest(8).ok());
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
  EXPECT_EQ(budget.AddRequest(3).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(budget.AddRequest(2).ok());
  EXPECT_EQ(budget.Admit(CallKind::kUnary).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.under_way(), 2);
  budget.Release(CallKind::kUnary, 8);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
  EXPECT_TRUE(budget.AddRequest(8).ok());
  EXPECT_EQ(budget.admitted(), 3);
  EXPECT_EQ(budget.refused(), 2);
}

TEST(CallBudgetTest, RepliesHaveABoundOfTheirOwnUntilTheirCallsAreOver) {
  CallBudget budget(kBounds);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
  EXPECT_TRUE(budget.AddRequest(10).ok());
  EXPECT_TRUE(budget.AddReply(5).ok());
  EXPECT_EQ(budget.AddReply(1).message(),
            "the actor has handled the call, but with its reply of 1 bytes the clients would have more than 5 bytes of "
            "replies to take, the most that the gateway keeps");
  budget.Release(CallKind::kUnary, 10, 5);
  EXPECT_TRUE(budget.AddReply(5).ok());
}

TEST(CallBudgetTest, StreamsCountAsCallsAndHaveABoundOfTheirOwn) {
  CallBudget budget(kBounds);
  EXPECT_TRUE(budget.Admit(CallKind::kStream).ok());
  const absl::Status second = budget.Admit(CallKind::kStream);
  EXPECT_EQ(second.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(second.message(), "the gateway has 1 streams under way, the most that it takes at once");
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
  EXPECT_EQ(budget.Admit(CallKind::kUnary).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.under_way(), 2);
  EXPECT_EQ(budget.streams(), 1);
  budget.Release(CallKind::kStream, 0);
  EXPECT_TRUE(budget.Admit(CallKind::kStream).ok());
}

TEST(CallBudgetTest, StreamsAreRefusedAndTheLastOneIsAwaited) {
  CallBudget budget(kBounds);
  EXPECT_TRUE(budget.Admit(CallKind::kStream).ok());
  budget.RefuseStreams(absl::Milliseconds(1));
  EXPECT_EQ(budget.streams(), 1);
  std::thread release([&] { budget.Release(CallKind::kStream, 0); });
  budget.RefuseStreams(absl::InfiniteDuration());
  EXPECT_EQ(budget.streams(), 0);
  release.join();
  const absl::Status refused = budget.Admit(CallKind::kStream);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "the gateway is draining");
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
}

TEST(CallBudgetTest, WhoeverSeesNoCallFindsNoStream) {
  CallBudget budget({.calls_max = 1, .streams_max = 1});
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(budget.Admit(CallKind::kStream).ok());
    std::thread release([&] { budget.Release(CallKind::kStream, 0); });
    while (budget.under_way() > 0) std::this_thread::yield();
    EXPECT_EQ(budget.streams(), 0);
    release.join();
  }
}

TEST(CallBudgetTest, FurtherBytesOfACallAreBoundedWithThoseOfAllCalls) {
  CallBudget budget(kBounds);
  EXPECT_TRUE(budget.Admit(CallKind::kUnary).ok());
  EXPECT_TRUE(budget.AddRequest(4).ok());
  EXPECT_TRUE(budget.Admit(CallKind::kStream).ok());
  EXPECT_TRUE(budget.AddRequest(6).ok());
  EXPECT_EQ(budget.AddRequest(1).code(), absl::StatusCode::kResourceExhausted);
  budget.ReleaseRequest(3);
  EXPECT_TRUE(budget.AddRequest(3).ok());
  budget.Release(CallKind::kStream, 6);
  EXPECT_TRUE(budget.AddRequest(6).ok());
}

}  // namespace
}  // namespace understudy::internal
