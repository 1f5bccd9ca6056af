// Monitors: OTP's monitor_SUITE. Its races are in otp_mon_race_test.cc.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/named.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using MonTest = ConformanceTest;

// OTP MON-01
TEST_F(MonTest, TheWatchedMayKillItsWatcherAndEnd) {
  Ref<Script> watched = NewScript();
  Ref<Script> watcher = NewScript();
  Ref<Script> other = NewScript();
  Watch(watcher, watched.pid(), "never");
  Watch(other, watcher.pid(), "watcher");
  Watch(other, watched.pid(), "watched");
  Step(watched, [&](Script& self) {
    self.context().Kill(watcher);
    self.context().Stop();
  });
  EXPECT_THAT(Notes(), testing::UnorderedElementsAre("watcher Killed", "watched Normal"));
}

// OTP MON-02
TEST_F(MonTest, AWatchedChildMayKillItsParentAndEnd) {
  Ref<Script> other = NewScript();
  Ref<Script> parent = NewScript();
  Ref<Script> child;
  Watch(other, parent.pid(), "parent");
  Step(parent, [&](Script& self) {
    child = self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kUnlinked});
    WatchFrom(self, child.pid(), "never");
  });
  Step(child, [&](Script& self) {
    self.context().Kill(self.context().Parent());
    self.context().Stop();
  });
  EXPECT_THAT(Notes(), ElementsAre("parent Killed"));
  EXPECT_FALSE(IsAlive(child));
}

// OTP MON-05: A monitor of an invalid target fires at once.
TEST_F(MonTest, ABadTargetAnswersByItsDown) {
  Ref<Script> watcher = NewScript();
  Watch(watcher, Pid());
  EXPECT_THAT(Notes(), ElementsAre("down NoProcess"));
  Watch(watcher, Pid::Unnamed());
  EXPECT_THAT(Notes(), ElementsAre("down NoProcess"));
  const Pid self = watcher.pid();
  Watch(watcher, Pid(self.node(), 1000000, 77));  // no actor ever had this cell
  EXPECT_THAT(Notes(), ElementsAre("down NoProcess"));
}

// OTP MON-06
TEST_F(MonTest, EndingAHandleOfNothingIsHarmless) {
  Ref<Script> watched = NewScript();
  Ref<Script> watcher = NewScript();
  Step(watcher, [&](Script& self) {
    MonitorHandle none;
    none.End();
    EXPECT_EQ(none.id(), 0U);
    MonitorHandle one = self.context().Monitor(watched, [&self](const Down&) { self.Note("moved"); });
    MonitorHandle moved = std::move(one);
    one.End();  // NOLINT(bugprone-use-after-move): it is empty now
    MonitorHandle strange(self.context().Self(), 999);
    strange.End();
    self.monitors.push_back(std::move(moved));
  });
  End(watched, ExitReason::Normal());
  EXPECT_THAT(Notes(), ElementsAre("moved"));
  Step(watcher, [](Script& self) { self.monitors.clear(); });  // the monitor has fired already
  EXPECT_THAT(Notes(), IsEmpty());
}

// OTP MON-08
TEST_F(MonTest, ADownTellsTheReasonAndForTheDeadNoProcess) {
  Ref<Script> watcher = NewScript();
  for (const bool by_name : {false, true}) {
    for (const ExitReason& reason : {ExitReason::Normal(), DiskFailed()}) {
      Ref<Script> watched = NewScript({.registered_as = "desk"}, nullptr);
      const Named<Ref<Script>> name(system(), "desk");
      Watch(watcher, by_name ? name.Resolve().pid() : watched.pid());
      End(watched, reason);
      EXPECT_THAT(Notes(), ElementsAre("down " + reason.ToString()));
      Watch(watcher, by_name ? name.Resolve().pid() : watched.pid());
      EXPECT_THAT(Notes(), ElementsAre("down NoProcess"));
    }
  }
}

