// ActorSystem::Ask with a callback, and AskHandle.
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers a positive number with the number plus one, keeps the Replier of a negative number until it gets `answer`,
// and fails at zero.
class Oracle final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  Mailbox<"answer", int> answer{this};
  StartResult Start() override { return answering_; }

 private:
  void OnAsk(int n, Replier<int> replier) {
    if (n == 0) {
      (void)Fail(absl::DataLossError("zero"));
    } else if (n < 0) {
      kept_.push_back(std::move(replier));
    } else {
      replier.Reply(n + 1);
    }
  }
  void OnAnswer(int n) {
    for (Replier<int>& replier : std::exchange(kept_, {})) replier.Reply(n);
  }
  std::vector<Replier<int>> kept_;
  Behavior answering_{"answering", On(ask, &Oracle::OnAsk), On(answer, &Oracle::OnAnswer)};
};

using Outcome = absl::StatusOr<int>;

class CallbackAskTest : public ActorTest {
 protected:
  AskHandle Start(int n, absl::Duration timeout = absl::Seconds(1)) {
    return system().Ask(oracle_[&Oracle::ask], n, timeout, [this](Outcome outcome) { outcomes_.push_back(outcome); });
  }

  Ref<Oracle> oracle_ = system().Spawn<Oracle>();
  std::vector<Outcome> outcomes_;
};

TEST_F(CallbackAskTest, TheCallbackIsGivenTheAnswerAndMayAskAgain) {
  std::vector<int> answers;
  system().Ask(oracle_[&Oracle::ask], 1, absl::Seconds(1), [&](Outcome first) {
    answers.push_back(*first);
    system().Ask(oracle_[&Oracle::ask], *first, absl::Seconds(1), [&](Outcome second) { answers.push_back(*second); });
  });
  EXPECT_THAT(answers, ElementsAre());
  system().RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre(2, 3));
}

TEST_F(CallbackAskTest, ItIsGivenTheErrorThatABlockingAskReturns) {
  Start(-1);
  system().Advance(absl::Milliseconds(999));
  EXPECT_THAT(outcomes_, ElementsAre());
  system().Advance(absl::Milliseconds(1));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_TRUE(IsExpired(outcomes_[0].status())) << outcomes_[0].status();
  Start(0);
  system().RunUntilIdle();
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_TRUE(IsCalleeExited(outcomes_[1].status())) << outcomes_[1].status();
  Start(1);
  system().RunUntilIdle();
  ASSERT_EQ(outcomes_.size(), 3U);
  EXPECT_TRUE(IsNoProcess(outcomes_[2].status())) << outcomes_[2].status();
}

TEST_F(CallbackAskTest, CancelBeforeTheAnswerIsTheOutcomeAndTakesTheCallBack) {
  const AskHandle asked = Start(-1);
  system().RunUntilIdle();
  EXPECT_TRUE(asked.Cancel());
  EXPECT_FALSE(asked.Cancel());
  oracle_[&Oracle::answer].Tell(7);
  system().RunUntilIdle();
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_TRUE(understudy::IsCancelled(outcomes_[0].status())) << outcomes_[0].status();

  const AskHandle at_once = Start(1);
  EXPECT_TRUE(at_once.Cancel());
  system().RunUntilIdle();
  EXPECT_EQ(outcomes_.size(), 2U);
  EXPECT_TRUE(understudy::IsCancelled(outcomes_[1].status())) << outcomes_[1].status();

  const AskHandle answered = Start(1);
  system().RunUntilIdle();
  EXPECT_FALSE(answered.Cancel());
  EXPECT_EQ(*outcomes_[2], 2);
  EXPECT_FALSE(AskHandle().Cancel());
}

TEST(CallbackAskSeedsTest, CancelReturnsTrueIfAndOnlyIfTheOutcomeIsCancelled) {
  int cancelled = 0;
  ForEachSeed(200, [&](uint64_t seed) {
    TestSystem system(seed);
    const Ref<Oracle> oracle = system.Spawn<Oracle>();
    std::optional<Outcome> outcome;
    int calls = 0;
    const AskHandle asked = system.Ask(oracle[&Oracle::ask], 1, absl::Seconds(1), [&](Outcome given) {
      ++calls;
      outcome = std::move(given);
    });
    for (uint64_t step = 0; step < seed % 8; ++step) system.seeded_executor().RunOne();
    const bool is_cancelled = asked.Cancel();
    cancelled += is_cancelled ? 1 : 0;
    system.RunUntilIdle();
    ASSERT_EQ(calls, 1);
    EXPECT_EQ(understudy::IsCancelled(outcome->status()), is_cancelled) << outcome->status();
    ExpectNothingLost(system);
  });
  EXPECT_GT(cancelled, 0);
  EXPECT_LT(cancelled, RoundsOf(200));
}

