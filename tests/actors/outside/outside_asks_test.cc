#include "understudy/actors/internal/asks/outside_asks.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/test_system.h"

namespace understudy::internal {
namespace {

// The code outside of the actor that answers its asks.
struct Outside {
  std::shared_ptr<OutsideAsks> asks;
  std::vector<PendingId> begun;
  absl::optional<absl::Status> seen;  // what the last handler got
};

// Answers a call with the answer that comes from outside within an hour.
class Worker final : public Actor {
 public:
  Mailbox<"work", Call<int, int>> work{this};
  explicit Worker(Outside* outside) : outside_(*outside) {}
  ~Worker() override { outside_.asks->Close(); }

 private:
  StartResult Start() override {
    outside_.asks = std::make_shared<OutsideAsks>(context().core());
    return working_;
  }
  Task<absl::StatusOr<int>> Work(const int& /*job*/) {
    outside_.begun.push_back(outside_.asks->Begin(context().Now() + absl::Hours(1)));
    const Pending<int> pending(outside_.begun.back());
    absl::StatusOr<int> result = co_await pending;
    outside_.seen = result.status();
    co_return result;
  }

  Outside& outside_;
  Behavior working_{"working", On(work, &Worker::Work).Interleaved()};
};

class OutsideAsksTest : public ::testing::Test {
 protected:
  // Begins a call of the worker, and lets its handler begin the ask.
  AskHandle Begin(absl::Duration timeout) {
    AskHandle asked = system.Ask(worker[&Worker::work], 1, timeout,
                                 [this](absl::StatusOr<int> answer) { answered = std::move(answer); });
    system.RunUntilIdle();
    EXPECT_EQ(outside.begun.size(), 1U);
    return asked;
  }

  Outside outside;
  absl::optional<absl::StatusOr<int>> answered;
  TestSystem system;
  const Ref<Worker> worker = system.Spawn<Worker>(&outside);
};

TEST_F(OutsideAsksTest, AnAnswerFromOutsideIsTheAsks) {
  Begin(absl::Hours(2));
  outside.asks->Answer(outside.begun[0], 7);
  system.RunUntilIdle();
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(**answered, 7);
  EXPECT_EQ(system.late_replies(), 0);
}

TEST_F(OutsideAsksTest, WithoutAnAnswerTheAskExpiresAndALateOneIsCounted) {
  Begin(absl::Hours(2));
  system.Advance(absl::Hours(1));
  ASSERT_TRUE(outside.seen.has_value());
  EXPECT_TRUE(IsExpired(*outside.seen)) << *outside.seen;
  outside.asks->Answer(outside.begun[0], 7);
  system.RunUntilIdle();
  EXPECT_EQ(system.late_replies(), 1);
}

TEST_F(OutsideAsksTest, TheDeadlineOfTheCallInHandHoldsIfItIsEarlier) {
  Begin(absl::Minutes(1));
  system.Advance(absl::Minutes(1));
  ASSERT_TRUE(outside.seen.has_value());
  EXPECT_TRUE(IsExpired(*outside.seen)) << *outside.seen;
}

TEST_F(OutsideAsksTest, CancellingTheCallInHandCancelsTheAsk) {
  const AskHandle asked = Begin(absl::Hours(2));
  EXPECT_TRUE(asked.Cancel());
  system.RunUntilIdle();
  ASSERT_TRUE(outside.seen.has_value());
  EXPECT_TRUE(understudy::IsCancelled(*outside.seen)) << *outside.seen;
}

TEST_F(OutsideAsksTest, AfterTheEndOfTheActorAnAnswerDoesNothing) {
  Begin(absl::Hours(2));
  system.Exit(worker.pid(), ExitReason::Shutdown());
  system.RunUntilIdle();
  outside.asks->Answer(outside.begun[0], 7);
  system.RunUntilIdle();
  EXPECT_EQ(system.late_replies(), 0);
  ASSERT_TRUE(answered.has_value());
  EXPECT_TRUE(IsCalleeExited(answered->status())) << answered->status();
}

}  // namespace
}  // namespace understudy::internal
