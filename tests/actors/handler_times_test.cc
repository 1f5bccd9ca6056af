// Which runs of handlers are timed, and how their times are kept and told.
#include "understudy/actors/handler_times.h"

#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/internal/scheduling/handler_timer.h"
#include "understudy/actors/internal/system/handler_sketches.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

using internal::HandlerKind;
using internal::HandlerSketches;
using internal::HandlerTimer;

TEST(HandlerTimerTest, OneOf128RunsIsTimedAndTheFirst) {
  HandlerTimer timer;
  int timed = 0;
  constexpr int kRuns = 128'000;
  for (int run = 0; run < kRuns; ++run) {
    const bool is_due = timer.IsDue();
    EXPECT_TRUE(is_due || run != 0);
    if (!is_due) continue;
    ++timed;
    timer.Begin(MonotonicTime(), {});
    EXPECT_TRUE(timer.is_timing());
    EXPECT_EQ(timer.End(MonotonicTime() + absl::Milliseconds(3)).second, absl::Milliseconds(3));
    EXPECT_FALSE(timer.is_timing());
  }
  EXPECT_NEAR(timed, kRuns / 128, 100);
}

TEST(HandlerTimerTest, WithTimeAllEachRunIsTimedAndOneOf128IsASample) {
  HandlerTimer timer;
  timer.TimeAll();
  int samples = 0;
  constexpr int kRuns = 128'000;
  MonotonicTime now;
  for (int run = 0; run < kRuns; ++run) {
    ASSERT_TRUE(timer.IsDue());
    now = now + absl::Milliseconds(1);
    timer.Begin(now, {});
    EXPECT_EQ(timer.noted(), now);
    if (timer.is_sample()) ++samples;
    now = now + absl::Milliseconds(1);
    (void)timer.End(now);
    EXPECT_EQ(timer.noted(), now);
  }
  EXPECT_NEAR(samples, kRuns / 128, 100);
}

TEST(HandlerTimerTest, OneOfTheFirstFourRunsAfterASleepIsTimed) {
  HandlerTimer timer;
  for (int sleep = 0; sleep < 1000; ++sleep) {
    timer.Woke();
    int runs = 1;
    for (; !timer.IsDue(); ++runs) {
    }
    EXPECT_LE(runs, 4);
    timer.Begin(MonotonicTime(), {});
    (void)timer.End(MonotonicTime());
  }
}

TEST(TimeSketchTest, ATimeIsInTheBucketOfTheNextBound) {
  TimeSketch sketch;
  for (const int64_t micros : {1, 2, 900, 1000}) sketch.Add(absl::Microseconds(micros));
  sketch.Add(absl::Minutes(1));
  EXPECT_EQ(sketch.buckets[0], 1) << "a bound is in its own bucket";
  EXPECT_EQ(sketch.buckets[1], 1);
  EXPECT_EQ(sketch.buckets[3], 2);
  EXPECT_EQ(sketch.buckets.back(), 1);
  EXPECT_EQ(sketch.samples, 5);
  EXPECT_EQ(sketch.sum, absl::Minutes(1) + absl::Microseconds(1903));
  EXPECT_EQ(sketch.longest, absl::Minutes(1));
  EXPECT_EQ(sketch.AtMost(0.4), absl::Microseconds(10));
  EXPECT_EQ(sketch.AtMost(0.8), absl::Milliseconds(1));
  EXPECT_EQ(sketch.AtMost(1), absl::Minutes(1));
  EXPECT_EQ(TimeSketch().AtMost(0.5), absl::ZeroDuration());
  TimeSketch both = sketch;
  both += sketch;
  EXPECT_EQ(both.samples, 10);
  EXPECT_EQ(both.buckets[3], 4);
}

TEST(HandlerSketchesTest, KindsBeyondTheBoundAreKeptTogether) {
  HandlerSketches sketches;
  const std::vector<char> mailboxes(limits::kHandlerKindsMax + 20);
  for (const char& mailbox : mailboxes) sketches.Add(nullptr, {&typeid(int), &mailbox}, absl::Milliseconds(1));
  const auto sum = sketches.Sum();
  EXPECT_EQ(sum.size(), limits::kHandlerKindsMax + 1);
  EXPECT_EQ(sum.at(HandlerKind()).samples, 20);
}

class Clerk final : public Actor {
 public:
  explicit Clerk(SeededExecutor* executor) : executor_(executor) {}
  Mailbox<"file", int> file{this};
  Mailbox<"shred", int> shred{this};
  StartResult Start() override { return working_; }

 private:
  void File(int) { executor_->HoldHere(absl::Milliseconds(20)); }
  void Shred(int) { executor_->HoldHere(absl::Milliseconds(1)); }

  SeededExecutor* const executor_;
  Behavior working_{"working", On(file, &Clerk::File), On(shred, &Clerk::Shred),
                    Every(absl::Seconds(1), [](const TimerEvent&) {})};
};

TEST(HandlerTimesTest, TheyAreToldByClassAndMailboxTheMostTimeFirst) {
  SeededExecutor executor(1);
  ActorSystem system({.name = "desk", .executor = &executor, .seed = 1, .log = &LogSink::Null()});
  EXPECT_TRUE(HandlerTimesOf(system).empty());
  const Ref<Clerk> clerk = system.Spawn<Clerk>(&executor);
  for (int round = 0; round < 2000; ++round) {
    clerk[&Clerk::file].Tell(1);
    clerk[&Clerk::shred].Tell(1);
    executor.RunUntilIdle();
    executor.Advance(absl::Seconds(1));
  }
  const std::vector<HandlerTimes> times = HandlerTimesOf(system);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_THAT(times[0].class_name, ::testing::EndsWith("Clerk"));
  EXPECT_EQ(times[0].mailbox, "file");
  EXPECT_EQ(times[0].times.longest, absl::Milliseconds(20));
  EXPECT_EQ(times[0].times.sum, times[0].times.samples * absl::Milliseconds(20));
  EXPECT_NEAR(static_cast<double>(times[0].times.samples), 2000.0 / 128, 12);
  EXPECT_EQ(times[1].mailbox, "shred");
  EXPECT_EQ(times[1].times.longest, absl::Milliseconds(1));
  EXPECT_EQ(times[2].mailbox, "(event)");
}

struct Pass {
  int value = 0;
};

class Waiting final : public Actor {
 public:
  explicit Waiting(SeededExecutor* executor) : executor_(executor) {}
  Mailbox<"wait", Pass> wait{this};
  StartResult Start() override { return open_; }

 private:
  Task<> Wait(Pass) {
    executor_->HoldHere(absl::Milliseconds(2));
    (void)co_await context().Sleep(absl::Seconds(100));
    executor_->HoldHere(absl::Milliseconds(5));
  }
  SeededExecutor* const executor_;
  Behavior open_{"open", On(wait, &Waiting::Wait)};
};

TEST(HandlerTimesTest, TheTimeOfAnAwaitCountsForNoHandler) {
  SeededExecutor executor(1);
  ActorSystem system({.name = "desk", .executor = &executor, .seed = 1, .log = &LogSink::Null()});
  const Ref<Waiting> waiting = system.Spawn<Waiting>(&executor);
  for (int round = 0; round < 1000; ++round) {
    waiting[&Waiting::wait].Tell(Pass());
    executor.Advance(absl::Seconds(101));
  }
  const std::vector<HandlerTimes> times = HandlerTimesOf(system);
  ASSERT_FALSE(times.empty());
  EXPECT_EQ(times[0].mailbox, "wait");
  EXPECT_EQ(times[0].times.longest, absl::Milliseconds(5));
}

}  // namespace
}  // namespace understudy
