// PausableExecutor: while a simulated process is paused, its turns and timers wait; the other processes of the executor
// go on.
#include "understudy/actors/pausable_executor.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records each text that it gets, and a second later the event of a timer.
class Diarist final : public Actor {
 public:
  Mailbox<"diarist/write", std::string> write{this};

  explicit Diarist(std::vector<std::string>* diary) : diary_(diary) {}
  StartResult Start() override { return behavior_; }

 private:
  void Write(const std::string& line) {
    diary_->push_back(line);
    (void)context().StartTimer("later", absl::Seconds(1), [this](const TimerEvent&) { diary_->push_back("timer"); });
  }

  std::vector<std::string>* const diary_;
  Behavior behavior_{"diarist", On(write, &Diarist::Write)};
};

class PausableExecutorTest : public ::testing::Test {
 protected:
  SeededExecutor executor_{1};
  PausableExecutor of_a_{executor_};
  PausableExecutor of_b_{executor_};
  TestSystem a_{executor_, of_a_, 1, "a"};
  TestSystem b_{executor_, of_b_, 2, "b"};
  std::vector<std::string> diary_of_a_;
  std::vector<std::string> diary_of_b_;
  Ref<Diarist> actor_of_a_ = a_.Spawn<Diarist>(&diary_of_a_);
  Ref<Diarist> actor_of_b_ = b_.Spawn<Diarist>(&diary_of_b_);
};

TEST_F(PausableExecutorTest, TurnsWaitUntilItIsResumed) {
  of_a_.Pause();
  actor_of_a_[&Diarist::write].Tell("hello");
  actor_of_b_[&Diarist::write].Tell("hello");
  executor_.Advance(absl::Seconds(10));
  EXPECT_THAT(diary_of_a_, IsEmpty());
  EXPECT_THAT(diary_of_b_, ElementsAre("hello", "timer"));
  of_a_.Resume();
  executor_.RunUntilIdle();
  EXPECT_THAT(diary_of_a_, ElementsAre("hello"));
  executor_.Advance(absl::Seconds(10));
  EXPECT_THAT(diary_of_a_, ElementsAre("hello", "timer"));
}

TEST_F(PausableExecutorTest, TimersThatFallDueMeanwhileComeAfterwards) {
  actor_of_a_[&Diarist::write].Tell("hello");
  executor_.RunUntilIdle();
  of_a_.Pause();
  executor_.Advance(absl::Seconds(10));
  EXPECT_THAT(diary_of_a_, ElementsAre("hello"));
  of_a_.Resume();
  executor_.RunUntilIdle();
  EXPECT_THAT(diary_of_a_, ElementsAre("hello", "timer"));
}

TEST_F(PausableExecutorTest, ATimerIsCancelledOnceWhetherItIsDueOrNot) {
  int fired = 0;
  const auto in = [&](absl::Duration delay) {
    return of_a_.RunAt(executor_.clock().Now() + delay, [&fired] { ++fired; });
  };
  const uint64_t early = in(absl::Seconds(1));
  const uint64_t late = in(absl::Seconds(20));
  of_a_.Pause();
  executor_.Advance(absl::Seconds(10));
  EXPECT_TRUE(of_a_.Cancel(early));
  EXPECT_FALSE(of_a_.Cancel(early));
  EXPECT_TRUE(of_a_.Cancel(late));
  of_a_.Resume();
  const uint64_t fires = in(absl::Seconds(1));
  executor_.Advance(absl::Seconds(20));
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(of_a_.Cancel(fires));
}

}  // namespace
}  // namespace understudy
