// RestartPlan where it behaves as OTP's supervisor: starting, restarting and stopping children.
// restart_plan_requests_test.cc tests the features that OTP's supervisor does not have.
#include "understudy/supervision/internal/restart_plan.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

// OTP SUP-01
TEST(RestartPlan, NoChildrenStartAndEndWithShutdown) {
  PlanDriver plan(Spec(kOneForOne, {}));
  plan.StartAll();
  EXPECT_EQ(plan.Log(), "done");
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "finish Shutdown");
}

// OTP SUP-67
TEST(RestartPlan, StartsInOrderAndStopsInReverse) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Patient(Spec(strategy, {"a", "b", "c"})));
    plan.StartAll();
    EXPECT_EQ(plan.Log(), "start a, start b, start c, done");
    plan.Exit("b");
    plan.Log();
    plan.Shutdown();
    EXPECT_EQ(plan.Log(), "stop c, stop b, stop a, finish Shutdown") << strategy;
  }
}

TEST(RestartPlan, TheNextChildStartsOnlyWhenTheOneBeforeHasStarted) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.slow_start = {"a"};
  plan.StartAll();
  EXPECT_EQ(plan.Log(), "start a");
  EXPECT_EQ(plan.States(), "a starting, b stopped");
  plan.Started("a");
  EXPECT_EQ(plan.Log(), "start b, done");
}

TEST(RestartPlan, AFailedFirstStartStopsWhatWasStartedAndSaysWhichChildAndWhy) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Patient(Spec(strategy, {"a", "b", "c", "d"})));
    plan.fail_start = {"c"};
    plan.StartAll();
    EXPECT_EQ(plan.Log(), "start a, start b, start c, stop b, stop a, finish Failed");
    EXPECT_EQ(plan.finish_reason().ToString(),
              "Failed(NOT_FOUND: child 'c' could not start); because of Failed(NOT_FOUND: no file for c)");
  }
}

// OTP SUP-03, SUP-04
TEST(RestartPlan, AnIgnoredChildKeepsItsSpecUnlessTemporary) {
  SupervisorSpec spec = Spec(kOneForOne, {"a", "b", "c"});
  spec.children[2].restart = RestartType::kTemporary;
  PlanDriver plan(spec);
  plan.ignore_start = {"b", "c"};
  plan.StartAll();
  EXPECT_EQ(plan.Log(), "start a, start b, start c, done");
  EXPECT_EQ(plan.States(), "a running, b stopped");
  EXPECT_EQ(plan.plan().children().CountChildren().specs, 2);
  EXPECT_EQ(plan.plan().children().CountChildren().active, 1);
}

// OTP SUP-26
TEST(RestartPlan, OneForOneRestartsOnlyTheDeadChild) {
  PlanDriver plan(Spec(kOneForOne, {"a", "b", "c"}));
  plan.StartAll();
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "start b");
}

// OTP SUP-28
TEST(RestartPlan, OneForAllStopsTheOthersInReverseAndStartsAllInOrder) {
  PlanDriver plan(Patient(Spec(kOneForAll, {"a", "b", "c"})));
  plan.StartAll();
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "stop c, stop a, start a, start b, start c");
}

// OTP SUP-36
TEST(RestartPlan, RestForOneRestartsTheChildrenStartedAfterTheDeadOne) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c", "d"})));
  plan.StartAll();
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "stop d, stop c, start b, start c, start d");
}

struct RestartCase {
  RestartType type;
  ExitReason reason;
  bool is_restarted;
  bool keeps_spec;
};

