// Exits, links, traps, requests to stop, and the order of steps in which an actor ends (semantics 5).
#include <algorithm>
#include <memory>
#include <string>
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
using ::testing::IsEmpty;

class ExitTest : public ActorTest {
 protected:
  Ref<Script> NewScript(Script::Step at_start = nullptr) {
    return system().Spawn<Script>(std::move(at_start), nullptr, &notes_);
  }
  // Traps, and notes exits as "<reason>" or "parent <reason>".
  static void Trap(Script& self) {
    self.context().TrapExits([&self](const ExitEvent& event) { self.Note(event.reason.ToString()); });
  }
  static void TrapAll(Script& self) {
    const auto note = [&self](const ExitEvent& event) {
      self.Note(absl::StrCat(event.from_parent ? "parent " : "", event.reason.ToString()));
    };
    self.context().TrapExits(note, note);
  }
  void Step(Ref<Script> script, Script::Step step) {
    Do(script, std::move(step));
    system().RunUntilIdle();
  }
  void Exit(Ref<Script> script, ExitReason reason) {
    Step(script, [reason](Script& self) { self.context().Stop(reason); });
  }
  bool IsAlive(Ref<Script> script) { return script[&Script::note].Send("ping").ok(); }

  std::vector<std::string> notes_;
};

const ExitReason kFailed = ExitReason::Failed(absl::DataLossError("disk"));

TEST_F(ExitTest, ALinkedActorEndsWithTheSameReason) {
  // semantics 5.5
  Ref<Script> one = NewScript();
  Ref<Script> other = NewScript(TrapAll);
  Ref<Script> third = NewScript();
  Step(one, [&](Script& self) { self.context().Link(third); });
  Step(third, [&](Script& self) { self.context().Link(other); });
  Exit(one, kFailed);
  EXPECT_FALSE(IsAlive(third));
  EXPECT_TRUE(IsAlive(other));
  EXPECT_THAT(notes_, ElementsAre("Failed(DATA_LOSS: disk)"));
  system().Kill(other.pid());
}

TEST_F(ExitTest, LinksAreSymmetric) {
  for (const bool first_ends : {false, true}) {
    Ref<Script> one = NewScript();
    Ref<Script> other = NewScript();
    Step(one, [&](Script& self) { self.context().Link(other); });
    Exit(first_ends ? one : other, kFailed);
    EXPECT_FALSE(IsAlive(first_ends ? other : one));
  }
}

TEST_F(ExitTest, NormalDoesNotEndALinkedActorButIsTrapped) {
  Ref<Script> one = NewScript();
  Ref<Script> plain = NewScript();
  Ref<Script> trapping = NewScript(Trap);
  Step(one, [&](Script& self) {
    self.context().Link(plain);
    self.context().Link(trapping);
  });
  Exit(one, ExitReason::Normal());
  EXPECT_TRUE(IsAlive(plain));
  EXPECT_THAT(notes_, ElementsAre("Normal"));
  system().RunUntilIdle();
}

TEST_F(ExitTest, AfterUnlinkNothingOfThatLinkArrives) {
  // semantics 5.6
  Ref<Script> one = NewScript();
  Ref<Script> other = NewScript(Trap);
  Step(one, [&](Script& self) { self.context().Link(other); });
  // The exit has been sent, and its event waits, when the other unlinks.
  Do(one, [](Script& self) { self.context().Stop(kFailed); });
  Do(other, [&](Script& self) { self.context().Unlink(one); });
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_TRUE(IsAlive(other));
  system().RunUntilIdle();
}

TEST_F(ExitTest, AnExitThatIsQueuedIsTakenBackByUnlink) {
  // semantics 5.6: here unlike OTP
  ForEachSeed(50, [](uint64_t seed) {
    TestSystem system(seed);
    std::vector<std::string> notes;
    Ref<Script> one = system.Spawn<Script>();
    Ref<Script> trapping = system.Spawn<Script>(Trap, nullptr, &notes);
    Do(trapping, [&](Script& self) { self.context().Link(one); });
    system.RunUntilIdle();
    Probe<Call<int, int>> oracle(system);
    RunTask(trapping, [&](Script& self) -> Task<> {
      auto asked = oracle.channel().Ask(1, absl::Seconds(1));
      (void)co_await asked;  // meanwhile the exit is queued
      self.context().Unlink(one);
    });
    auto asked = oracle.Receive();
    system.Exit(one.pid(), kFailed);
    system.RunUntilIdle();
    asked->replier.Reply(1);
    system.RunUntilIdle();
    EXPECT_THAT(notes, IsEmpty());
    ExpectNothingLost(system);
  });
}

