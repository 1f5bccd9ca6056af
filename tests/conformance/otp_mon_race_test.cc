// The races of OTP's monitor_SUITE. Each runs with many seeds, and many times on threads (rounds.h).
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

// One monitor. It is used only on its watcher's turn.
struct Watched {
  MonitorHandle handle;
  bool has_ended = false;  // its watcher has ended the monitor
  int downs = 0;
  int late_downs = 0;
};

// `watchers` actors monitor each of `targets` actors, and end about half of their monitors while the targets end. No
// Down may arrive for a monitor that was ended, and exactly one for each of the others.
void DemonitorAgainstDeath(ActorSystem& system, Random& random, size_t watchers, size_t targets) {
  std::vector<std::vector<Watched>> table(watchers);
  std::vector<Ref<Script>> watching;
  std::vector<Ref<Script>> dying;
  Tally demonitored(system);
  for (size_t i = 0; i < targets; ++i) dying.push_back(system.Spawn<Script>());
  for (std::vector<Watched>& row : table) {
    row.resize(targets);
    watching.push_back(system.Spawn<Script>([&](Script& self) {
      for (size_t i = 0; i < targets; ++i) {
        Watched& one = row[i];
        one.handle = self.context().Monitor(dying[i], [&one](const Down&) {
          ++one.downs;
          if (one.has_ended) ++one.late_downs;
        });
      }
    }));
  }
  for (size_t i = 0; i < watchers; ++i) {
    const uint64_t seed = random.Next();
    Do(watching[i], [&demonitored, &row = table[i], seed](Script&) {
      Random which(seed);
      for (Watched& one : row) {
        if (which.Below(2) == 0) continue;
        one.handle.End();
        one.has_ended = true;
      }
      demonitored.Add();
    });
    if (i < targets) Do(dying[i], [](Script& self) { self.context().Stop(DiskFailed()); });
  }
  for (size_t i = watchers; i < targets; ++i) system.Exit(dying[i].pid(), DiskFailed());
  // When all watchers have ended their monitors and only the watchers are alive, all Downs have been sent.
  demonitored.Await(static_cast<int>(watchers));
  AwaitLive(system, static_cast<int64_t>(watchers));
  Tally flushed(system);
  for (size_t i = 0; i < watchers; ++i) {
    Do(watching[i], [&flushed, &row = table[i]](Script& self) {
      for (Watched& one : row) (void)std::move(one.handle).Keep();
      flushed.Add();
      self.context().Stop();
    });
  }
  flushed.Await(static_cast<int>(watchers));
  ExpectAllEnded(system);
  for (const std::vector<Watched>& row : table) {
    for (const Watched& one : row) {
      EXPECT_EQ(one.late_downs, 0);
      if (!one.has_ended) {
        EXPECT_EQ(one.downs, 1);
      }
      EXPECT_LE(one.downs, 1);
    }
  }
}

void ThreeByThree(ActorSystem& system, Random& random) { DemonitorAgainstDeath(system, random, 3, 3); }
void HundredByHundred(ActorSystem& system, Random& random) { DemonitorAgainstDeath(system, random, 100, 100); }

// OTP MON-13, LNK-10
TEST(MonRaceTest, AfterDemonitorNoDownComesWithEverySeed) { WithEverySeed(ThreeByThree); }
// OTP MON-13, LNK-10
TEST(MonRaceTest, AfterDemonitorNoDownComesOnThreads) { OnThreads(ThreeByThree); }
// OTP MON-13
TEST(MonRaceTest, AHundredWatchersOfAHundredActors) {
  WithEverySeed(HundredByHundred, /*rounds=*/3);
  OnThreads(HundredByHundred, /*rounds=*/3);
}