// OTP SUP-40, SUP-41, SUP-42, SUP-44, SUP-46, SUP-47, SUP-48
TEST(RestartPlan, TheRestartTypeDecidesWhichExitsAreFollowedByARestart) {
  const ExitReason failed = ExitReason::Failed(absl::InternalError("x"));
  const std::vector<RestartCase> cases = {
      {RestartType::kPermanent, ExitReason::Normal(), true, true},
      {RestartType::kPermanent, ExitReason::Shutdown(), true, true},
      {RestartType::kPermanent, failed, true, true},
      {RestartType::kPermanent, ExitReason::Killed(), true, true},
      {RestartType::kTransient, ExitReason::Normal(), false, true},
      {RestartType::kTransient, ExitReason::Shutdown(), false, true},
      {RestartType::kTransient, failed, true, true},
      {RestartType::kTransient, ExitReason::Killed(), true, true},
      {RestartType::kTransient, ExitReason::RestartsExhausted("x"), true, true},
      {RestartType::kTransient, ExitReason::NoConnection(), true, true},
      {RestartType::kTransient, ExitReason::OsExit(1), true, true},
      {RestartType::kTemporary, ExitReason::Normal(), false, false},
      {RestartType::kTemporary, ExitReason::Shutdown(), false, false},
      {RestartType::kTemporary, failed, false, false},
      {RestartType::kTemporary, ExitReason::Killed(), false, false},
  };
  for (const RestartStrategy strategy : kStrategies) {
    for (const RestartCase& c : cases) {
      SCOPED_TRACE(testing::Message() << strategy << " " << c.type << " " << c.reason);
      SupervisorSpec spec = Patient(Spec(strategy, {"a", "b"}));
      spec.children[1].restart = c.type;
      PlanDriver plan(spec);
      plan.StartAll();
      plan.Exit("b", c.reason);
      EXPECT_EQ(plan.IsUp("b"), c.is_restarted);
      EXPECT_TRUE(plan.IsUp("a"));
      EXPECT_EQ(plan.plan().children().GetChildSpec("b").ok(), c.keeps_spec);
    }
  }
}

// OTP SUP-49
TEST(RestartPlan, ATemporarySiblingIsStoppedForgottenAndNotCounted) {
  for (const RestartStrategy strategy : {kOneForAll, kRestForOne}) {
    SupervisorSpec spec = Patient(Spec(strategy, {"a", "b", "c"}));
    spec.intensity = 1;
    spec.children[1].restart = RestartType::kTemporary;
    PlanDriver plan(spec);
    plan.StartAll();
    plan.Log();
    plan.Exit("a");
    EXPECT_EQ(plan.Log(), "stop c, stop b, start a, start c");
    EXPECT_EQ(plan.States(), "a running, c running");
  }
}

TEST(RestartPlan, AGroupRestartStartsSiblingsThatWereStoppedToo) {
  SupervisorSpec spec = Patient(Spec(kOneForAll, {"a", "b"}));
  spec.children[1].restart = RestartType::kTransient;
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Exit("b", ExitReason::Normal());
  EXPECT_EQ(plan.States(), "a running, b stopped");
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a running, b running");
}

// OTP SUP-26, SUP-28: Exceeding the limit ends the supervisor.
TEST(RestartPlan, MoreThanTheIntensityWithinThePeriodGivesUpWithTheCauseChain) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.StartAll();
  for (int i = 0; i < 3; ++i) plan.Exit("a");
  plan.Log();
  plan.Exit("a", ExitReason::Failed(absl::UnavailableError("the file is locked")));
  EXPECT_EQ(plan.Log(), "stop b, finish RestartsExhausted");
  EXPECT_EQ(plan.finish_reason().ToString(),
            "RestartsExhausted(child 'a' needed 4 restarts within 10s; 3 are allowed); "
            "because of Failed(UNAVAILABLE: the file is locked)");
}

TEST(RestartPlan, RestartsOutsideThePeriodAreNotCounted) {
  PlanDriver plan(Spec(kOneForOne, {"a"}));
  plan.StartAll();
  for (int i = 0; i < 100; ++i) {
    plan.Exit("a");
    plan.Pass(absl::Seconds(3) + absl::Milliseconds(334));
  }
  EXPECT_TRUE(plan.IsUp("a"));
}

TEST(RestartPlan, IntensityZeroGivesUpAtTheFirstCrash) {
  SupervisorSpec spec = Patient(Spec(kOneForOne, {"a"}));
  spec.intensity = 0;
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Exit("a");
  EXPECT_EQ(plan.finish_reason().detail(), "child 'a' needed 1 restart within 10s; 0 are allowed");
}

// OTP SUP-27
TEST(RestartPlan, AChildThatCanNoLongerStartSpendsTheWholeIntensity) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Patient(Spec(strategy, {"a", "b"})));
    plan.StartAll();
    plan.Log();
    plan.fail_start = {"b"};
    plan.Exit("b");
    const std::string log = plan.Log();
    EXPECT_EQ(log, strategy == kOneForAll
                       ? "stop a, start a, start b, stop a, start a, start b, stop a, start a, start b, stop a, "
                         "finish RestartsExhausted"
                       : "start b, start b, start b, stop a, finish RestartsExhausted");
  }
}

