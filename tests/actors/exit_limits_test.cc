// Exits that are merged, and the limits on links and monitors (semantics 5.12).
#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const ExitReason kFailed = ExitReason::Failed(absl::DataLossError("disk"));

constexpr auto kExitsMax = static_cast<int>(limits::kExitsWaitingPerActorMax);

class ExitLimitsTest : public ActorTest {
 protected:
  Ref<Script> NewScript(Script::Step at_start = nullptr) {
    return system().Spawn<Script>(std::move(at_start), nullptr, &notes_);
  }
  void Step(Ref<Script> script, Script::Step step) {
    Do(script, std::move(step));
    system().RunUntilIdle();
  }
  bool IsAlive(Ref<Script> script) { return script[&Script::note].Send("ping").ok(); }

  std::vector<std::string> notes_;
};

TEST_F(ExitLimitsTest, ExitsToATrappingActorBeyondItsLimitAreMergedAndCounted) {
  std::vector<int64_t> merged;
  Ref<Script> trapping = NewScript(
      [&](Script& self) { self.context().TrapExits([&](const ExitEvent& exit) { merged.push_back(exit.merged); }); });
  Ref<Script> linked = NewScript();
  Step(linked, [&](Script& self) { self.context().Link(trapping); });
  Ref<Script> sender = NewScript();
  Step(sender, [&](Script& self) {
    for (int i = 0; i < kExitsMax + 50; ++i) self.context().Exit(trapping, kFailed);
    linked[&Script::once].Tell([](Script& other) { other.context().Stop(); });
  });
  EXPECT_EQ(merged.size(), limits::kExitsWaitingPerActorMax + 1) << "the exit along a link has its room";
  EXPECT_EQ(std::count(merged.begin(), merged.end(), 50), 1);
  EXPECT_EQ(std::count(merged.begin(), merged.end(), 0), kExitsMax);
  EXPECT_EQ(system().merged_exits(), 50);
  // The limit is on those that wait: there is room again.
  merged.clear();
  Step(sender, [&](Script& self) { self.context().Exit(trapping, kFailed); });
  EXPECT_THAT(merged, ElementsAre(0));
  EXPECT_EQ(system().merged_exits(), 50);
}

TEST_F(ExitLimitsTest, AParentsExitIsNotMergedWithThoseOfOthers) {
  int others = 0;
  std::vector<int64_t> parents;
  Ref<Script> trapping = NewScript([&](Script& self) {
    self.context().TrapExits([&](const ExitEvent& exit) { others += 1 + static_cast<int>(exit.merged); },
                             [&](const ExitEvent& exit) { parents.push_back(exit.merged); });
  });
  Ref<Script> sender = NewScript();
  Step(sender, [&](Script& self) {
    for (int i = 0; i < 2 * kExitsMax; ++i) self.context().Exit(trapping, kFailed);
    for (int i = 0; i < 3; ++i) system().Exit(trapping.pid(), ExitReason::Shutdown());  // a root's parent is the thread
  });
  EXPECT_EQ(others, 2 * kExitsMax);
  EXPECT_THAT(parents, ElementsAre(0, 0, 0));
  EXPECT_EQ(system().merged_exits(), kExitsMax);
  system().Kill(trapping.pid());
}

// Exits wait while the handler of one that traps awaits; then it unlinks the sender, to which it never was linked.
TEST_F(ExitLimitsTest, UnlinkTakesNoneBackThatSomebodySent) {
  Probe<Call<int, int>> oracle(system());
  std::vector<ExitEvent> exits;
  const Ref<Script> sender = NewScript();
  const Ref<Script> trapping =
      NewScript([&](Script& self) { self.context().TrapExits([&](const ExitEvent& exit) { exits.push_back(exit); }); });
  system().RunUntilIdle();
  RunTask(trapping, [&](Script& self) -> Task<> {
    auto asked = oracle.channel().Ask(1, absl::Hours(1));
    (void)co_await asked;
    self.context().Unlink(sender);
  });
  system().RunUntilIdle();
  Step(sender, [&](Script& self) {
    for (int i = 0; i < kExitsMax + 7; ++i) self.context().Exit(trapping, kFailed);
  });
  EXPECT_EQ(system().merged_exits(), 7);
  oracle.ReceiveAll().front().replier.Reply(1);
  system().RunUntilIdle();
  ASSERT_THAT(exits, SizeIs(kExitsMax));
  EXPECT_EQ(exits.back().merged, 7);
}

