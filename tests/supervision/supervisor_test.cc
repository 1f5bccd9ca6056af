// The supervisor as an actor on the seeded executor. Each test runs with many seeds, because its guarantee must not
// depend on the order of turns.
#include "understudy/supervision/supervisor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/existing_child.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(1);

class SupervisorTest : public testing::TestWithParam<uint64_t> {
 protected:
  ChildBuilder Perm(const std::string& name) { return Of<Worker>(name, journal_, ManOf(name)); }
  ChildBuilder Trans(const std::string& name) { return Of<Worker>(name, journal_, ManOf(name)).Transient(); }
  ChildBuilder Temp(const std::string& name) { return Of<Worker>(name, journal_, ManOf(name)).Temporary(); }
  std::shared_ptr<Manner> ManOf(const std::string& name) {
    std::shared_ptr<Manner>& manner = manners_[name];
    if (manner == nullptr) manner = std::make_shared<Manner>();
    return manner;
  }

  SupervisorRef Spawn(const SupervisorBuilder& tree) {
    launcher_ = system_.Spawn<Launcher>(tree, life_);
    system_.RunUntilIdle();
    return SupervisorRef(life_->pid());
  }
  std::vector<ChildInfo> ChildrenOf(SupervisorRef supervisor) {
    absl::StatusOr<Children> children = system_.Ask(supervisor.which_children(), WhichChildren(), kSoon);
    EXPECT_TRUE(children.ok()) << children.status();
    return children.ok() ? children->children : std::vector<ChildInfo>();
  }
  // Returns the states of the children as text, such as "a running, b stopped".
  std::string StatesOf(SupervisorRef supervisor) {
    std::vector<std::string> states;
    for (const ChildInfo& child : ChildrenOf(supervisor)) {
      states.push_back(absl::StrCat(child.id, " ", ChildStateName(child.state)));
    }
    return absl::StrJoin(states, ", ");
  }
  Pid PidOf(SupervisorRef supervisor, const std::string& id) {
    for (const ChildInfo& child : ChildrenOf(supervisor)) {
      if (child.id == id) return child.pid;
    }
    return Pid();
  }
  Ref<Worker> WorkerOf(SupervisorRef supervisor, const std::string& id) { return Ref<Worker>(PidOf(supervisor, id)); }
  void CrashChild(SupervisorRef supervisor, const std::string& id) {
    WorkerOf(supervisor, id)[&Worker::crash].Tell(Crash());
    system_.RunUntilIdle();
  }
  void EndChild(SupervisorRef supervisor, const std::string& id, const ExitReason& reason) {
    WorkerOf(supervisor, id)[&Worker::end].Tell(End{reason});
    system_.RunUntilIdle();
  }
  // Sends the root an exit signal of its parent.
  void ExitRoot(const ExitReason& reason = ExitReason::Shutdown()) {
    launcher_[&Launcher::exit].Tell(End{reason});
    system_.RunUntilIdle();
  }
  // Lets time pass until the root has ended, and returns its exit reason.
  ExitReason EndOfRoot() {
    for (int i = 0; i < 3600 && !life_->has_ended(); ++i) system_.Advance(absl::Seconds(1));
    EXPECT_TRUE(life_->has_ended());
    return life_->has_ended() ? life_->end() : ExitReason();
  }

  TestSystem system_{GetParam()};
  std::shared_ptr<RootLife> life_ = std::make_shared<RootLife>();
  Ref<Launcher> launcher_;
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  std::map<std::string, std::shared_ptr<Manner>> manners_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, SupervisorTest, testing::Range<uint64_t>(1, 51));

// OTP SUP-01
TEST_P(SupervisorTest, WithoutChildrenStartsAndEndsWithShutdown) {
  const SupervisorRef root = Spawn(OneForOne());
  EXPECT_EQ(StatesOf(root), "");
  EXPECT_TRUE(life_->has_started());
  ExitRoot();
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
}