// OTP SUP-38
TEST(RestartPlan, ASiblingThatFailsToRestartIsTriedAgain) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c"})));
  plan.StartAll();
  plan.slow_start = {"c"};
  plan.Exit("b");
  plan.Log();
  plan.Failed("c");
  EXPECT_EQ(plan.Log(), "start c");
  plan.Started("c");
  EXPECT_EQ(plan.States(), "a running, b running, c running");
}

// OTP SUP-16
TEST(RestartPlan, InfinityWaitsForTheChild) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a"})));
  plan.slow_stop = {"a"};
  plan.StartAll();
  plan.Log();
  plan.Shutdown();
  plan.Pass(absl::Hours(1000));
  EXPECT_EQ(plan.Log(), "stop a");
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "finish Shutdown");
}

// OTP SUP-17
TEST(RestartPlan, AChildThatDoesNotStopInTimeIsKilledAndItsSiblingIsNot) {
  PlanDriver plan(Spec(kOneForOne, {"a", "b"}));
  plan.slow_stop = {"b"};
  plan.StartAll();
  plan.Log();
  plan.Events();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, timer 5s");
  plan.Pass(absl::Seconds(5) - absl::Nanoseconds(1));
  EXPECT_EQ(plan.Log(), "");
  plan.Pass(absl::Nanoseconds(1));
  EXPECT_EQ(plan.Log(), "kill b, stop a, timer 5s, cancel timer, finish Shutdown");
  const std::vector<SupervisionEvent> events = plan.Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].ToString(), "child 'b' " + events[1].pid.ToString() + " was stopped: Killed");
  EXPECT_EQ(events[2].ToString(), "child 'a' " + events[2].pid.ToString() + " was stopped: Shutdown");
}

// OTP SUP-18
TEST(RestartPlan, BrutalKillAsksNobody) {
  SupervisorSpec spec = Spec(kOneForOne, {"a", "b"});
  spec.children[0].shutdown = ChildShutdown::BrutalKill();
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, timer 5s, cancel timer, kill a, finish Shutdown");
}

TEST(RestartPlan, AChildThatEndsWhileItIsToBeStoppedIsNotRestarted) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.slow_stop = {"b"};
  plan.StartAll();
  plan.Shutdown();
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "");
  plan.Exit("b", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "finish Shutdown");
}

TEST(RestartPlan, ShutdownCancelsAFirstStart) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c"})));
  plan.slow_start = {"b"};
  plan.StartAll();
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, stop a, finish Shutdown");
}

TEST(RestartPlan, AnExitOfAStoppedSiblingInsideAGroupRestartIsNotCounted) {
  SupervisorSpec spec = Patient(Spec(kOneForAll, {"a", "b", "c"}));
  spec.intensity = 1;
  PlanDriver plan(spec);
  plan.slow_stop = {"c"};
  plan.StartAll();
  plan.Log();
  plan.Exit("b");
  plan.Exit("a");
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "stop c, start a, start b, start c");
}

TEST(RestartPlan, AnExitOfAChildThatThePlanHasStartedTurnsItBack) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c", "d"})));
  plan.StartAll();
  plan.slow_start = {"d"};
  plan.Exit("a");
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "stop d, stop c, start b, start c, start d");
  plan.Started("d");
  EXPECT_EQ(plan.States(), "a running, b running, c running, d running");
}

TEST(RestartPlan, AnExitOutsideThePlanWaitsForItsEnd) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c"})));
  plan.StartAll();
  plan.slow_start = {"c"};
  plan.Exit("c");
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "");
  EXPECT_EQ(plan.States(), "a restarting, b running, c starting");
  plan.slow_start.clear();
  plan.Started("c");
  EXPECT_EQ(plan.Log(), "stop c, stop b, start a, start b, start c");
}

TEST(RestartPlan, RestartsOfIndependentChildrenRunSideBySide) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.StartAll();
  plan.slow_start = {"a", "b"};
  plan.Exit("a");
  plan.Exit("b");
  EXPECT_EQ(plan.States(), "a starting, b starting");
  plan.Started("b");
  EXPECT_EQ(plan.States(), "a starting, b running");
}

TEST(RestartPlan, AStartedChildOfOneForOneIsRestartedWhileTheFirstStartGoesOn) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b", "c"})));
  plan.slow_start = {"b"};
  plan.StartAll();
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a");
  plan.Started("b");
  EXPECT_EQ(plan.Log(), "start c, done");
}

