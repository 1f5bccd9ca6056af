// The races of OTP's process_SUITE that happen during a spawn. Each runs with many seeds, and many times on threads
// (rounds.h).
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"
#include "understudy/tests/conformance/starter.h"

namespace understudy {
namespace {

constexpr const char* kHows[] = {"fail", "run", "wait"};
constexpr int kChildren = 3;

// One child, as its parent sees it.
struct Spawned {
  MonitorHandle monitor;
  bool is_given_up = false;
  int outcomes = 0;
  int downs = 0;
  int late_downs = 0;
};

// A parent spawns children that fail their start, complete it, or stay in it. It monitors each child and ends the
// monitor in the same turn or soon after, while the children are killed. No Down may arrive for a monitor that was
// ended, and every spawn outcome must arrive.
void DemonitorAgainstSpawn(ActorSystem& system, Random& random) {
  Tally given_up(system);
  Spawned children[kChildren];
  uint64_t turns[kChildren];
  std::atomic<int> lives{0};
  for (uint64_t& until_end : turns) until_end = random.Below(4);
  const bool kills = random.Below(4) != 0;
  Ref<Script> oracle = system.Spawn<Script>();
  Ref<Script> killer = system.Spawn<Script>();
  Ref<Script> parent = system.Spawn<Script>([](Script& self) { self.context().TrapExits([](const ExitEvent&) {}); });
  Do(parent, [&](Script& self) {
    for (int i = 0; i < kChildren; ++i) {
      Spawned& one = children[i];
      const Ref<Starter> child =
          self.context().Spawn<Starter>(SpawnOptions().OnOutcome([&one](const SpawnOutcome&) { ++one.outcomes; }),
                                        kHows[i], oracle[&Script::ask], &lives);
      one.monitor = self.context().Monitor(child, [&one](const Down&) {
        ++one.downs;
        if (one.is_given_up) ++one.late_downs;
      });
      if (kills) Do(killer, [child](Script& other) { other.context().Kill(child); });
      DoAfter(self, oracle, turns[i], [&one, &given_up, child](Script& later) {
        one.monitor.End();
        one.is_given_up = true;
        later.context().Kill(child);
        given_up.Add();
      });
    }
  });
  given_up.Await(kChildren);
  AwaitLive(system, 3);
  // All outcomes and Downs of the children have been sent.
  Do(parent, [](Script& self) { self.context().Stop(); });
  EXPECT_TRUE(system.AwaitEnd(parent.pid(), absl::Minutes(1)).ok());
  for (const Ref<Script>& other : {oracle, killer}) system.Kill(other.pid());
  ExpectAllEnded(system);
  for (int i = 0; i < kChildren; ++i) {
    EXPECT_EQ(children[i].late_downs, 0) << kHows[i];
    EXPECT_EQ(children[i].outcomes, 1) << kHows[i];
    EXPECT_LE(children[i].downs, turns[i] == 0 ? 0 : 1) << kHows[i];
  }
}

// OTP PRC-40
TEST(PrcSpawnRaceTest, DemonitorOfASpawnUnderWayLeavesNoDownWithEverySeed) { WithEverySeed(DemonitorAgainstSpawn); }
// OTP PRC-40
TEST(PrcSpawnRaceTest, DemonitorOfASpawnUnderWayLeavesNoDownOnThreads) { OnThreads(DemonitorAgainstSpawn); }

// A parent ends, by itself or because it is killed, while its children are starting. It must not get an outcome any
// more. Each child that was created must end, with its parent's reason unless its start failed first.
void ParentEndsDuringSpawns(ActorSystem& system, Random& random) {
  Tally downs(system);
  std::atomic<int> lives{0};
  std::atomic<int> late_outcomes{0};
  std::atomic<int> wrong{0};
  std::atomic<bool> has_ended{false};
  const bool stops_itself = random.Below(2) == 0;
  const uint64_t turns = random.Below(4);
  const ExitReason reason = stops_itself ? ExitReason::RestartsExhausted("parent") : ExitReason::Killed();
  Ref<Script> oracle = system.Spawn<Script>();
  Ref<Script> watcher = system.Spawn<Script>();
  Ref<Script> parent = system.Spawn<Script>();
  Ref<Script> killer = system.Spawn<Script>();
  const auto on_outcome = [&](const SpawnOutcome&) {
    if (has_ended) ++late_outcomes;
  };
  Do(parent, [&](Script& self) {
    // No child fails its start, because the failure would end the parent, to which the child is linked.
    for (const char* how : {"run", "wait", "wait"}) {
      const Ref<Starter> child =
          self.context().Spawn<Starter>(SpawnOptions().OnOutcome(on_outcome), how, oracle[&Script::ask], &lives);
      Do(watcher, [&, child](Script& watching) {
        const auto on_down = [&](const Down& down) {
          // NoProcess means that the child had ended before it was monitored.
          if (down.reason != reason && down.reason != ExitReason::NoProcess()) ++wrong;
          downs.Add();
        };
        (void)watching.context().Monitor(child, on_down).Keep();
      });
    }
    if (stops_itself) {
      DoAfter(self, oracle, turns, [&](Script& later) {
        later.context().Stop(reason);
        has_ended = true;
      });
    } else {
      Do(killer, [&](Script& other) { DoAfter(other, oracle, turns, [&](Script& at) { at.context().Kill(parent); }); });
    }
  });
  EXPECT_TRUE(system.AwaitEnd(parent.pid(), absl::Minutes(1)).ok());
  has_ended = true;
  downs.Await(kChildren);
  for (const Ref<Script>& other : {oracle, watcher, killer}) system.Kill(other.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(downs.count(), kChildren);
  EXPECT_EQ(late_outcomes, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(lives, kChildren);
}

// OTP PRC-44: The parent's end abandons its spawns.
TEST(PrcSpawnRaceTest, ASpawnWhoseParentEndsLeavesNeitherReplyNorOrphanWithEverySeed) {
  WithEverySeed(ParentEndsDuringSpawns);
}
// OTP PRC-44: The parent's end abandons its spawns.
TEST(PrcSpawnRaceTest, ASpawnWhoseParentEndsLeavesNeitherReplyNorOrphanOnThreads) { OnThreads(ParentEndsDuringSpawns); }

}  // namespace
}  // namespace understudy