// OTP SUP-67
TEST_P(SupervisorTest, StartsChildrenInOrderAndStopsThemInReverse) {
  const SupervisorRef root = Spawn(OneForAll().Child("a", Perm("a")).Child("b", Perm("b")).Child("c", Perm("c")));
  EXPECT_EQ(journal_->Take(), "start a, start b, start c");
  CrashChild(root, "b");
  EXPECT_EQ(journal_->Take(), "end b Exception, end c Shutdown, end a Shutdown, start a, start b, start c");
  ExitRoot();
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
  EXPECT_EQ(journal_->Take(), "end c Shutdown, end b Shutdown, end a Shutdown");
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(SupervisorTest, ARequestStopEndsItInOrderWithItsReason) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")));
  journal_->Take();
  const ExitReason why = ExitReason::Failed(absl::UnavailableError("maintenance"));
  system_.RequestStop(root.pid(), why);
  EXPECT_EQ(EndOfRoot(), why);
  EXPECT_EQ(journal_->Take(), "end b Shutdown, end a Shutdown");
}

// OTP SUP-09
TEST_P(SupervisorTest, AChildThatCannotStartStopsWhatWasStartedAndFailsItWithTheReason) {
  ManOf("c")->start_fails = absl::UnavailableError("the file is locked");
  Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")).Child("c", Perm("c")));
  EXPECT_EQ(EndOfRoot().ToString(),
            "Failed(UNAVAILABLE: child 'c' could not start); because of Failed(UNAVAILABLE: the file is "
            "locked)");
  EXPECT_EQ(journal_->Take(), "start a, start b, start c, end c Failed, end b Shutdown, end a Shutdown");
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(SupervisorTest, AStartThatThrowsIsAFailedStart) {
  ManOf("a")->start_throws = true;
  Spawn(OneForOne().Child("a", Perm("a")));
  EXPECT_THAT(EndOfRoot().ToString(), testing::HasSubstr("because of Exception(std::runtime_error: a cannot)"));
}

TEST_P(SupervisorTest, ABadTreeFailsItsStartWithEveryError) {
  const SupervisorBuilder tree = OneForOne().Intensity(-1, kSoon).Child("a", Perm("a")).Child("a", Perm("a"));
  Spawn(tree);
  EXPECT_EQ(EndOfRoot().status(), tree.Validate());
  EXPECT_EQ(EndOfRoot().status().message(),
            "2 errors in the supervision tree:\n"
            "  intensity: -1 is negative; 0 or more restarts may be allowed\n"
            "  child 'a': id: given to 2 children; each needs its own");
  EXPECT_EQ(journal_->Take(), "");
}

// OTP SUP-03, SUP-04
TEST_P(SupervisorTest, AChildThatDeclinesKeepsItsSpecUnlessTemporary) {
  ManOf("b")->start_declines = true;
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")).Child("c", Temp("b")));
  EXPECT_EQ(StatesOf(root), "a running, b stopped");
  const ChildCounts counts = *system_.Ask(root.count_children(), CountChildren(), kSoon);
  EXPECT_EQ(counts.specs, 2);
  EXPECT_EQ(counts.active, 1);
  EXPECT_EQ(counts.workers, 2);
}

// OTP SUP-26
TEST_P(SupervisorTest, OneForOneReplacesOnlyTheDeadChild) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")));
  const Pid a = PidOf(root, "a");
  const Pid b = PidOf(root, "b");
  CrashChild(root, "a");
  EXPECT_NE(PidOf(root, "a"), a);
  EXPECT_EQ(PidOf(root, "b"), b);
}

// OTP SUP-28
TEST_P(SupervisorTest, OneForAllReplacesAll) {
  const SupervisorRef root = Spawn(OneForAll().Child("a", Perm("a")).Child("b", Perm("b")));
  const Pid a = PidOf(root, "a");
  const Pid b = PidOf(root, "b");
  CrashChild(root, "a");
  EXPECT_NE(PidOf(root, "a"), a);
  EXPECT_NE(PidOf(root, "b"), b);
  EXPECT_EQ(StatesOf(root), "a running, b running");
}

// OTP SUP-36
TEST_P(SupervisorTest, RestForOneReplacesTheDeadChildAndThoseAfterIt) {
  const SupervisorRef root = Spawn(RestForOne().Child("a", Perm("a")).Child("b", Perm("b")).Child("c", Perm("c")));
  const Pid a = PidOf(root, "a");
  journal_->Take();
  CrashChild(root, "b");
  EXPECT_EQ(journal_->Take(), "end b Exception, end c Shutdown, start b, start c");
  EXPECT_EQ(PidOf(root, "a"), a);
}