TEST_F(CallbackAskTest, ACallbackThatBlocksIsNamedAndHoldsUpNobody) {
  system().Ask(oracle_[&Oracle::ask], 1, absl::Seconds(1), [&](Outcome) {
    Start(5);
    system().seeded_executor().HoldHere(absl::Seconds(2));
    EXPECT_EQ(outcomes_.size(), 1U);
  });
  system().RunUntilIdle();
  EXPECT_THAT(system().seeded_executor().long_handlers(),
              ElementsAre("the callback of an ask to " + oracle_.pid().ToString()));
}

TEST_F(CallbackAskTest, DuringShutdownAsksGoOnAndAfterItTheOutcomeIsCancelled) {
  Start(-1, absl::Hours(1));
  system().RunUntilIdle();
  EXPECT_TRUE(system().Shutdown(absl::Seconds(1)));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_TRUE(IsCalleeExited(outcomes_[0].status())) << outcomes_[0].status();
  const AskHandle late = Start(1);
  system().RunUntilIdle();
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_TRUE(understudy::IsCancelled(outcomes_[1].status())) << outcomes_[1].status();
  EXPECT_FALSE(late.Cancel());
}

TEST(CallbackAskThreadsTest, AsksAreBoundedByActorsMax) {
  ActorSystem system({.actors_max = 3});
  const Ref<Oracle> oracle = system.Spawn<Oracle>();
  absl::Notification refused;
  std::atomic<int> accepted{0};
  for (int i = 0; i < 2; ++i) {
    system.Ask(oracle[&Oracle::ask], -1, absl::Hours(1),
               [&](Outcome outcome) { accepted += IsFull(outcome.status()) ? 0 : 1; });
  }
  system.Ask(oracle[&Oracle::ask], 1, absl::Hours(1), [&](Outcome outcome) {
    EXPECT_TRUE(IsFull(outcome.status())) << outcome.status();
    refused.Notify();
  });
  refused.WaitForNotification();
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  EXPECT_EQ(accepted, 2);
}

TEST(CallbackAskThreadsTest, EachCallbackRunsOnceBeforeTheSystemIsDestroyedWhoeverCancels) {
  constexpr int kAsks = 2000;
  for (int round = 0; round < RoundsOf(5); ++round) {
    std::vector<AskHandle> handles;
    std::vector<std::atomic<int>> calls(kAsks);
    std::atomic<int> cancelled{0};
    int cancels = 0;
    {
      ActorSystem system;
      const Ref<Oracle> oracle = system.Spawn<Oracle>();
      for (int i = 0; i < kAsks; ++i) {
        handles.push_back(
            system.Ask(oracle[&Oracle::ask], i % 3 == 0 ? -1 : 1, absl::Hours(1), [&, i](Outcome outcome) {
              ++calls[static_cast<size_t>(i)];
              if (understudy::IsCancelled(outcome.status())) ++cancelled;
            }));
        if (i % 2 == 1) cancels += handles[static_cast<size_t>(i / 2)].Cancel() ? 1 : 0;
      }
    }
    for (const std::atomic<int>& called : calls) ASSERT_EQ(called, 1);
    EXPECT_EQ(cancelled, cancels);
    EXPECT_GT(cancels, 0);
    for (const AskHandle& handle : handles) EXPECT_FALSE(handle.Cancel());  // also when its system has ended
  }
}

#if defined(__cpp_exceptions)
TEST(CallbackAskDeathTest, AnExceptionInACallbackEndsTheProcess) {
  EXPECT_DEATH(
      {
        TestSystem system;
        const Ref<Oracle> oracle = system.Spawn<Oracle>();
        system.Ask(oracle[&Oracle::ask], 1, absl::Seconds(1), [](Outcome) { throw std::runtime_error("boom"); });
        system.RunUntilIdle();
      },
      "boom");
}
#endif

TEST(CallbackAskDeathTest, ABlockingAskInACallbackIsACheck) {
  EXPECT_DEATH(
      {
        TestSystem system;
        const Ref<Oracle> oracle = system.Spawn<Oracle>();
        system.Ask(oracle[&Oracle::ask], 1, absl::Seconds(1),
                   [&](Outcome) { (void)system.Ask(oracle[&Oracle::ask], 1, absl::Seconds(1)); });
        system.RunUntilIdle();
      },
      "a turn would run within a turn");
}

}  // namespace
}  // namespace understudy
