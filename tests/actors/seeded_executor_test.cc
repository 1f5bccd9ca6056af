#include "understudy/actors/seeded_executor.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Notes its name when it runs.
class Noter final : public Runnable {
 public:
  Noter(std::string name, std::vector<std::string>& notes) : name_(std::move(name)), notes_(notes) {}
  void Run() override { notes_.push_back(name_); }

 private:
  std::string name_;
  std::vector<std::string>& notes_;
};

class SeededExecutorTest : public ::testing::Test {
 protected:
  auto Note(std::string what) {
    return [this, what = std::move(what)] { notes_.push_back(what); };
  }

  SeededExecutor executor_{1};
  std::vector<std::string> notes_;
};

TEST_F(SeededExecutorTest, NothingRunsByItself) {
  Noter a("a", notes_);
  executor_.Schedule(&a);
  executor_.RunAt(executor_.clock().Now(), Note("timer"));
  EXPECT_THAT(notes_, ElementsAre());
  executor_.RunUntilIdle();
  EXPECT_THAT(notes_, UnorderedElementsAre("a", "timer"));
}

TEST_F(SeededExecutorTest, TheSeedPicksWhatRunsNext) {
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<std::string> runs[2];
    for (std::vector<std::string>& run : runs) {
      SeededExecutor executor(seed);
      Noter a("a", run);
      Noter b("b", run);
      Noter c("c", run);
      for (Noter* noter : {&a, &b, &c}) executor.Schedule(noter);
      executor.RunUntilIdle();
    }
    EXPECT_EQ(runs[0], runs[1]);
    orders.insert(runs[0]);
  }
  EXPECT_EQ(orders.size(), 6U) << "every order comes with some seed";
}

TEST_F(SeededExecutorTest, TimeStandsStillWhileAnythingIsRunnable) {
  const MonotonicTime begin = executor_.clock().Now();
  executor_.RunAt(begin + absl::Seconds(1), Note("timer"));
  executor_.RunUntilIdle();
  EXPECT_EQ(executor_.clock().Now(), begin);
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_EQ(executor_.UntilNextTimer(), absl::Seconds(1));
}

TEST_F(SeededExecutorTest, AdvanceRunsWhatFallsDueAtItsTime) {
  const MonotonicTime begin = executor_.clock().Now();
  executor_.RunAt(begin + absl::Seconds(3), Note("late"));
  executor_.RunAt(begin + absl::Seconds(1), [&] {
    EXPECT_EQ(executor_.clock().Now(), begin + absl::Seconds(1));
    executor_.RunAt(begin + absl::Seconds(2), Note("added"));
  });
  executor_.Advance(absl::Milliseconds(2500));
  EXPECT_THAT(notes_, ElementsAre("added"));
  EXPECT_EQ(executor_.clock().Now(), begin + absl::Milliseconds(2500));
}

TEST_F(SeededExecutorTest, ACancelledTimerDoesNotRun) {
  const uint64_t timer = executor_.RunAt(executor_.clock().Now() + absl::Seconds(1), Note("timer"));
  EXPECT_TRUE(executor_.Cancel(timer));
  EXPECT_FALSE(executor_.Cancel(timer));
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(notes_, ElementsAre());
}

TEST_F(SeededExecutorTest, BlockUntilStopsAtItsDeadlineOrWhenNothingIsLeft) {
  const MonotonicTime begin = executor_.clock().Now();
  EXPECT_FALSE(executor_.BlockUntil([] { return false; }, begin + absl::Seconds(1)));
  EXPECT_EQ(executor_.clock().Now(), begin + absl::Seconds(1));
  EXPECT_FALSE(executor_.BlockUntil([] { return false; }, MonotonicTime::InfiniteFuture()));
  bool done = false;
  executor_.RunAt(begin + absl::Hours(1), [&] { done = true; });
  EXPECT_TRUE(executor_.BlockUntil([&] { return done; }, MonotonicTime::InfiniteFuture()));
  EXPECT_EQ(executor_.clock().Now(), begin + absl::Hours(1));
}