// OTP SUP-40, SUP-41, SUP-42, SUP-47
TEST_P(SupervisorTest, TheRestartTypeDecidesWhichChildIsRestarted) {
  const SupervisorRef root =
      Spawn(OneForOne().Intensity(10, kSoon).Child("p", Perm("p")).Child("r", Trans("r")).Child("t", Temp("t")));
  EndChild(root, "p", ExitReason::Shutdown());
  EXPECT_EQ(StatesOf(root), "p running, r running, t running");
  CrashChild(root, "r");
  EXPECT_EQ(StatesOf(root), "p running, r running, t running");
  EndChild(root, "r", ExitReason::Normal());
  EXPECT_EQ(StatesOf(root), "p running, r stopped, t running");
  CrashChild(root, "t");
  EXPECT_EQ(StatesOf(root), "p running, r stopped");
}

TEST_P(SupervisorTest, AKilledChildIsRestarted) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Trans("a")));
  const Pid a = PidOf(root, "a");
  system_.Kill(a);
  system_.RunUntilIdle();
  EXPECT_NE(PidOf(root, "a"), a);
}

// OTP SUP-51: An inner supervisor that gives up is restarted by its parent.
TEST_P(SupervisorTest, ATreeEscalatesAndTheCauseChainNamesWhatWasWrong) {
  auto inner = OneForOne().Intensity(1, kSoon).Child("ledger", Perm("ledger"));
  const SupervisorRef root =
      Spawn(OneForAll().Intensity(1, kSoon).Child("bank", Of(inner)).Child("shop", Perm("shop")));
  const SupervisorRef bank(Ref<Supervisor>(PidOf(root, "bank")));
  CrashChild(bank, "ledger");
  EXPECT_EQ(PidOf(root, "bank"), bank.pid());
  ManOf("ledger")->start_fails = absl::UnavailableError("the file is locked");
  CrashChild(bank, "ledger");
  EXPECT_EQ(EndOfRoot().ToString(),
            "RestartsExhausted(child 'bank' needed 2 restarts within 1s; 1 is allowed); "
            "because of Failed(UNAVAILABLE: child 'ledger' could not start); "
            "because of Failed(UNAVAILABLE: the file is locked)");
  EXPECT_EQ(system_.live_actors(), 0);
}

// OTP SUP-51
TEST_P(SupervisorTest, ATransientInnerSupervisorThatGaveUpIsRestartedToo) {
  auto inner = OneForOne().Intensity(0, kSoon).Child("x", Perm("x"));
  const SupervisorRef root = Spawn(OneForOne().Child("inner", Of(inner).Transient()));
  const SupervisorRef before(Ref<Supervisor>(PidOf(root, "inner")));
  CrashChild(before, "x");
  const SupervisorRef after(Ref<Supervisor>(PidOf(root, "inner")));
  EXPECT_NE(before, after);
  EXPECT_EQ(StatesOf(after), "x running");
}

TEST_P(SupervisorTest, NestedSupervisorsAreStartedWhenTheirChildrenAreAndStopInReverse) {
  auto inner = OneForOne().Child("b", Perm("b")).Child("c", Perm("c"));
  Spawn(OneForOne().Child("a", Perm("a")).Child("i", Of(inner)).Child("d", Perm("d")));
  EXPECT_EQ(journal_->Take(), "start a, start b, start c, start d");
  ExitRoot();
  EndOfRoot();
  EXPECT_EQ(journal_->Take(), "end d Shutdown, end c Shutdown, end b Shutdown, end a Shutdown");
}

// OTP SUP-17
TEST_P(SupervisorTest, AChildThatIgnoresShutdownIsKilledAfterItsTime) {
  ManOf("b")->ignores_shutdown = true;
  Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b").ShutdownWithin(absl::Seconds(3))));
  journal_->Take();
  ExitRoot();
  system_.Advance(absl::Seconds(3) - absl::Nanoseconds(1));
  EXPECT_EQ(journal_->Take(), "asked b");
  EXPECT_FALSE(life_->has_ended());
  system_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
  EXPECT_EQ(journal_->Take(), "end a Shutdown");  // b was killed, so its OnExit did not run
}