TEST_F(ExitTest, LinkingTheDeadAnswersNoProcess) {
  Ref<Script> dead = NewScript();
  Exit(dead, ExitReason::Normal());
  Ref<Script> trapping = NewScript(Trap);
  Step(trapping, [&](Script& self) { self.context().Link(dead); });
  EXPECT_THAT(notes_, ElementsAre("NoProcess"));
  Ref<Script> plain = NewScript();
  Step(plain, [&](Script& self) { self.context().Link(dead); });
  EXPECT_FALSE(IsAlive(plain));
}

TEST_F(ExitTest, LinkingNobodyIsNoParentsExit) {
  Ref<Script> trapping = NewScript(Trap);
  Step(trapping, [](Script& self) {
    self.context().Link(Ref<Script>());
    self.context().Link(Pid::Unnamed());
  });
  EXPECT_THAT(notes_, ElementsAre("NoProcess", "NoProcess"));
  EXPECT_TRUE(IsAlive(trapping));
}

TEST_F(ExitTest, AMonitorFiresOnceAndItsWatcherLives) {
  // semantics 5.6
  Ref<Script> watched = NewScript();
  Ref<Script> watcher = NewScript();
  Step(watcher, [&](Script& self) {
    for (int i = 0; i < 2; ++i) {
      self.monitors.push_back(self.context().Monitor(watched, [&self, watched](const Down& down) {
        EXPECT_EQ(down.pid, watched.pid());
        EXPECT_TRUE(down.monitor == self.monitors[0].id() || down.monitor == self.monitors[1].id());
        self.Note(down.reason.ToString());
      }));
    }
  });
  Exit(watched, kFailed);
  EXPECT_THAT(notes_, ElementsAre("Failed(DATA_LOSS: disk)", "Failed(DATA_LOSS: disk)"));
  Step(watcher, [&](Script& self) {
    self.monitors.push_back(
        self.context().Monitor(watched, [&self](const Down& down) { self.Note(down.reason.ToString()); }));
  });
  EXPECT_EQ(notes_.back(), "NoProcess");
}

TEST_F(ExitTest, AMonitorThatIsDestroyedTakesItsQueuedDownWithIt) {
  Ref<Script> watched = NewScript();
  Ref<Script> watcher = NewScript();
  Step(watcher, [&](Script& self) {
    self.monitors.push_back(self.context().Monitor(watched, [&self](const Down&) { self.Note("down"); }));
    (void)self.context().Monitor(watched, [&self](const Down&) { self.Note("kept"); }).Keep();
  });
  Do(watched, [](Script& self) { self.context().Stop(); });
  Do(watcher, [](Script& self) { self.monitors.clear(); });
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("kept"));
}

TEST_F(ExitTest, KillCannotBeTrappedRunsNoOnExitAndIsSeenAsKilled) {
  // semantics 5.9
  Ref<Script> victim =
      system().Spawn<Script>(TrapAll, [](Script& self, const ExitReason&) { self.Note("OnExit"); }, &notes_);
  Ref<Script> watcher = NewScript(Trap);
  Step(watcher, [&](Script& self) { self.context().Link(victim); });
  Step(watcher, [&](Script& self) { self.context().Kill(victim); });
  EXPECT_THAT(notes_, ElementsAre("Killed"));
}

TEST_F(ExitTest, ExitOvertakesWhatWaitsAndRequestStopDoesNot) {
  // semantics 5.8
  Ref<Script> one = NewScript();
  Ref<Script> other = NewScript();
  system().RunUntilIdle();
  for (const char* note : {"a", "b"}) {
    one[&Script::note].Tell(absl::StrCat("one ", note));
    other[&Script::note].Tell(absl::StrCat("other ", note));
  }
  system().Exit(one.pid(), ExitReason::Shutdown());
  system().RequestStop(other.pid());
  other[&Script::note].Tell("after the request");
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("other a", "other b"));
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 3);
  EXPECT_FALSE(IsAlive(other));
}

TEST_F(ExitTest, ARequestToStopMayBeHandled) {
  Ref<Script> stubborn = NewScript([](Script& self) {
    self.context().TrapStops([&self](const StopRequest& request) { self.Note(request.reason.ToString()); });
  });
  system().RunUntilIdle();
  system().RequestStop(stubborn.pid(), kFailed);
  system().RunUntilIdle();
  EXPECT_TRUE(IsAlive(stubborn));
  EXPECT_THAT(notes_, ElementsAre("Failed(DATA_LOSS: disk)"));
  system().RunUntilIdle();
}