TEST(ExitLimitsSeedsTest, WhateverIsMergedEachExitIsToldOfOnce) {
  int64_t merged = 0;
  ForEachSeed(30, [&](uint64_t seed) {
    TestSystem system(seed);
    constexpr int kSenders = 4;
    constexpr int kEach = 700;
    int told = 0;
    const Ref<Script> trapping = system.Spawn<Script>([&](Script& self) {
      self.context().TrapExits([&](const ExitEvent& exit) { told += 1 + static_cast<int>(exit.merged); });
    });
    for (int i = 0; i < kSenders; ++i) {
      const Ref<Script> sender = system.Spawn<Script>();
      for (int k = 0; k < kEach; ++k) Do(sender, [trapping](Script& self) { self.context().Exit(trapping, kFailed); });
    }
    system.RunUntilIdle();
    EXPECT_EQ(told, kSenders * kEach);
    merged += system.merged_exits();
    ExpectNothingLost(system);
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(merged, 0);
  }
}

TEST_F(ExitLimitsTest, AtItsLimitAMonitorAnswersBySignal) {
  Ref<Script> watched = NewScript();
  Ref<Script> watcher = NewScript();
  Step(watcher, [&](Script& self) {
    for (size_t i = 0; i < limits::kMonitorsPerActorMax; ++i) {
      (void)self.context().Monitor(watched, [](const Down&) {}).Keep();
    }
    (void)self.context().Monitor(watched, [&self](const Down& down) { self.Note(down.reason.ToString()); }).Keep();
  });
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("Failed(RESOURCE_EXHAUSTED: Full: an actor has at most 100000 monitors")));
  system().Kill(watcher.pid());
  system().RunUntilIdle();
}

// Counts items, and runs `at_tenth` at the tenth.
class Counting final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Mailbox<"other", int> other{this};
  Counting(int rank, std::function<void(Context&)> at_tenth, int* count)
      : at_tenth_(std::move(at_tenth)),
        count_(count),
        counting_("counting", On(item, &Counting::Count).Rank(rank), On(other, [] {})) {}
  StartResult Start() override { return counting_; }

 private:
  void Count(int) {
    if (++*count_ == 10) at_tenth_(context());
  }
  const std::function<void(Context&)> at_tenth_;
  int* const count_;
  Behavior counting_;
};

TEST_F(ExitLimitsTest, ASignalActsAfterItsHandlerOrAtTheNextLookAtWhatHasCome) {
  const auto counted = [this](int rank, std::function<void(Context&)> at_tenth) {
    int count = 0;
    Ref<Counting> counting = system().Spawn<Counting>(rank, std::move(at_tenth), &count);
    system().RunUntilIdle();
    for (int i = 0; i < 1000; ++i) counting[&Counting::item].Tell(i);
    system().RunUntilIdle();
    return count;
  };
  const auto kill_itself = [](Context& context) { context.Kill(context.Self()); };
  // A Kill by a plain thread comes from outside.
  const auto be_killed = [this](Context& context) {
    std::thread([&, self = context.Self()] { system().Kill(self); }).join();
  };
  EXPECT_EQ(counted(0, kill_itself), 10);
  EXPECT_LE(counted(0, be_killed), 10 + 32);
  EXPECT_EQ(counted(1, be_killed), 10) << "with ranks it looks before every message";
}

class Child final : public Actor {
 public:
  StartResult Start() override {
    return Behavior("quiet", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST_F(ExitLimitsTest, NoActorHasMoreLinksThanItMayWhoeverMakesThem) {
  const auto trap = [](Script& self) {
    self.context().TrapExits([&self](const ExitEvent& exit) { self.Note(exit.reason.ToString()); });
  };
  const char* const full = "Failed(RESOURCE_EXHAUSTED: Full: an actor has at most 100000 links)";
  Ref<Script> one = NewScript(trap);
  Ref<Script> other = NewScript(trap);
  Ref<Child> last;
  Step(one, [&](Script& self) {
    for (size_t i = 0; i < limits::kLinksPerActorMax; ++i) last = self.context().Spawn<Child>();
  });
  EXPECT_THAT(notes_, SizeIs(0));
  Step(one, [&](Script& self) { self.context().Link(other); });
  EXPECT_THAT(std::exchange(notes_, {}), ElementsAre(full)) << "by a call";
  Step(other, [&](Script& self) { self.context().Link(one); });
  EXPECT_THAT(std::exchange(notes_, {}), ElementsAre(full)) << "by another's call: told to the other";
  Ref<Script> child;
  Step(one, [&](Script& self) {
    child = self.context().Spawn<Script>(SpawnOptions(), nullptr, nullptr, &notes_);
    (void)self.context()
        .Monitor(child, [&self](const Down& down) { self.Note("down " + down.reason.ToString()); })
        .Keep();
  });
  EXPECT_THAT(std::exchange(notes_, {}), UnorderedElementsAre(full, std::string("down ") + full)) << "by a spawn";
  EXPECT_FALSE(IsAlive(child));
  Step(one, [&](Script& self) {
    self.context().Link(other);
    self.context().Unlink(other);
  });
  EXPECT_THAT(notes_, SizeIs(0)) << "taken back by Unlink";
  Step(one, [&](Script& self) { self.context().Unlink(last); });
  Step(other, [&](Script& self) { self.context().Link(one); });
  EXPECT_THAT(notes_, SizeIs(0)) << "there is room again";
  Step(other, [](Script& self) { self.context().Stop(kFailed); });
  EXPECT_THAT(notes_, ElementsAre(kFailed.ToString()));
  system().Kill(one.pid());
  system().Kill(last.pid());
}

}  // namespace
}  // namespace understudy
