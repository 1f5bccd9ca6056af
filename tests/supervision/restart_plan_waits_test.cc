#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

// ---- Names ----

SupervisorSpec WithName(RestartStrategy strategy, const std::vector<std::string>& ids, const std::string& which) {
  SupervisorSpec spec = Patient(Spec(strategy, ids));
  spec.intensity = 0;
  for (ChildSpec& child : spec.children) {
    if (child.id == which) child.published_as = "auction/" + which;
  }
  return spec;
}

TEST(RestartPlanNames, AChildThatLostItsNameIsParkedAndStartedWhenTheNameIsFree) {
  PlanDriver plan(WithName(kOneForOne, {"a", "b"}, "a"));
  plan.StartAll();
  plan.Log();
  plan.Exit("a", ExitReason::NameConflict("auction/a"));
  EXPECT_EQ(plan.Log(), "watch auction/a, timer 10s");
  EXPECT_EQ(plan.States(), "a parked, b running");
  plan.plan().NameFreed("auction/other", plan.now());
  plan.FreeName("auction/a");
  EXPECT_EQ(plan.Log(), "cancel timer, start a");
  EXPECT_EQ(plan.States(), "a running, b running");
  plan.Exit("a", ExitReason::NameLost("auction/a"));
  EXPECT_EQ(plan.Log(), "timer 10s") << "the name is watched already";
}

TEST(RestartPlanNames, AParkedChildIsTriedAgainNowAndThenAndReportedOnce) {
  PlanDriver plan(WithName(kOneForOne, {"a"}, "a"));
  plan.StartAll();
  plan.Exit("a", ExitReason::NameConflict("auction/a"));
  plan.Events();
  plan.slow_start = {"a"};
  for (int i = 0; i < 3; ++i) {
    plan.Pass(absl::Seconds(10));
    plan.Failed("a", ExitReason::NameConflict("auction/a"));
  }
  EXPECT_EQ(plan.States(), "a parked");
  EXPECT_TRUE(plan.Events().empty());
  plan.Pass(absl::Seconds(10));
  plan.Started("a");
  EXPECT_EQ(plan.States(), "a running");
}

TEST(RestartPlanNames, NobodyIsTriedWhileTheNameIsKnownToBeTaken) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(WithName(strategy, {"a", "b"}, "b"));
    plan.slow_start = {"b"};
    plan.StartAll();
    plan.Failed("b", ExitReason::NameConflict("auction/b"));
    plan.TakeName("auction/b");
    plan.Log();
    plan.Pass(absl::Seconds(35));
    EXPECT_EQ(plan.Log(), "timer 10s, timer 10s, timer 10s");
    plan.FreeName("auction/b");
    EXPECT_EQ(plan.Log(), strategy == kOneForAll ? "cancel timer, start a, start b" : "cancel timer, start b");
  }
}

TEST(RestartPlanNames, AChildWithTwoNamesWaitsForBoth) {
  SupervisorSpec spec = WithName(kOneForOne, {"a"}, "a");
  spec.children[0].registered_as = "here";
  PlanDriver plan(spec);
  plan.StartAll();
  plan.TakeName("auction/a");
  plan.TakeName("here");
  plan.Exit("a", ExitReason::NameLost("auction/a"));
  plan.Log();
  plan.FreeName("auction/a");
  EXPECT_EQ(plan.Log(), "");
  plan.FreeName("here");
  EXPECT_EQ(plan.Log(), "cancel timer, start a");
}

TEST(RestartPlanNames, AFirstStartThatFindsTheNameTakenIsComplete) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(WithName(strategy, {"a", "b", "c"}, "b"));
    plan.slow_start = {"b"};
    plan.StartAll();
    plan.Failed("b", ExitReason::NameConflict("auction/b"));
    plan.slow_start.clear();
    const std::string log = plan.Log();
    plan.FreeName("auction/b");
    const std::string then = plan.Log();
    if (strategy == kOneForOne) {
      EXPECT_EQ(log, "start a, start b, watch auction/b, timer 10s, start c, done");
      EXPECT_EQ(then, "cancel timer, start b");
    } else if (strategy == kOneForAll) {
      EXPECT_EQ(log, "start a, start b, watch auction/b, timer 10s, stop a, done");
      EXPECT_EQ(then, "cancel timer, start a, start b, start c");
    } else {
      EXPECT_EQ(log, "start a, start b, watch auction/b, timer 10s, done");
      EXPECT_EQ(then, "cancel timer, start b, start c");
    }
  }
}

TEST(RestartPlanNames, AConflictOverANameThatIsNotTheChildsIsAnOrdinaryFailure) {
  PlanDriver plan(WithName(kOneForOne, {"a", "b"}, "b"));
  plan.StartAll();
  plan.Exit("a", ExitReason::NameConflict("other"));
  EXPECT_EQ(plan.finish_reason().kind(), ExitReason::Kind::kRestartsExhausted);
}

// A conflict over another name comes along a link, or is over one that the child has claimed itself.
TEST(RestartPlanNames, AChildWithANameIsNotParkedAfterAConflictOverAnother) {
  PlanDriver plan(WithName(kOneForOne, {"a", "b"}, "a"));
  plan.StartAll();
  plan.Exit("a", ExitReason::NameConflict("other"));
  EXPECT_EQ(plan.finish_reason().kind(), ExitReason::Kind::kRestartsExhausted) << "the exit counts";
}

TEST(RestartPlanNames, AParkedChildCanBeTerminatedAndEndsWithItsSupervisor) {
  PlanDriver plan(WithName(kOneForOne, {"a", "b"}, "a"));
  plan.StartAll();
  plan.Exit("a", ExitReason::NameConflict("auction/a"));
  plan.Terminate("a");
  EXPECT_EQ(plan.States(), "a stopped, b running");
  plan.Restart("a");
  plan.Exit("a", ExitReason::NameConflict("auction/a"));
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, cancel timer, finish Shutdown");
}

