// The races of OTP's erl_link_SUITE. Each runs with many seeds, and many times on threads (rounds.h).
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

// One of two linked actors ends while the other unlinks. After Unlink has returned, an exit of the peer must neither
// arrive as an event at an actor that traps exits nor end an actor that does not.
void UnlinkAgainstExit(ActorSystem& system, Random& random) {
  std::atomic<bool> has_unlinked{false};
  std::atomic<int> late{0};
  Tally linked(system);
  Tally lived_on(system);
  const bool traps = random.Below(2) == 0;
  const bool unlinks_first = random.Below(2) == 0;
  Ref<Script> ending = system.Spawn<Script>();
  Ref<Script> unlinking = system.Spawn<Script>([&](Script& self) {
    if (traps) {
      self.context().TrapExits([&](const ExitEvent&) {
        if (has_unlinked) ++late;
      });
    }
    self.context().Link(ending);
    linked.Add();
  });
  linked.Await(1);
  const auto unlink = [&] {
    Do(unlinking, [&](Script& self) {
      self.context().Unlink(ending);
      has_unlinked = true;
    });
  };
  if (unlinks_first) unlink();
  Do(ending, [](Script& self) { self.context().Stop(DiskFailed()); });
  if (!unlinks_first) unlink();
  EXPECT_TRUE(system.AwaitEnd(ending.pid(), absl::Minutes(1)).ok());
  AwaitLive(system, 1);
  Do(unlinking, [&](Script& self) {
    lived_on.Add();
    self.context().Stop();
  });
  ExpectAllEnded(system);
  EXPECT_EQ(late, 0);
  if (has_unlinked || traps) {
    EXPECT_EQ(lived_on.count(), 1);
  }
}

// OTP LNK-08
TEST(LnkRaceTest, AfterUnlinkNoExitOfThatPeerComesWithEverySeed) { WithEverySeed(UnlinkAgainstExit); }
// OTP LNK-08
TEST(LnkRaceTest, AfterUnlinkNoExitOfThatPeerComesOnThreads) { OnThreads(UnlinkAgainstExit); }

// Every actor sends every other a message, twice. When Settle returns, all signals that the actors had sent before, and
// the answers to these signals, have been processed.
void Settle(ActorSystem& system, const std::vector<Ref<Script>>& actors) {
  const int n = static_cast<int>(actors.size());
  for (int round = 0; round < 2; ++round) {
    Tally told(system);
    for (const Ref<Script>& from : actors) {
      Do(from, [&](Script&) {
        for (const Ref<Script>& to : actors) Do(to, [&](Script&) { told.Add(); });
      });
    }
    told.Await(n * n);
  }
}

// `n` actors link to and unlink from each other at the same time. Then both ends must agree on each link: after all
// signals have been processed, a link that one end makes (or ends) exists (or does not exist) for both.
void RandomLinks(ActorSystem& system, Random& random, size_t n, int steps) {
  std::vector<Ref<Script>> actors;
  std::vector<std::vector<int>> exits(n, std::vector<int>(n, 0));  // [receiver][peer], used on the receiver's turn
  for (size_t i = 0; i < n; ++i) {
    actors.push_back(system.Spawn<Script>([&, i](Script& self) {
      self.context().TrapExits([&, i](const ExitEvent& event) {
        for (size_t j = 0; j < n; ++j) {
          if (actors[j].pid() == event.peer) ++exits[i][j];
        }
      });
    }));
  }
  // Links to and unlinks from random peers in one turn of `i`, some peers several times.
  const auto change_some = [&](size_t i, uint64_t seed) {
    Do(actors[i], [&, i, seed](Script& self) {
      Random choices(seed);
      for (uint64_t change = choices.Below(8); change > 0; --change) {
        const Ref<Script> peer = actors[(i + 1 + choices.Below(n - 1)) % n];
        if (choices.Below(2) == 0) {
          self.context().Link(peer);
        } else {
          self.context().Unlink(peer);
        }
      }
    });
  };
  for (int step = 0; step < steps; ++step) {
    change_some(random.Below(n), random.Next());
    LetSomeRun(system, random, 3);
  }
  Settle(system, actors);
  std::vector<bool> linked(n, false);  // with the first actor
  for (size_t j = 1; j < n; ++j) {
    linked[j] = random.Below(2) == 0;
    const bool by_first = random.Below(2) == 0;
    Do(actors[by_first ? 0 : j], [peer = actors[by_first ? j : 0], links = bool{linked[j]}](Script& self) {
      if (links) {
        self.context().Link(peer);
      } else {
        self.context().Unlink(peer);
      }
    });
  }
  Settle(system, actors);
  Do(actors[0], [](Script& self) { self.context().Stop(DiskFailed()); });
  AwaitLive(system, static_cast<int64_t>(n) - 1);
  Tally flushed(system);
  for (size_t j = 1; j < n; ++j) Do(actors[j], [&](Script&) { flushed.Add(); });
  flushed.Await(static_cast<int>(n) - 1);
  for (size_t j = 1; j < n; ++j) EXPECT_EQ(exits[j][0], linked[j] ? 1 : 0);
  for (size_t j = 1; j < n; ++j) system.Kill(actors[j].pid());
  ExpectAllEnded(system);
}

void TwoActorsLink(ActorSystem& system, Random& random) { RandomLinks(system, random, 2, 6); }
void FourActorsLink(ActorSystem& system, Random& random) { RandomLinks(system, random, 4, 12); }

// OTP LNK-13
TEST(LnkRaceTest, SimultaneousLinksAndUnlinksOfTwoEndInAgreementWithEverySeed) { WithEverySeed(TwoActorsLink); }
// OTP LNK-13
TEST(LnkRaceTest, SimultaneousLinksAndUnlinksOfTwoEndInAgreementOnThreads) { OnThreads(TwoActorsLink); }
// OTP LNK-16: On this node only.
TEST(LnkRaceTest, AnyProgramOfLinksAndUnlinksEndsInAgreementWithEverySeed) { WithEverySeed(FourActorsLink); }
// OTP LNK-16: On this node only.
TEST(LnkRaceTest, AnyProgramOfLinksAndUnlinksEndsInAgreementOnThreads) { OnThreads(FourActorsLink); }

}  // namespace
}  // namespace understudy