TEST(RestartPlan, NewsOfAnEndedLifeIsIgnored) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a"})));
  plan.StartAll();
  const RestartPlan::LifeId first = plan.LifeOf("a");
  plan.Exit("a");
  plan.Log();
  plan.plan().Down(first, ExitReason::Killed(), plan.now());
  plan.plan().Started(first, plan.now());
  plan.plan().Down(first, ExitReason::Killed(), plan.now());
  plan.plan().TimerElapsed(77, plan.now());
  EXPECT_TRUE(plan.plan().TakeActions().empty());
  EXPECT_EQ(plan.States(), "a running");
}

TEST(RestartPlan, ADownBeforeTheOutcomeIsAFailedStart) {
  PlanDriver plan(Spec(kOneForOne, {"a"}));
  plan.slow_start = {"a"};
  plan.StartAll();
  plan.Exit("a", ExitReason::NoConnection("the stream broke"));
  EXPECT_EQ(plan.finish_reason().ToString(),
            "Failed(UNAVAILABLE: child 'a' could not start); because of NoConnection(the stream broke)");
}

// ---- Significant children ----

SupervisorSpec Significant(RestartStrategy strategy, AutoShutdown mode, RestartType type) {
  SupervisorSpec spec = Patient(Spec(strategy, {"a", "b", "c"}));
  spec.auto_shutdown = mode;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    spec.children[i].restart = type;
    spec.children[i].significant = true;
  }
  return spec;
}

// OTP SUP-73, SUP-74
TEST(RestartPlan, TheEndOfAnySignificantChildShutsDown) {
  for (const RestartType type : {RestartType::kTransient, RestartType::kTemporary}) {
    PlanDriver plan(Significant(kOneForOne, AutoShutdown::kAnySignificant, type));
    plan.StartAll();
    plan.Log();
    plan.Exit("a", ExitReason::Normal());
    EXPECT_EQ(plan.Log(), "stop c, stop b, finish Shutdown");
  }
}

// OTP SUP-73, SUP-74
TEST(RestartPlan, TheEndOfAllSignificantChildrenShutsDown) {
  for (const RestartType type : {RestartType::kTransient, RestartType::kTemporary}) {
    PlanDriver plan(Significant(kOneForOne, AutoShutdown::kAllSignificant, type));
    plan.StartAll();
    plan.Log();
    plan.Exit("b", ExitReason::Normal());
    EXPECT_EQ(plan.Log(), "");
    plan.Exit("a", ExitReason::Normal());
    EXPECT_EQ(plan.Log(), "stop c, finish Shutdown");
  }
}

// OTP SUP-74
TEST(RestartPlan, ACrashOfASignificantTransientChildRestartsIt) {
  PlanDriver plan(Significant(kOneForOne, AutoShutdown::kAnySignificant, RestartType::kTransient));
  plan.StartAll();
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a");
}

// OTP SUP-76
TEST(RestartPlan, ASignificantChildStoppedBecauseOfASiblingDoesNotShutDown) {
  for (const RestartStrategy strategy : {kOneForAll, kRestForOne}) {
    for (const AutoShutdown mode : {AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
      SupervisorSpec spec = Significant(strategy, mode, RestartType::kTemporary);
      spec.children[0].significant = false;
      spec.children[0].restart = RestartType::kPermanent;
      PlanDriver plan(spec);
      plan.StartAll();
      plan.Log();
      plan.Exit("a");
      EXPECT_EQ(plan.Log(), "stop c, stop b, start a, start c");
    }
  }
}

TEST(RestartPlan, AnAutoShutdownInTheFirstStartFollowsIt) {
  PlanDriver plan(Significant(kOneForOne, AutoShutdown::kAnySignificant, RestartType::kTransient));
  plan.slow_start = {"b"};
  plan.StartAll();
  plan.Exit("a", ExitReason::Normal());
  plan.Log();
  plan.Started("b");
  EXPECT_EQ(plan.Log(), "start c, done, stop c, stop b, finish Shutdown");
}

// ---- Reports ----

TEST(RestartPlan, EveryStepIsReported) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a"})));
  plan.StartAll();
  plan.fail_start = {"a"};
  plan.Exit("a");
  std::vector<std::string> told;
  for (const SupervisionEvent& event : plan.Events()) {
    told.push_back(std::string(SupervisionEventName(event.kind)) + " " + std::to_string(event.restarts));
  }
  EXPECT_THAT(told, testing::ElementsAre("started 0", "exited 0", "is restarted 1", "failed to start 1",
                                         "is restarted 2", "failed to start 2", "is restarted 3", "failed to start 3",
                                         "is given up 3", "stops its children 0"));
}

}  // namespace
}  // namespace understudy