// OTP MON-09, MON-14: Here for an actor of a node with which this node has no session.
TEST_F(MonTest, AWatchedActorOfAnUnreachableNodeAnswersNoConnection) {
  Ref<Script> watcher = NewScript();
  const NodePlace gone = *system().InternPeer("gone", NodeIncarnation{5});
  Watch(watcher, Pid(gone, 3, 4));
  EXPECT_THAT(Notes(), ElementsAre(StartsWith("down NoConnection")));
}

// OTP MON-19
TEST_F(MonTest, AnEarlierIncarnationAnswersAtOnce) {
  Ref<Script> watcher = NewScript();
  const NodePlace earlier = *system().InternPeer(system().name(), NodeIncarnation{system().incarnation().bits + 1});
  Watch(watcher, Pid(earlier, watcher.pid().cell(), watcher.pid().serial()));
  EXPECT_THAT(Notes(), ElementsAre(StartsWith("down No")));
  // The pid of an earlier actor in the same cell.
  Ref<Script> dead = NewScript();
  End(dead, ExitReason::Normal());
  Ref<Script> next = NewScript();
  Watch(watcher, dead.pid());
  EXPECT_THAT(Notes(), ElementsAre("down NoProcess"));
  EXPECT_TRUE(IsAlive(next));
}

// OTP MON-10
TEST_F(MonTest, WatchingOneselfNeverFiresAndDemonitorTwiceIsFine) {
  Ref<Script> one = NewScript();
  Watch(one, one.pid(), "self");
  Ref<Script> other = NewScript();
  Watch(one, other.pid(), "demonitored");
  Step(one, [](Script& self) {
    self.monitors[1].End();
    self.monitors[1].End();
    EXPECT_EQ(self.monitors[1].id(), 0U);
  });
  End(other, DiskFailed());
  EXPECT_THAT(Notes(), IsEmpty());
  End(one, DiskFailed());
  EXPECT_THAT(Notes(), IsEmpty());
}

// OTP MON-12
TEST_F(MonTest, EndingOneMonitorTakesOnlyItsOwnQueuedDown) {
  Ref<Script> watched = NewScript();
  Ref<Script> watcher = NewScript();
  for (const char* label : {"a", "b", "c", "d"}) Watch(watcher, watched.pid(), label);
  // The watched actor has ended, and four Downs are queued, when the watcher ends one of the monitors.
  Do(watched, [](Script& self) { self.context().Stop(DiskFailed()); });
  RunTask(watcher, [this](Script& self) -> Task<> {
    Ref<Script> never = system().Spawn<Script>();
    const auto asked = never[&Script::ask].Ask(1, absl::Seconds(1));
    (void)co_await asked;
    self.monitors[1].End();
    self.Note("ended b");
  });
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(Notes(), ElementsAre("ended b", "a Failed(DATA_LOSS: disk)", "c Failed(DATA_LOSS: disk)",
                                   "d Failed(DATA_LOSS: disk)"));
}

// OTP MON-15
TEST_F(MonTest, ALargeReasonArrivesUnchangedAHundredTimes) {
  Ref<Script> watcher = NewScript();
  for (int i = 0; i < 100; ++i) {
    ExitReason large = ExitReason::Failed(absl::DataLossError(std::string(2000, static_cast<char>('a' + i % 26))));
    for (int cause = 0; cause < 10; ++cause) {
      large = ExitReason::RestartsExhausted(absl::StrCat("child ", i, cause)).CausedBy(large);
    }
    ExitReason seen;
    Ref<Script> watched = NewScript();
    Step(watcher, [&](Script& self) {
      (void)self.context().Monitor(watched, [&seen](const Down& down) { seen = down.reason; }).Keep();
    });
    End(watched, large);
    ASSERT_EQ(seen, large);
    ASSERT_EQ(seen.depth(), 11);
  }
}

}  // namespace
}  // namespace understudy