TEST_F(ExitTest, RequestsToStopAndExitsThatWaitGoToTheHandlersThatAreSetWhenTheirTurnComes) {
  const Ref<Script> stubborn =
      NewScript([](Script& self) { self.context().TrapExits([&self](const ExitEvent&) { self.Note("the first"); }); });
  system().RunUntilIdle();
  Do(stubborn, [](Script& self) {
    self.context().TrapStops([&self](const StopRequest& request) { self.Note(request.reason.ToString()); });
    self.context().TrapExits([&self](const ExitEvent& exit) { self.Note(exit.reason.ToString()); });
  });
  system().RequestStop(stubborn.pid());
  Do(stubborn, [](Script& self) { self.context().Exit(self.context().Self(), kFailed); });
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("Shutdown", "Failed(DATA_LOSS: disk)"));
  EXPECT_TRUE(IsAlive(stubborn));
}

TEST_F(ExitTest, ExitEndsWhoDoesNotTrapUnlessNormal) {
  Ref<Script> one = NewScript();
  Ref<Script> other = NewScript();
  Step(other, [&](Script& self) { self.context().Exit(one, ExitReason::Normal()); });
  EXPECT_TRUE(IsAlive(one));
  Step(other, [&](Script& self) { self.context().Exit(one, kFailed); });
  EXPECT_FALSE(IsAlive(one));
  Step(other, [&](Script& self) { self.context().Exit(self.context().Self(), ExitReason::Normal()); });
  EXPECT_FALSE(IsAlive(other)) << "Normal ends oneself";
}

// A parent whose child traps.
class ParentTest : public ExitTest {
 protected:
  void Start(SpawnOptions options, Script::Step at_start) {
    parent_ = NewScript([this, options, at_start](Script& self) {
      child_ = self.context().Spawn<Script>(options, at_start, nullptr, &notes_);
    });
    system().RunUntilIdle();
  }
  Ref<Script> parent_;
  Ref<Script> child_;
};

TEST_F(ParentTest, SpawnLinksInOneStep) {
  // semantics 5.7
  Start({}, nullptr);
  Exit(child_, kFailed);
  EXPECT_FALSE(IsAlive(parent_));
}

TEST_F(ParentTest, AnUnlinkedChildLivesOn) {
  Start({.link = SpawnLink::kUnlinked}, nullptr);
  Exit(parent_, kFailed);
  EXPECT_TRUE(IsAlive(child_));
  system().Exit(child_.pid(), kFailed);
  system().RunUntilIdle();
}

TEST_F(ParentTest, AParentsExitThatIsNotHandledEndsATrappingChild) {
  // semantics 5.7
  Start({}, Trap);
  Exit(parent_, kFailed);
  EXPECT_FALSE(IsAlive(child_));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(ParentTest, AChildThatHandlesItHasItsShutdownTimeoutAndIsThenKilled) {
  // semantics 5.7
  Start({.shutdown_within = absl::Seconds(3)}, TrapAll);
  Ref<Script> watcher = NewScript();
  Step(watcher, [&](Script& self) {
    self.monitors.push_back(
        self.context().Monitor(child_, [&self](const Down& down) { self.Note(down.reason.ToString()); }));
  });
  Exit(parent_, ExitReason::Shutdown());
  EXPECT_THAT(notes_, ElementsAre("parent Shutdown"));
  system().Advance(absl::Milliseconds(2999));
  EXPECT_TRUE(IsAlive(child_));
  system().Advance(absl::Milliseconds(1));
  EXPECT_EQ(notes_.back(), "Killed");
}

TEST_F(ParentTest, AChildMayComeToHandleItWhileItWaits) {
  Start({}, Trap);
  Do(child_, [](Script& self) { TrapAll(self); });
  Step(parent_, [&](Script& self) { self.context().Exit(child_, kFailed); });
  EXPECT_THAT(notes_, ElementsAre("parent Failed(DATA_LOSS: disk)"));
  EXPECT_TRUE(IsAlive(child_));
  system().Kill(child_.pid());
}

TEST_F(ParentTest, AChildThatHandlesItMayEndByItself) {
  Start({}, [](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {},
                             [&self](const ExitEvent& event) {
                               self.Note("saving");
                               self.context().Stop(event.reason);
                             });
  });
  Exit(parent_, ExitReason::Shutdown());
  EXPECT_FALSE(IsAlive(child_));
  EXPECT_THAT(notes_, ElementsAre("saving"));
}

TEST_F(ParentTest, AnExitOfAnotherIsNoParents) {
  Start({}, TrapAll);
  Ref<Script> stranger = NewScript();
  Step(stranger, [&](Script& self) { self.context().Exit(child_, ExitReason::Shutdown()); });
  Step(parent_, [&](Script& self) { self.context().Exit(child_, kFailed); });
  EXPECT_THAT(notes_, ElementsAre("Shutdown", "parent Failed(DATA_LOSS: disk)"));
  system().Kill(child_.pid());
}

