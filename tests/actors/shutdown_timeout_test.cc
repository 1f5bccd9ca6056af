// An actor that traps its parent's exit is killed when its shutdown timeout is over, even if its handler has not
// returned (semantics 5.7, 5.13).
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

class ShutdownTimeoutTest : public ActorTest {
 protected:
  // A child that has a second, and does `handle` at its parent's exit, then that exit.
  // Its end is noted.
  void Run(Script::Step handle) {
    Ref<Script> child;
    const Ref<Script> parent = system().Spawn<Script>([&](Script& self) {
      child = self.context().Spawn<Script>(SpawnOptions{.shutdown_within = absl::Seconds(1)}, [&](Script& trapping) {
        trapping.context().TrapExits([](const ExitEvent&) {}, [&](const ExitEvent&) { handle(trapping); });
      });
    });
    system().RunUntilIdle();
    const Ref<Script> watcher = system().Spawn<Script>();
    Do(watcher, [&](Script& self) {
      self.monitors.push_back(self.context().Monitor(child, [this](const Down& down) {
        ends_.push_back(down.reason);
        ended_ = system().Now();
      }));
    });
    system().RunUntilIdle();
    begin_ = system().Now();
    Do(parent, [](Script& self) { self.Fail(absl::DataLossError("disk")); });
    system().Advance(absl::Hours(2));
  }
  std::vector<ExitReason> ends_;
  MonotonicTime begin_;
  MonotonicTime ended_;
};

TEST_F(ShutdownTimeoutTest, DoesNotWaitBehindAHandlerThatDoesNotReturn) {
  Run([this](Script&) { system().seeded_executor().HoldHere(absl::Hours(1)); });
  EXPECT_THAT(ends_, ElementsAre(ExitReason::KilledHandlerRunning()));
  EXPECT_EQ(ended_ - begin_, absl::Milliseconds(1100)) << "the time to end by itself, and that of a kill";
}

TEST_F(ShutdownTimeoutTest, DoesNotTouchAnActorThatHasEnded) {
  Run([](Script& self) { self.context().Stop(ExitReason::Shutdown()); });
  EXPECT_THAT(ends_, ElementsAre(ExitReason::Shutdown()));
  EXPECT_EQ(ended_, begin_);
}

TEST_F(ShutdownTimeoutTest, ShutdownSaysThatOneRanOutOfIt) {
  (void)system().Spawn<Script>(SpawnOptions{.shutdown_within = absl::Seconds(1)}, [](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {}, [](const ExitEvent&) {});
  });
  system().RunUntilIdle();
  const MonotonicTime before = system().Now();
  EXPECT_FALSE(system().Shutdown(absl::Hours(1)));
  EXPECT_EQ(system().Now() - before, absl::Seconds(1));
  EXPECT_TRUE(system().Shutdown(absl::Hours(1))) << "nothing is left that would have to be killed";
}

TEST_F(ShutdownTimeoutTest, ShutdownSaysSoOfOneWhoseHandlerRunsOn) {
  bool has_told = false;
  (void)system().Spawn<Script>(SpawnOptions{.shutdown_within = absl::Seconds(1)}, [&](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {},
                             [&](const ExitEvent&) {
                               has_told = true;
                               system().seeded_executor().HoldHere(absl::Seconds(30));
                             });
  });
  system().RunUntilIdle();
  EXPECT_FALSE(system().Shutdown(absl::Hours(1)));
  EXPECT_TRUE(has_told);
}

TEST_F(ShutdownTimeoutTest, ShutdownSaysSoOfOneWhoseOnExitRunsOn) {
  (void)system().Spawn<Script>([this](Script& self) {
    const Ref<Script> child = self.context().Spawn<Script>(
        nullptr, [this](Script&, const ExitReason&) { system().seeded_executor().HoldHere(absl::Seconds(30)); });
    const auto stop = [&self](const Down&) { self.context().Stop(ExitReason::Shutdown()); };
    self.monitors.push_back(self.context().Monitor(child, stop));
    // Stops the child as a supervisor does whose child has a shutdown time of one second.
    self.context().TrapExits([](const ExitEvent&) {},
                             [&self, child](const ExitEvent& exit) {
                               self.context().Exit(child, exit.reason);
                               (void)self.context().StartTimer("kill", absl::Seconds(1),
                                                               [&self, child] { self.context().Kill(child); });
                             });
  });
  system().RunUntilIdle();
  EXPECT_FALSE(system().Shutdown(absl::Hours(1)));
}

TEST_F(ShutdownTimeoutTest, ShutdownIsInOrderThoughOneKillsAnother) {
  // The child is killed without being asked to end before, so this kill does not count as a missed time limit.
  (void)system().Spawn<Script>([](Script& self) {
    const Ref<Script> child = self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kUnlinked});
    self.context().TrapExits([](const ExitEvent&) {},
                             [&self, child](const ExitEvent& exit) {
                               self.context().Kill(child);
                               self.context().Stop(exit.reason);
                             });
  });
  system().RunUntilIdle();
  EXPECT_TRUE(system().Shutdown(absl::Hours(1)));
}

}  // namespace
}  // namespace understudy