TEST_P(SupervisorTest, AChildMayTakeItsTimeToStop) {
  ManOf("a")->stop_takes = absl::Seconds(4);
  Spawn(OneForOne().Child("a", Perm("a")));
  journal_->Take();
  ExitRoot();
  system_.Advance(absl::Seconds(4));
  EXPECT_TRUE(life_->has_ended());
  EXPECT_EQ(journal_->Take(), "asked a, end a Shutdown");
}

// OTP SUP-16
TEST_P(SupervisorTest, ASupervisorWaitsForAChildWithoutAShutdownLimit) {
  ManOf("a")->stop_takes = absl::Minutes(50);
  Spawn(OneForOne().Child("a", Perm("a").ShutdownWithoutLimit()));
  journal_->Take();
  ExitRoot();
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
  EXPECT_EQ(journal_->Take(), "asked a, end a Shutdown");
}

// OTP SUP-18
TEST_P(SupervisorTest, BrutalKillAsksNobody) {
  Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b").BrutalKill()));
  journal_->Take();
  ExitRoot();
  EndOfRoot();
  EXPECT_EQ(journal_->Take(), "end a Shutdown");
}

TEST_P(SupervisorTest, AKilledSupervisorLeavesNoOrphan) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")).Child("i", Of(OneForOne().Child("b", Perm("b")))));
  system_.Kill(root.pid());
  system_.RunUntilIdle();
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(SupervisorTest, ARegisteredNameFollowsTheChild) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a").RegisteredAs("book")));
  EXPECT_EQ(system_.WhereIs("book"), PidOf(root, "a"));
  const Pid before = PidOf(root, "a");
  CrashChild(root, "a");
  EXPECT_EQ(system_.WhereIs("book"), PidOf(root, "a"));
  EXPECT_NE(PidOf(root, "a"), before);
}

TEST_P(SupervisorTest, AChildThatLostItsNameIsStartedAgainWhenTheOtherOwnerEnds) {
  const SupervisorRef root = Spawn(OneForOne().Intensity(0, kSoon).Child("a", Perm("a").RegisteredAs("book")));
  const Ref<Worker> before = WorkerOf(root, "a");
  EndChild(root, "a", ExitReason::NameConflict("book"));
  EXPECT_EQ(StatesOf(root), "a parked");
  const Ref<Worker> rival = system_.Spawn<Worker>(SpawnOptions{.registered_as = "book"}, "rival", journal_);
  system_.RunUntilIdle();
  EXPECT_EQ(StatesOf(root), "a parked");
  rival[&Worker::end].Tell(End());
  system_.RunUntilIdle();
  EXPECT_EQ(StatesOf(root), "a running");
  EXPECT_EQ(system_.WhereIs("book"), PidOf(root, "a"));
  EXPECT_NE(PidOf(root, "a"), before.pid());
}

TEST_P(SupervisorTest, AChildThatFindsItsNameTakenWaitsForItAndIsNoFailure) {
  const Ref<Worker> rival = system_.Spawn<Worker>(SpawnOptions{.registered_as = "book"}, "rival", journal_);
  system_.RunUntilIdle();
  const SupervisorRef root = Spawn(OneForOne().Intensity(0, kSoon).Child("a", Perm("a").RegisteredAs("book")));
  EXPECT_EQ(StatesOf(root), "a parked");
  rival[&Worker::end].Tell(End());
  system_.RunUntilIdle();
  EXPECT_EQ(StatesOf(root), "a running");
  EXPECT_EQ(system_.WhereIs("book"), PidOf(root, "a"));
}

