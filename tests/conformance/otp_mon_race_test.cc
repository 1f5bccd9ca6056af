// The races of OTP's monitor_SUITE, with a thousand seeds and a thousand times on threads.
#include <atomic>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

// One monitor, used only on its watcher's turn.
struct Watched {
  MonitorHandle handle;
  bool has_ended = false;  // by its watcher
  int downs = 0;
  int late_downs = 0;
};

// `watchers` actors watch each of `targets` actors, and end about half of their monitors while the targets end. After
// the end of a monitor nothing of it comes; each of the others is told once.
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
  // When the watchers have done this and only they are left, all that was to be told has been sent.
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

// An actor with a name ends; whoever is told of its end finds the name free, and may take it.
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

}  // namespace
}  // namespace understudy