TEST_F(SeededExecutorTest, VirtualWallTimePassesAlike) {
  const absl::Time begin = executor_.clock().WallNow();
  executor_.Advance(absl::Minutes(5));
  EXPECT_EQ(executor_.clock().WallNow() - begin, absl::Minutes(5));
}

constexpr auto kMeant = [] { return true; };

// A turn whose user code does not return for `duration`.
class Held final : public Runnable {
 public:
  Held(SeededExecutor& executor, absl::Duration duration, std::vector<std::string>& notes)
      : executor_(executor), duration_(duration), notes_(notes) {}
  void Run() override {
    internal::Worker& worker = *internal::ThisWorker();
    {
      internal::UserCode user(worker);
      executor_.HoldHere(duration_);
      EXPECT_EQ(internal::ThisWorker(), &worker);
    }
    notes_.push_back(worker.rights == internal::Rights::kNone ? "fenced" : "returned");
  }
  std::string Describe() override { return "the held one"; }

 private:
  SeededExecutor& executor_;
  absl::Duration duration_;
  std::vector<std::string>& notes_;
};

TEST_F(SeededExecutorTest, TimeDoesNotGoBackWhenAHandlerIsHeldForLongerThanItAdvances) {
  const MonotonicTime begin = executor_.clock().Now();
  Held held(executor_, absl::Seconds(1), notes_);
  executor_.Schedule(&held);
  executor_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(executor_.clock().Now() - begin, absl::Seconds(1));
}

TEST_F(SeededExecutorTest, WhileAHandlerIsHeldOthersAndTimersRun) {
  const MonotonicTime begin = executor_.clock().Now();
  Held held(executor_, absl::Seconds(1), notes_);
  Noter other("other", notes_);
  Noter third("third", notes_);
  executor_.Schedule(&held);
  ASSERT_TRUE(executor_.RunAt(begin + absl::Milliseconds(3), [&] { executor_.Schedule(&other); }) != 0);
  executor_.RunAt(begin + absl::Milliseconds(7), Note("timer"));
  executor_.RunAt(begin + absl::Milliseconds(999), [&] { executor_.Schedule(&third); });
  executor_.RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("other", "timer", "third", "returned"));
  EXPECT_EQ(executor_.clock().Now(), begin + absl::Seconds(1));
  EXPECT_EQ(executor_.takeovers(), 1);
  EXPECT_THAT(executor_.long_handlers(), ElementsAre("the held one"));
}

TEST_F(SeededExecutorTest, AShortHoldIsNoTakeOver) {
  Held held(executor_, absl::Milliseconds(4), notes_);
  executor_.Schedule(&held);
  executor_.RunUntilIdle();
  EXPECT_EQ(executor_.takeovers(), 0);
  EXPECT_THAT(executor_.long_handlers(), ElementsAre());
}

TEST_F(SeededExecutorTest, AHeldHandlerIsInUserCodeUntilItReturnsOrIsFenced) {
  const MonotonicTime begin = executor_.clock().Now();
  Held outer(executor_, absl::Seconds(2), notes_);
  Held inner(executor_, absl::Seconds(1), notes_);
  executor_.Schedule(&outer);
  executor_.RunAt(begin + absl::Milliseconds(10), [&] { executor_.Schedule(&inner); });
  executor_.RunAt(begin + absl::Milliseconds(20), [&] {
    EXPECT_TRUE(executor_.WhileInUserCode(&outer, kMeant, Note("fencing")));
    EXPECT_FALSE(executor_.WhileInUserCode(&outer, kMeant, Note("fencing again")));
  });
  executor_.RunAt(begin + absl::Milliseconds(1100),
                  [&] { EXPECT_FALSE(executor_.WhileInUserCode(&inner, kMeant, Note("it has returned"))); });
  executor_.RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("fencing", "returned", "fenced"));
}