TEST(RestartPlanNames, AParkedChildIsNotRestartedByRequestUntilItIsTerminated) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(WithName(strategy, {"a", "b"}, "a"));
    plan.StartAll();
    plan.TakeName("auction/a");
    plan.Exit("a", ExitReason::NameConflict("auction/a"));
    EXPECT_TRUE(absl::IsFailedPrecondition(plan.StatusOf(plan.Restart("a")))) << strategy;
    EXPECT_TRUE(absl::IsFailedPrecondition(plan.StatusOf(plan.Delete("a")))) << strategy;
    EXPECT_TRUE(plan.StatusOf(plan.Terminate("a")).ok());
    plan.FreeName("auction/a");
    plan.Pass(absl::Minutes(1));
    EXPECT_EQ(plan.plan().children().WhichChildren()[0].state, ChildState::kStopped)
        << "a child that was terminated stays stopped";
    EXPECT_TRUE(plan.StatusOf(plan.Restart("a")).ok());
    EXPECT_EQ(plan.plan().children().WhichChildren()[0].state, ChildState::kRunning);
  }
}

// ---- Starts ----

TEST(RestartPlanStartWithin, TheChildsActorBoundsAStartAndAnOverdueStartHasFailed) {
  SupervisorSpec spec = Patient(Spec(kOneForOne, {"a"}));
  spec.children[0].start_within = absl::Seconds(2);
  PlanDriver plan(spec);
  plan.StartAll();
  EXPECT_EQ(plan.Log(), "start a, done");
  plan.slow_start = {"a"};
  plan.Exit("a");
  plan.Log();
  plan.Events();
  plan.Pass(absl::Seconds(3));
  EXPECT_EQ(plan.Log(), "") << "the plan has no timer for the start";
  plan.slow_start.clear();
  plan.Failed("a", ExitReason::StartTimeoutHandlerRunning());
  EXPECT_EQ(plan.Log(), "start a");
  EXPECT_EQ(plan.Events()[0].reason.ToString(), "StartTimeout(handler running)");
}

TEST(RestartPlanStartWithin, AStartThatIsStoppedHasTheTimeOfAStop) {
  SupervisorSpec spec = Spec(kOneForOne, {"a"});
  spec.children[0].start_within = absl::Seconds(2);
  PlanDriver plan(spec);
  plan.slow_start = plan.slow_stop = {"a"};
  plan.StartAll();
  plan.Pass(absl::Seconds(1));
  plan.Log();
  plan.Terminate("a");
  EXPECT_EQ(plan.Log(), "stop a, timer 5s");
  plan.Pass(absl::Seconds(5));
  EXPECT_EQ(plan.Log(), "kill a, reply 1 OK, done");
}

// ---- Times that do not count as failing ----

// Returns a supervisor whose children give up after they have failed for a minute.
SupervisorSpec GivesUpAfterAMinute(RestartStrategy strategy, const std::vector<std::string>& ids) {
  SupervisorSpec spec = Patient(Spec(strategy, ids));
  for (ChildSpec& child : spec.children) {
    child.backoff = RestartBackoff{.min = absl::Seconds(1), .jitter = 0, .give_up_after = absl::Minutes(1)};
    child.registered_as = child.id;
  }
  return spec;
}

TEST(RestartPlanGiveUpAfter, AStartByRequestBeginsAnew) {
  PlanDriver plan(GivesUpAfterAMinute(kOneForOne, {"a"}));
  plan.StartAll();
  plan.Exit("a");
  plan.Exit("a");
  plan.Terminate("a");
  plan.Pass(absl::Hours(24));
  plan.Restart("a");
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a") << "its first restart is immediate again";
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "timer 1s");
  plan.Pass(absl::Minutes(2));
  plan.Exit("a");
  EXPECT_FALSE(plan.plan().is_finished()) << "it was healthy";
}

TEST(RestartPlanGiveUpAfter, TheTimeInWhichItIsParkedDoesNotCount) {
  PlanDriver plan(GivesUpAfterAMinute(kOneForOne, {"a"}));
  plan.StartAll();
  plan.Exit("a");
  plan.Pass(absl::Seconds(20));
  plan.slow_start = {"a"};
  plan.Exit("a", ExitReason::NameLost("a"));
  for (int i = 0; i < 12; ++i) {
    plan.Pass(absl::Seconds(10));
    plan.Failed("a", ExitReason::NameConflict("a"));
  }
  plan.slow_start.clear();
  plan.FreeName("a");
  plan.Pass(absl::Seconds(20));
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "timer 1s") << "it has failed for 40 s";
  plan.slow_start = {"a"};
  plan.Pass(absl::Seconds(21));
  plan.Failed("a");
  EXPECT_EQ(plan.finish_reason().kind(), ExitReason::Kind::kRestartsExhausted) << "and now for 61 s";
}

TEST(RestartPlanGiveUpAfter, TheTimeInWhichASiblingKeepsItDownDoesNotCount) {
  PlanDriver plan(GivesUpAfterAMinute(kOneForAll, {"a", "b"}));
  plan.StartAll();
  plan.Exit("b");
  plan.Exit("a", ExitReason::NameLost("a"));
  plan.Log();
  plan.slow_start = {"a"};
  for (int i = 0; i < 12; ++i) {
    plan.Pass(absl::Seconds(10));
    plan.Failed("a", ExitReason::NameConflict("a"));
  }
  plan.slow_start.clear();
  plan.FreeName("a");
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "timer 1s, stop a");
}

}  // namespace
}  // namespace understudy