TEST_P(SupervisorTest, OfOneForAllAParkedChildKeepsItsSiblingsDownUntilItsNameIsFree) {
  const Ref<Worker> rival = system_.Spawn<Worker>(SpawnOptions{.registered_as = "book"}, "rival", journal_);
  system_.RunUntilIdle();
  const SupervisorRef root = Spawn(OneForAll().Child("a", Perm("a")).Child("b", Perm("b").RegisteredAs("book")));
  journal_->Take();
  system_.Advance(absl::Seconds(35));
  EXPECT_EQ(journal_->Take(), "") << "no child was started only to be stopped again";
  rival[&Worker::end].Tell(End());
  system_.RunUntilIdle();
  EXPECT_EQ(StatesOf(root), "a running, b running");
}

TEST_P(SupervisorTest, AStartThatTakesTooLongFails) {
  ManOf("a")->start_hangs = true;
  Spawn(OneForOne().Child("a", Perm("a").StartWithin(absl::Seconds(2))));
  EXPECT_EQ(EndOfRoot().ToString(), "Failed(DEADLINE_EXCEEDED: child 'a' could not start); because of StartTimeout");
}

TEST_P(SupervisorTest, AnswersWhileAChildStarts) {
  ManOf("b")->start_hangs = true;
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")).Child("c", Perm("c")));
  EXPECT_EQ(StatesOf(root), "a running, b starting, c stopped");
  EXPECT_FALSE(life_->has_started());
  WorkerOf(root, "b")[&Worker::finish_start].Tell(FinishStart());
  system_.RunUntilIdle();
  EXPECT_EQ(StatesOf(root), "a running, b running, c running");
  EXPECT_TRUE(life_->has_started());
}

TEST_P(SupervisorTest, AnswersEveryRequestAtOnceWhileOneChildStartsAndAnotherStops) {
  ManOf("a")->stop_takes = absl::Seconds(4);
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")).Child("c", Perm("c")));
  ManOf("b")->start_hangs = true;
  CrashChild(root, "b");
  RunTask(system_.Spawn<Script>(), [root](Script&) -> Task<> {
    auto terminating = root.terminate_child().Ask({"a"}, absl::Hours(1));
    const absl::StatusOr<ChildDone> terminated = co_await terminating;
    EXPECT_TRUE(terminated.ok()) << terminated.status();
  });
  system_.RunUntilIdle();
  const MonotonicTime before = system_.Now();
  EXPECT_EQ(StatesOf(root), "a stopping, b starting, c running");
  EXPECT_EQ(system_.Ask(root.count_children(), CountChildren(), kSoon)->specs, 3);
  EXPECT_EQ(system_.Ask(root.get_child_spec(), GetChildSpec{"b"}, kSoon)->id, "b");
  EXPECT_TRUE(system_.Ask(root.start_child(), StartChild{Perm("d").Spec("d")}, kSoon).ok());
  EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"c"}, kSoon).ok());
  EXPECT_TRUE(system_.Ask(root.restart_child(), RestartChild{"c"}, kSoon).ok());
  EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"d"}, kSoon).ok());
  EXPECT_TRUE(system_.Ask(root.delete_child(), DeleteChild{"d"}, kSoon).ok());
  EXPECT_EQ(StatesOf(root), "a stopping, b starting, c running");
  EXPECT_EQ(system_.Now(), before);
}

TEST_P(SupervisorTest, ShutdownCancelsItsOwnStart) {
  ManOf("b")->start_hangs = true;
  Spawn(OneForOne().Child("a", Perm("a")).Child("b", Perm("b")));
  journal_->Take();
  ExitRoot();
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
  EXPECT_EQ(journal_->Take(), "end b Shutdown, end a Shutdown");
}