// An actor with a name ends. An actor that gets its Down must find the name free, and may register it.
void DownAgainstName(ActorSystem& system, Random& random) {
  constexpr int kWatchers = 3;
  Tally downs(system);
  std::atomic<int> still_named{0};
  std::atomic<int> refused{0};
  const int taker = static_cast<int>(random.Below(kWatchers));
  const SpawnOptions options{.registered_as = "desk", .published_as = "cluster/desk"};
  Ref<Script> named = system.Spawn<Script>(options);
  std::vector<Ref<Script>> watchers;
  for (int i = 0; i < kWatchers; ++i) {
    watchers.push_back(system.Spawn<Script>([&, i](Script& self) {
      const auto on_down = [&, i](const Down&) {
        for (const char* name : {"desk", "cluster/desk"}) {
          if (system.WhereIs(name) == named.pid()) ++still_named;
        }
        if (i == taker && !self.context().Register("desk").ok()) ++refused;
        downs.Add();
      };
      (void)self.context().Monitor(named, on_down).Keep();
    }));
  }
  Do(named, [](Script& self) { self.context().Stop(DiskFailed()); });
  downs.Await(kWatchers);
  EXPECT_EQ(still_named, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(system.WhereIs("desk"), watchers[static_cast<size_t>(taker)].pid());
  for (const Ref<Script>& watcher : watchers) system.Kill(watcher.pid());
  ExpectAllEnded(system);
}

// OTP MON-18
TEST(MonRaceTest, ANameIsFreeBeforeItsOwnersDownComesWithEverySeed) { WithEverySeed(DownAgainstName); }
// OTP MON-18
TEST(MonRaceTest, ANameIsFreeBeforeItsOwnersDownComesOnThreads) { OnThreads(DownAgainstName); }

// Monitored actors kill their watchers, which make and end such monitors at the same time, and then end. The watchers
// must end with Killed and must not get a Down after the kill.
void WatchedKillsItsWatchers(ActorSystem& system, Random& random) {
  constexpr int kWatchers = 3;
  Tally watching(system);
  Tally told(system);
  std::atomic<int> never{0};
  std::atomic<int> killed{0};
  std::atomic<int> ended{0};
  Ref<Script> watched = system.Spawn<Script>();
  std::vector<Ref<Script>> watchers;
  Ref<Script> via = system.Spawn<Script>();
  for (int i = 0; i < kWatchers; ++i) {
    const uint64_t turns = random.Below(4);
    watchers.push_back(system.Spawn<Script>());
    Do(watchers.back(), [&, turns](Script& self) {
      const auto watch = [&](Script& watcher) {
        watcher.monitors.push_back(watcher.context().Monitor(watched, [&never](const Down&) { ++never; }));
      };
      for (uint64_t turn = 1; turn <= turns; ++turn) {
        DoAfter(self, via, turn, [watch, turn](Script& again) {
          if (turn % 2 == 0) again.monitors.clear();
          watch(again);
        });
      }
      watch(self);
      watching.Add();
    });
  }
  Ref<Script> other = system.Spawn<Script>([&](Script& self) {
    for (const Ref<Script>& watcher : watchers) {
      (void)self.context()
          .Monitor(watcher,
                   [&](const Down& down) {
                     if (down.reason == ExitReason::Killed()) ++killed;
                     told.Add();
                   })
          .Keep();
    }
    (void)self.context()
        .Monitor(watched,
                 [&](const Down& down) {
                   if (down.reason == ExitReason::Normal()) ++ended;
                   told.Add();
                 })
        .Keep();
    watching.Add();
  });
  watching.Await(kWatchers + 1);
  Do(watched, [&](Script& self) {
    for (const Ref<Script>& watcher : watchers) self.context().Kill(watcher);
    self.context().Stop();
  });
  told.Await(kWatchers + 1);
  for (const Ref<Script>& one : {other, via}) system.Kill(one.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(never, 0);
  EXPECT_EQ(killed, kWatchers);
  EXPECT_EQ(ended, 1);
}

// OTP MON-01
TEST(MonRaceTest, TheWatchedMayKillItsWatchersAndEndWithEverySeed) { WithEverySeed(WatchedKillsItsWatchers); }
// OTP MON-01
TEST(MonRaceTest, TheWatchedMayKillItsWatchersAndEndOnThreads) { OnThreads(WatchedKillsItsWatchers); }

// A child that its parent monitors from its spawn kills the parent, in its start or later, and ends. The parent must
// end with Killed and must not get the child's Down, and the child must be left neither as an orphan nor in a table.
void WatchedChildKillsItsParent(ActorSystem& system, Random& random) {
  Tally watching(system);
  Tally told(system);
  std::atomic<int> never{0};
  std::atomic<int> killed{0};
  const bool in_start = random.Below(2) == 0;
  const bool is_linked = random.Below(2) == 0;
  const Script::Step kill_parent = [](Script& self) {
    self.context().Kill(self.context().Parent());
    self.context().Stop();
  };
  Ref<Script> parent = system.Spawn<Script>();
  Ref<Script> other = system.Spawn<Script>([&](Script& self) {
    const auto on_down = [&](const Down& down) {
      if (down.reason == ExitReason::Killed()) ++killed;
      told.Add();
    };
    (void)self.context().Monitor(parent, on_down).Keep();
    watching.Add();
  });
  watching.Await(1);
  Do(parent, [&](Script& self) {
    const auto on_down = [&](const Down&) { ++never; };
    const SpawnOptions options{.link = is_linked ? SpawnLink::kLinked : SpawnLink::kUnlinked};
    const Ref<Script> child = self.context().Spawn<Script>(SpawnOptions(options).OnDown(on_down),
                                                           in_start ? kill_parent : Script::Step(nullptr));
    self.monitors.push_back(self.context().Monitor(child, on_down));
    if (!in_start) Do(child, kill_parent);
  });
  told.Await(1);
  AwaitLive(system, 1);
  system.Kill(other.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(never, 0);
  EXPECT_EQ(killed, 1);
}

// OTP MON-02
TEST(MonRaceTest, AWatchedChildMayKillItsParentAndEndWithEverySeed) { WithEverySeed(WatchedChildKillsItsParent); }
// OTP MON-02
TEST(MonRaceTest, AWatchedChildMayKillItsParentAndEndOnThreads) { OnThreads(WatchedChildKillsItsParent); }

// Returns when each of the first `count` actors has handled all messages that had arrived before.
void Flush(ActorSystem& system, const std::vector<Ref<Script>>& actors, size_t count) {
  Tally flushed(system);
  for (size_t i = 0; i < count; ++i) Do(actors[i], [&flushed](Script&) { flushed.Add(); });
  flushed.Await(static_cast<int>(count));
}

// Four actors make and end monitors of each other in an order drawn from the seed, and then end one after another. A
// monitor that was ended must not fire, and every other must fire once.
void MonitorMixer(ActorSystem& system, Random& random) {
  constexpr size_t kActors = 4;
  std::vector<Ref<Script>> actors;
  std::vector<std::vector<int>> kept(kActors, std::vector<int>(kActors, 0));  // [watcher][target]
  std::vector<std::vector<int>> told = kept;                                  // used on the watcher's turn
  for (size_t i = 0; i < kActors; ++i) actors.push_back(system.Spawn<Script>());
  for (int step = 0; step < 40; ++step) {
    const size_t watcher = random.Below(kActors);
    const size_t target = (watcher + 1 + random.Below(kActors - 1)) % kActors;
    if (random.Below(8) == 0) {
      kept[watcher].assign(kActors, 0);
      Do(actors[watcher], [](Script& self) { self.monitors.clear(); });
    } else {
      ++kept[watcher][target];
      Do(actors[watcher], [&, watcher, target](Script& self) {
        self.monitors.push_back(
            self.context().Monitor(actors[target], [&, watcher, target](const Down&) { ++told[watcher][target]; }));
      });
    }
    if (random.Below(4) == 0) LetSomeRun(system, random, 8);
  }
  Flush(system, actors, kActors);
  for (size_t ended = kActors; ended-- > 0;) {
    system.Kill(actors[ended].pid());
    AwaitLive(system, static_cast<int64_t>(ended));
    Flush(system, actors, ended);
    for (size_t watcher = 0; watcher < ended; ++watcher) EXPECT_EQ(told[watcher][ended], kept[watcher][ended]);
  }
}

// OTP MON-17: On this node only.
TEST(MonRaceTest, BothEndsAgreeAfterAnyProgramOfMonitorsAndDemonitorsWithEverySeed) { WithEverySeed(MonitorMixer); }
// OTP MON-17: On this node only.
TEST(MonRaceTest, BothEndsAgreeAfterAnyProgramOfMonitorsAndDemonitorsOnThreads) { OnThreads(MonitorMixer); }

}  // namespace
}  // namespace understudy