// The Runnable may be another's by the time the fence comes.
TEST_F(SeededExecutorTest, AHeldHandlerThatIsNotMeantIsNotFenced) {
  Held held(executor_, absl::Seconds(1), notes_);
  executor_.Schedule(&held);
  executor_.RunAt(executor_.clock().Now() + absl::Milliseconds(20),
                  [&] { EXPECT_FALSE(executor_.WhileInUserCode(&held, [] { return false; }, Note("fencing"))); });
  executor_.RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("returned"));
}

// Endless: each run schedules itself again.
class Endless final : public Runnable {
 public:
  explicit Endless(Executor& executor) : executor_(executor) {}
  void Run() override { executor_.Schedule(this); }

 private:
  Executor& executor_;
};

TEST(SeededExecutorDeathTest, HoldHereOutsideOfUserCodeIsACheck) {
  SeededExecutor executor(1);
  EXPECT_DEATH(executor.HoldHere(absl::Seconds(1)), "HoldHere is for the user code of a turn");
}

TEST(SeededExecutorDeathTest, AnActorThatRunsForEverDiesAtTheStepLimit) {
  SeededExecutor executor(1);
  Endless endless(executor);
  executor.Schedule(&endless);
  EXPECT_DEATH(executor.RunUntilIdle(1000), "not idle after 1000 steps");
}

// Three actors pass a token on at random, for the traces.
class Juggler final : public Actor {
 public:
  Mailbox<"toss", int> toss{this};
  Mailbox<"peers", std::vector<Ref<Juggler>>> peers{this};
  StartResult Start() override { return juggling_; }

 private:
  void Meet(std::vector<Ref<Juggler>> all) { peers_ = std::move(all); }
  void Toss(int left) {
    if (left == 0) return;
    peers_[context().Random().Below(peers_.size())][&Juggler::toss].Tell(left - 1);
  }
  std::vector<Ref<Juggler>> peers_;
  Behavior juggling_{"juggling", On(toss, &Juggler::Toss), On(peers, &Juggler::Meet)};
};

std::vector<std::string> TraceOf(uint64_t seed) {
  TestSystem system(seed);
  system.StartTrace();
  std::vector<Ref<Juggler>> all;
  for (int i = 0; i < 3; ++i) all.push_back(system.Spawn<Juggler>());
  for (const Ref<Juggler>& one : all) one[&Juggler::peers].Tell(all);
  for (const Ref<Juggler>& one : all) one[&Juggler::toss].Tell(20);
  system.RunUntilIdle();
  return system.trace();
}

TEST(TestSystemTest, EqualSeedsGiveEqualTracesAndOthersDiffer) {
  std::set<std::vector<std::string>> traces;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::string> trace = TraceOf(seed);
    EXPECT_EQ(trace, TraceOf(seed)) << "seed " << seed;
    EXPECT_EQ(trace.size(), 3U + 3U + 3U * 21U);  // starts, meetings, tosses
    traces.insert(trace);
  }
  EXPECT_EQ(traces.size(), 20U);
}

// Handles events while its system is shut down.
class Trapper final : public Actor {
 public:
  StartResult Start() override {
    context().TrapExits(&Trapper::Exited, &Trapper::Exited);
    return Behavior("trapping", After(absl::InfiniteDuration(), [] {}));
  }

 private:
  void Exited(const ExitEvent& event) { context().Stop(event.reason); }
};

TEST(TestSystemTest, TracesUntilItsLastActorHasEnded) {
  std::vector<std::string> lines;
  {
    TestSystem own;
    own.StartTrace();
    own.Spawn<Trapper>();
    own.RunUntilIdle();
    TestSystem shared;
    shared.StartTrace(&lines);
    shared.Spawn<Trapper>();
    shared.RunUntilIdle();
  }
  EXPECT_EQ(lines.size(), 3U);  // its start, its exit and its end
}

}  // namespace
}  // namespace understudy