TEST_P(SupervisorTest, ChildrenAreAddedTerminatedRestartedAndDeletedByRequest) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a")));
  const absl::StatusOr<ChildStarted> added = system_.Ask(root.start_child(), StartChild{Perm("b").Spec("b")}, kSoon);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->pid, PidOf(root, "b"));
  EXPECT_EQ(ExistingChild(system_.Ask(root.start_child(), StartChild{Perm("b").Spec("b")}, kSoon).status()),
            PidOf(root, "b"));
  EXPECT_EQ(system_.Ask(root.delete_child(), DeleteChild{"b"}, kSoon).status().ToString(),
            "FAILED_PRECONDITION: child 'b' is running; terminate it first");
  EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"b"}, kSoon).ok());
  EXPECT_EQ(StatesOf(root), "a running, b stopped");
  ManOf("b")->start_fails = absl::NotFoundError("no table");
  EXPECT_EQ(system_.Ask(root.restart_child(), RestartChild{"b"}, kSoon).status().ToString(),
            "NOT_FOUND: child 'b' could not start: Failed(NOT_FOUND: no table)");
  ManOf("b")->start_fails = absl::OkStatus();
  const absl::StatusOr<ChildStarted> restarted = system_.Ask(root.restart_child(), RestartChild{"b"}, kSoon);
  ASSERT_TRUE(restarted.ok()) << restarted.status();
  EXPECT_NE(restarted->pid, added->pid);
  EXPECT_EQ(system_.Ask(root.get_child_spec(), GetChildSpec{"b"}, kSoon)->id, "b");
  EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"b"}, kSoon).ok());
  EXPECT_TRUE(system_.Ask(root.delete_child(), DeleteChild{"b"}, kSoon).ok());
  EXPECT_EQ(system_.Ask(root.get_child_spec(), GetChildSpec{"b"}, kSoon).status().ToString(),
            "NOT_FOUND: there is no child 'b'");
}

// OTP SUP-54
TEST_P(SupervisorTest, AChildInBackoffIsRestartingUntilItsTimeComes) {
  ManOf("a");
  const SupervisorRef root =
      Spawn(OneForOne().Child("a", Perm("a").Backoff({.min = absl::Seconds(4), .jitter = 0})).Child("b", Perm("b")));
  CrashChild(root, "a");
  EXPECT_EQ(StatesOf(root), "a running, b running");
  CrashChild(root, "a");
  EXPECT_EQ(StatesOf(root), "a restarting, b running");
  EXPECT_EQ(system_.Ask(root.count_children(), CountChildren(), kSoon)->active, 1);
  system_.Advance(absl::Seconds(3));
  EXPECT_EQ(StatesOf(root), "a restarting, b running");
  system_.Advance(absl::Seconds(1));
  EXPECT_EQ(StatesOf(root), "a running, b running");
}

TEST_P(SupervisorTest, TerminateEndsABackoff) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Perm("a").Backoff({.min = absl::Seconds(4)})));
  CrashChild(root, "a");
  CrashChild(root, "a");
  EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"a"}, kSoon).ok());
  system_.Advance(absl::Minutes(5));
  EXPECT_EQ(StatesOf(root), "a stopped");
}

// OTP SUP-77: The auto-shutdown of an inner supervisor shuts down the outer one.
TEST_P(SupervisorTest, AutoShutdownEscalatesThroughSignificantSupervisors) {
  auto inner = OneForOne()
                   .AutoShutdown(AutoShutdown::kAnySignificant)
                   .Child("s", Trans("s").Significant())
                   .Child("x", Perm("x"));
  const SupervisorRef root = Spawn(OneForOne()
                                       .AutoShutdown(AutoShutdown::kAnySignificant)
                                       .Child("inner", Of(inner).Transient().Significant())
                                       .Child("y", Perm("y")));
  journal_->Take();
  const SupervisorRef inner_ref(Ref<Supervisor>(PidOf(root, "inner")));
  EndChild(inner_ref, "s", ExitReason::Normal());
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
  EXPECT_EQ(journal_->Take(), "end s Normal, end x Shutdown, end y Shutdown");
}

TEST_P(SupervisorTest, ManyCrashesAtOnceAreEachRestarted) {
  auto tree = OneForOne().Intensity(100, kSoon);
  for (int i = 0; i < 20; ++i) tree.Child(absl::StrCat("w", i), Perm(absl::StrCat("w", i)));
  const SupervisorRef root = Spawn(tree);
  for (int round = 0; round < 3; ++round) {
    for (const ChildInfo& child : ChildrenOf(root)) Ref<Worker>(child.pid)[&Worker::crash].Tell(Crash());
    system_.RunUntilIdle();
  }
  for (const ChildInfo& child : ChildrenOf(root)) {
    EXPECT_EQ(child.state, ChildState::kRunning);
    EXPECT_EQ(child.restarts, 3);
  }
}

}  // namespace
}  // namespace understudy
