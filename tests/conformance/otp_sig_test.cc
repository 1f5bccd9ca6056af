// Signals: OTP's signal_SUITE.
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using SigTest = ConformanceTest;

// OTP SIG-02
TEST_F(SigTest, AKillCannotBeTrappedAndGoesAlongLinksAsKilled) {
  for (const int length : {1, 2, 9, 10}) {
    std::vector<Ref<Script>> chain = {NewScript(TrapAll)};  // its trap has no effect on a kill
    for (int i = 1; i < length; ++i) {
      chain.push_back(NewScript([&](Script& self) { Link(self, chain.back().pid()); }));
    }
    Ref<Script> end = NewScript([&](Script& self) {
      TrapOthers(self);
      Link(self, chain.back().pid());
    });
    system().Kill(chain.front().pid());
    system().RunUntilIdle();
    EXPECT_THAT(Notes(), ElementsAre("exit Killed")) << length;
    for (const Ref<Script>& one : chain) EXPECT_FALSE(IsAlive(one)) << length;
    EXPECT_TRUE(IsAlive(end));
  }
}

// OTP SIG-02: Killed as the reason of an exit signal is a reason like others, and can be trapped.
TEST_F(SigTest, KilledAsAReasonIsNoKill) {
  Ref<Script> watcher = NewScript();
  Ref<Script> trapping = NewScript(TrapOthers);
  Ref<Script> plain = NewScript();
  Watch(watcher, plain.pid());
  Step(watcher, [&](Script& self) {
    self.context().Exit(trapping, ExitReason::Killed());
    self.context().Exit(plain, ExitReason::Killed());
  });
  EXPECT_THAT(Notes(), UnorderedElementsAre("exit Killed", "down Killed"));
  EXPECT_TRUE(IsAlive(trapping));
}

// Many senders send signals and messages to one actor, whose handlers must never overlap. `value` is not atomic, so
// that the thread sanitizer also detects an overlap.
void ContendedSignals(ActorSystem& system, Random& random) {
  constexpr int kSenders = 4;
  const int sends = 1 + static_cast<int>(random.Below(4));
  Tally started(system);
  Tally handled(system);
  std::atomic<bool> is_inside{false};
  std::atomic<int> overlaps{0};
  int value = 0;
  const auto handle = [&] {
    if (is_inside.exchange(true)) ++overlaps;
    ++value;
    is_inside.store(false);
    handled.Add();
  };
  Ref<Script> target = system.Spawn<Script>([&](Script& self) {
    self.context().TrapExits([&](const ExitEvent&) { handle(); });
    self.context().TrapStops([&](const StopRequest&) { handle(); });
    started.Add();
  });
  started.Await(1);
  for (int i = 0; i < kSenders; ++i) {
    Ref<Script> sender = system.Spawn<Script>();
    Do(sender, [&](Script& self) {
      for (int send = 0; send < sends; ++send) {
        self.context().Link(target);
        Do(target, [&](Script&) { handle(); });
        self.context().Exit(target, DiskFailed());
        self.context().Unlink(target);
        self.context().RequestStop(target);
        const MonitorHandle monitor = self.context().Monitor(target, [](const Down&) {});
      }
      self.context().Link(target);
      self.context().Stop();
    });
  }
  const int wanted = kSenders * (3 * sends + 1);
  handled.Await(wanted);
  EXPECT_EQ(overlaps, 0);
  system.Kill(target.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(value, wanted);
}

// OTP SIG-03
TEST(SigRaceTest, SignalsOfManySendersAreHandledOneByOneWithEverySeed) { WithEverySeed(ContendedSignals); }
// OTP SIG-03
TEST(SigRaceTest, SignalsOfManySendersAreHandledOneByOneOnThreads) { OnThreads(ContendedSignals); }

// OTP SIG-04
TEST_F(SigTest, AnExitThatHasArrivedActsBeforeTheActorCanTrapOrReceive) {
  Ref<Script> watcher = NewScript();
  Ref<Script> sender = NewScript();
  Ref<Script> plain = NewScript();
  Watch(watcher, plain.pid());
  Step(sender, [&](Script& self) {
    Do(plain, [](Script& late) { late.Note("received"); });
    self.context().Exit(plain, DiskFailed());
    Do(plain, TrapAll);
  });
  EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
}

// OTP SIG-04
TEST_F(SigTest, AnExitThatHasArrivedEndsAHandlerThatAwaits) {
  Ref<Script> never = NewScript();
  Ref<Script> watcher = NewScript();
  Ref<Script> waiting = NewScript();
  Watch(watcher, waiting.pid());
  AskAndNote(waiting, never[&Script::ask], absl::Hours(1));
  Step(watcher, [&](Script& self) {
    self.context().Exit(waiting, DiskFailed());
    Link(self, never.pid());
  });
  EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
}

// OTP SIG-04: A trapped exit is queued as an event, and Unlink removes the queued event.
TEST_F(SigTest, ATrappedExitThatWaitsIsTakenBackByUnlinkAndNotByTrapping) {
  Ref<Script> never = NewScript();
  Ref<Script> one = NewScript();
  Ref<Script> two = NewScript();
  Ref<Script> trapping = NewScript([&](Script& self) {
    TrapOthers(self);
    Link(self, one.pid());
    Link(self, two.pid());
  });
  RunTask(trapping, [&](Script& self) -> Task<> {
    const auto asked = never[&Script::ask].Ask(1, absl::Seconds(1));
    (void)co_await asked;  // meanwhile both linked actors end
    self.context().Unlink(one);
    self.Note("unlinked");
  });
  system().RunUntilIdle();
  End(one, ExitReason::OsExit(1));
  End(two, ExitReason::OsExit(2));
  EXPECT_THAT(Notes(), IsEmpty());
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("unlinked", "exit OsExit(2)"));
}

}  // namespace
}  // namespace understudy