TEST_F(ParentTest, UnlinkingTakesTheParentsQueuedExitAndItsTimeoutBack) {
  Probe<Call<int, int>> oracle(system());
  Start({.shutdown_within = absl::Seconds(3)}, TrapAll);
  RunTask(child_, [&](Script& self) -> Task<> {
    auto asked = oracle.channel().Ask(1, absl::Seconds(60));
    (void)co_await asked;
    self.context().Unlink(self.context().Parent());
  });
  auto asked = oracle.Receive();
  Exit(parent_, kFailed);
  asked->replier.Reply(1);
  system().Advance(absl::Minutes(1));
  EXPECT_TRUE(IsAlive(child_));
  EXPECT_THAT(notes_, IsEmpty());
  system().Kill(child_.pid());
}

TEST_F(ParentTest, UnlinkingTakesNoExitBackThatTheParentSent) {
  Probe<Call<int, int>> oracle(system());
  Start({.link = SpawnLink::kUnlinked, .shutdown_within = absl::Seconds(3)}, TrapAll);
  RunTask(child_, [&](Script& self) -> Task<> {
    auto asked = oracle.channel().Ask(1, absl::Seconds(60));
    (void)co_await asked;
    self.context().Unlink(self.context().Parent());
  });
  auto asked = oracle.Receive();
  Step(parent_, [&](Script& self) { self.context().Exit(child_, ExitReason::Shutdown()); });
  asked->replier.Reply(1);
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(notes_, ElementsAre("parent Shutdown"));
  EXPECT_TRUE(IsAlive(child_));
  system().Advance(absl::Seconds(1));
  EXPECT_FALSE(IsAlive(child_)) << "it has its shutdown timeout";
}

// Notes its destruction.
struct Tomb {
  std::vector<std::string>* notes;
  std::string what;
  Tomb(std::vector<std::string>* all, std::string name) : notes(all), what(std::move(name)) {}
  Tomb(const Tomb&) = delete;
  ~Tomb() { notes->push_back(what); }
};

// Has two suspended handlers, a member, a name and a watcher when it ends.
class Dying final : public Actor {
 public:
  Mailbox<"wait", std::string> wait{this};
  Dying(std::vector<std::string>* notes, Channel<Call<int, int>> oracle)
      : member_(notes, "object"), notes_(notes), oracle_(oracle) {}
  StartResult Start() override { return waiting_; }
  void OnExit(const ExitReason& reason) override { notes_->push_back("OnExit " + reason.ToString()); }

 private:
  Task<> Wait(const std::string& what) {
    const Tomb frame(notes_, what);
    auto asked = oracle_.Ask(1, absl::Hours(1));
    (void)co_await asked;
  }
  const Tomb member_;
  std::vector<std::string>* notes_;
  Channel<Call<int, int>> oracle_;
  Behavior waiting_{"waiting", On(wait, &Dying::Wait).Interleaved()};
};

TEST_F(ExitTest, AnActorEndsInItsOrder) {
  // semantics 5.4: suspended handlers newest first, OnExit, the object, names, exits and Downs
  Probe<Call<int, int>> oracle(system());
  Ref<Dying> dying = system().Spawn<Dying>(SpawnOptions{.registered_as = "dying"}, &notes_, oracle.channel());
  Ref<Script> watcher = NewScript();
  Step(watcher, [&](Script& self) {
    self.monitors.push_back(self.context().Monitor(dying, [&](const Down&) {
      notes_.push_back(system().WhereIs("dying").has_value() ? "Down before the name" : "Down after the name");
    }));
  });
  for (const char* frame : {"frame 1", "frame 2"}) dying[&Dying::wait].Tell(frame);
  system().RunUntilIdle();
  EXPECT_TRUE(system().WhereIs("dying").has_value());
  system().Exit(dying.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("frame 2", "frame 1", "OnExit Shutdown", "object", "Down after the name"));
  (void)oracle.ReceiveAll();
}

TEST_F(ExitTest, OnExitMaySend) {
  Ref<Script> other = NewScript();
  Ref<Script> one = system().Spawn<Script>(
      nullptr,
      [other](Script&, const ExitReason& reason) { other[&Script::note].Tell("last words: " + reason.ToString()); },
      &notes_);
  system().RunUntilIdle();
  system().Exit(one.pid(), kFailed);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("last words: Failed(DATA_LOSS: disk)"));
}

}  // namespace
}  // namespace understudy
