// Requests, queries and backoff, where RestartPlan offers more than OTP's supervisor.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

TEST(RestartPlanRequests, TerminateStopsAChildAndRestartStartsItAgain) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Patient(Spec(strategy, {"a", "b"})));
    plan.StartAll();
    plan.Log();
    plan.Terminate("a");
    EXPECT_EQ(plan.Log(), "stop a, reply 1 OK");
    EXPECT_EQ(plan.States(), "a stopped, b running");
    plan.Terminate("a");
    EXPECT_EQ(plan.Log(), "reply 2 OK");
    plan.Restart("a");
    EXPECT_EQ(plan.Log(), "start a, reply 3 OK");
    plan.Delete("a");
    EXPECT_EQ(plan.StatusOf(4).ToString(), "FAILED_PRECONDITION: child 'a' is running; terminate it first");
    plan.Restart("a");
    EXPECT_EQ(plan.StatusOf(5).ToString(), "FAILED_PRECONDITION: child 'a' is running; terminate it first");
    plan.Terminate("a");
    plan.Delete("a");
    EXPECT_TRUE(plan.StatusOf(7).ok());
    EXPECT_EQ(plan.States(), "b running");
  }
}

// OTP SUP-13
TEST(RestartPlanRequests, AnUnknownIdIsNotFound) {
  PlanDriver plan(Spec(kOneForOne, {"a"}));
  plan.StartAll();
  plan.Terminate("x");
  plan.Restart("x");
  plan.Delete("x");
  for (const RestartPlan::RequestId request : {1, 2, 3}) {
    EXPECT_EQ(plan.StatusOf(request).ToString(), "NOT_FOUND: there is no child 'x'");
  }
  EXPECT_EQ(plan.plan().children().GetChildSpec("x").status().ToString(), "NOT_FOUND: there is no child 'x'");
}

TEST(RestartPlanRequests, StartChildAddsAtTheEndAndRefusesDuplicatesAndBadSpecs) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a"})));
  plan.StartAll();
  plan.StartChild({.id = "b"});
  EXPECT_TRUE(plan.StatusOf(1).ok());
  plan.StartChild({.id = "b"});
  EXPECT_TRUE(absl::IsAlreadyExists(plan.StatusOf(2))) << plan.StatusOf(2);
  plan.StartChild({.id = "c", .start_within = absl::ZeroDuration()});
  EXPECT_EQ(plan.StatusOf(3).ToString(),
            "INVALID_ARGUMENT: error in the supervision tree: child 'c': start_within: 0 leaves no time to start; it "
            "must be above 0");
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, timer 5s, cancel timer, stop a, finish Shutdown");  // b has the default timeout
}

TEST(RestartPlanRequests, StartChildRefusesTheNameOfASibling) {
  SupervisorSpec spec = Patient(Spec(kOneForOne, {"a"}));
  spec.children[0].registered_as = "n";
  PlanDriver plan(spec);
  plan.StartAll();
  EXPECT_TRUE(plan.StatusOf(plan.StartChild({.id = "b", .published_as = "m"})).ok());
  EXPECT_EQ(plan.StatusOf(plan.StartChild({.id = "c", .published_as = "n"})).ToString(),
            "ALREADY_EXISTS: child 'c' cannot have the name 'n', which is a name of child 'a'; choose another, or "
            "delete that child first");
  EXPECT_TRUE(absl::IsAlreadyExists(plan.StatusOf(plan.StartChild({.id = "c", .registered_as = "m"}))));
  plan.Terminate("b");
  EXPECT_TRUE(absl::IsAlreadyExists(plan.StatusOf(plan.StartChild({.id = "c", .registered_as = "m"}))));
  plan.Delete("b");
  EXPECT_TRUE(plan.StatusOf(plan.StartChild({.id = "c", .registered_as = "m"})).ok());
  EXPECT_EQ(plan.States(), "a running, c running");
}

TEST(RestartPlanRequests, AStartChildThatFailsIsForgottenAndSaysWhy) {
  PlanDriver plan(Spec(kOneForOne, {"a"}));
  plan.StartAll();
  plan.fail_start = {"b"};
  plan.StartChild({.id = "b"});
  EXPECT_EQ(plan.StatusOf(1).ToString(), "NOT_FOUND: child 'b' could not start: Failed(NOT_FOUND: no file for b)");
  EXPECT_EQ(plan.States(), "a running");
}

TEST(RestartPlanRequests, AStartThatFailedIsToldWithTheCodeOfItsCause) {
  using absl::StatusCode;
  const std::pair<ExitReason, StatusCode> causes[] = {
      {ExitReason::Failed(absl::UnavailableError("the file is locked")), StatusCode::kUnavailable},
      {ExitReason::NoConnection("the node is lost"), StatusCode::kUnavailable},
      {ExitReason::NotPermitted("no grant"), StatusCode::kPermissionDenied},
      {ExitReason::StartTimeout(), StatusCode::kDeadlineExceeded},
      {ExitReason::NameConflict("book"), StatusCode::kAlreadyExists},
      {ExitReason::Overflow("offers"), StatusCode::kResourceExhausted},
      {ExitReason::Exception("std::logic_error", "oops"), StatusCode::kFailedPrecondition},
      {ExitReason::OsExit(3), StatusCode::kFailedPrecondition},
      {ExitReason::RestartsExhausted("x").CausedBy(ExitReason::NoConnection()), StatusCode::kUnavailable},
  };
  for (const auto& [cause, code] : causes) {
    PlanDriver plan(Spec(kOneForOne, {}));
    plan.StartAll();
    plan.slow_start = {"a"};
    const auto request = plan.StartChild({.id = "a"});
    plan.Failed("a", cause);
    EXPECT_EQ(plan.StatusOf(request).code(), code) << cause;

    PlanDriver first(Spec(kOneForOne, {"a"}));  // its parent gets the same error
    first.slow_start = {"a"};
    first.StartAll();
    first.Failed("a", cause);
    EXPECT_EQ(first.finish_reason().status().code(), code) << cause;
  }
}

// OTP SUP-11
TEST(RestartPlanRequests, ARestartChildThatFailsStaysStopped) {
  PlanDriver plan(Spec(kOneForOne, {"a"}));
  plan.StartAll();
  plan.Terminate("a");
  plan.fail_start = {"a"};
  plan.Restart("a");
  EXPECT_EQ(plan.StatusOf(2).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(plan.States(), "a stopped");
}

// OTP SUP-57
TEST(RestartPlanRequests, ATemporaryChildThatIsTerminatedIsForgotten) {
  SupervisorSpec spec = Spec(kOneForOne, {"a"});
  spec.children[0].restart = RestartType::kTemporary;
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Terminate("a");
  EXPECT_EQ(plan.States(), "");
}

TEST(RestartPlanRequests, ARequestAboutAnotherChildOfOneForOneDoesNotWait) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.slow_stop = {"a"};
  plan.StartAll();
  plan.Terminate("a");
  plan.Terminate("b");
  EXPECT_FALSE(plan.IsAnswered(1));
  EXPECT_TRUE(plan.IsAnswered(2));
  plan.Terminate("a");
  plan.Restart("a");
  plan.Log();
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "reply 1 OK, reply 3 OK, start a, reply 4 OK");
}

TEST(RestartPlanRequests, WithAnOrderedStrategyRequestsAreServedOneByOneInTheOrderOfArrival) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c"})));
  plan.slow_stop = {"c"};
  plan.StartAll();
  plan.Terminate("c");
  plan.Exit("b");
  plan.Terminate("a");
  plan.Log();
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "reply 1 OK, start b, start c, stop a, reply 2 OK");
}

TEST(RestartPlanRequests, QueriesAreAnsweredWhileAChildStartsAndStops) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c"})));
  plan.StartAll();
  plan.slow_stop = {"c"};
  plan.Exit("b");
  EXPECT_EQ(plan.States(), "a running, b restarting, c stopping");
  EXPECT_EQ(plan.plan().children().CountChildren().specs, 3);
  EXPECT_EQ(plan.plan().children().CountChildren().active, 1);
  EXPECT_TRUE(plan.plan().children().GetChildSpec("c").ok());
}

TEST(RestartPlanRequests, TerminateCancelsTheStartOfAChildAndTheRestOfAnOrderedPlan) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b", "c"})));
  plan.StartAll();
  plan.slow_start = {"b"};
  plan.Exit("b");
  plan.Log();
  plan.Terminate("b");
  EXPECT_EQ(plan.Log(), "stop b, reply 1 OK");
  EXPECT_EQ(plan.States(), "a running, b stopped, c stopped");
}

// The dead child is one of the children that stay stopped, and must not be shown as restarting for ever.
TEST(RestartPlanRequests, TerminateOfASiblingThatIsBeingStartedLeavesTheDeadChildStopped) {
  PlanDriver plan(Patient(Spec(kOneForAll, {"a", "b", "c"})));
  plan.StartAll();
  plan.slow_start = {"b"};
  plan.Exit("c");
  EXPECT_EQ(plan.States(), "a running, b starting, c restarting");
  plan.Terminate("b");
  EXPECT_EQ(plan.States(), "a running, b stopped, c stopped");
  const auto restart = plan.Restart("c");
  EXPECT_TRUE(plan.StatusOf(restart).ok());
}

TEST(RestartPlanRequests, TerminateOfASiblingInBackoffLeavesTheDeadChildStopped) {
  SupervisorSpec spec = Patient(Spec(kOneForAll, {"a", "b", "c"}));
  spec.intensity = 10;
  spec.children[1].backoff = RestartBackoff{};
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Exit("b");
  plan.fail_start = {"b"};
  plan.Exit("c");
  EXPECT_EQ(plan.States(), "a stopped, b restarting, c restarting");
  plan.Terminate("b");
  EXPECT_EQ(plan.States(), "a stopped, b stopped, c stopped");
}

TEST(RestartPlanRequests, TerminateInAFirstStartOfOneForOneGoesOnWithTheNext) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.slow_start = {"a"};
  plan.StartAll();
  plan.Terminate("a");
  EXPECT_EQ(plan.Log(), "start a, stop a, reply 1 OK, start b, done");
}

TEST(RestartPlanRequests, DeleteOfAChildThatIsBeingStartedStopsAndForgetsIt) {
  PlanDriver plan(Patient(Spec(kOneForOne, {"a", "b"})));
  plan.StartAll();
  plan.slow_start = {"a"};
  plan.Exit("a");
  plan.Log();
  plan.Restart("a");
  EXPECT_EQ(plan.StatusOf(1).ToString(), "FAILED_PRECONDITION: child 'a' is being started already");
  plan.Delete("a");
  EXPECT_TRUE(plan.StatusOf(2).ok());
  EXPECT_EQ(plan.States(), "b running");
}

TEST(RestartPlanRequests, AStartChildThatIsTerminatedAnswersBoth) {
  PlanDriver plan(Patient(Spec(kOneForOne, {})));
  plan.StartAll();
  plan.slow_start = {"a"};
  plan.StartChild({.id = "a", .shutdown = ChildShutdown::Infinity()});
  plan.Terminate("a");
  EXPECT_TRUE(understudy::IsCancelled(plan.StatusOf(1))) << plan.StatusOf(1);
  EXPECT_TRUE(plan.StatusOf(2).ok());
}

// OTP answers requests between two attempts of a restart, because each next attempt is a message to itself.
TEST(RestartPlanRequests, RequestsAreAnsweredBetweenTwoAttemptsOfARestart) {
  for (const RestartStrategy strategy : kStrategies) {
    SupervisorSpec spec = Patient(Spec(strategy, {"a", "b", "c", "d"}));
    spec.intensity = 100;
    PlanDriver plan(spec);
    plan.StartAll();
    plan.Terminate("d");
    plan.slow_start = {"b"};
    plan.Exit("b");
    const auto start = plan.StartChild({.id = "e", .shutdown = ChildShutdown::Infinity()});
    const auto restart = plan.Restart("d");
    const auto terminate = plan.Terminate("c");
    const auto remove = plan.Delete("c");
    plan.Failed("b");
    for (const auto request : {start, restart, terminate, remove}) {
      EXPECT_TRUE(plan.IsAnswered(request) && plan.StatusOf(request).ok()) << strategy << " " << request;
    }
    EXPECT_TRUE(plan.IsUp("b"));
    plan.slow_start.clear();
    plan.Started("b");
    EXPECT_EQ(plan.States(), "a running, b running, d running, e running");
  }
}

TEST(RestartPlanRequests, RequestsAreAnsweredWhenAnExitTurnsAnOrderedPlanBack) {
  SupervisorSpec spec = Patient(Spec(kOneForAll, {"a", "b"}));
  spec.intensity = 100;
  PlanDriver plan(spec);
  plan.StartAll();
  plan.slow_start = {"b"};
  plan.Exit("b");
  plan.Delete("c");
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "stop b, reply 1 NOT_FOUND, start a, start b");
}

// A child that is started again keeps its id even if the start fails. A new child that fails to start is forgotten.
TEST(RestartPlanRequests, AStartChildOfAnIdThatIsBeingStartedAgainIsAnsweredAtOnce) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Patient(Spec(strategy, {"a"})));
    plan.StartAll();
    plan.slow_start = {"a", "b"};
    plan.Exit("a");
    plan.StartChild({.id = "a"});
    EXPECT_TRUE(plan.IsAnswered(1) && absl::IsAlreadyExists(plan.StatusOf(1))) << strategy;
    plan.Started("a");
    plan.StartChild({.id = "b"});
    const auto second = plan.StartChild({.id = "b"});
    EXPECT_FALSE(plan.IsAnswered(second)) << strategy;
    plan.slow_start.clear();
    plan.Failed("b");
    EXPECT_TRUE(plan.StatusOf(second).ok()) << strategy;
  }
}

TEST(RestartPlanRequests, RequestsAreRefusedOnceTheEndHasBegunWaitingOnesToo) {
  PlanDriver plan(Patient(Spec(kRestForOne, {"a", "b"})));
  plan.slow_stop = {"b"};
  plan.StartAll();
  plan.Terminate("b");
  plan.Terminate("a");
  plan.Shutdown();
  EXPECT_TRUE(IsStopping(plan.StatusOf(2)));
  plan.StartChild({.id = "c"});
  EXPECT_TRUE(IsStopping(plan.StatusOf(3)));
  plan.Exit("b", ExitReason::Shutdown());
  EXPECT_TRUE(plan.StatusOf(1).ok());
  EXPECT_TRUE(plan.plan().is_finished());
}

// ---- Backoff ----

SupervisorSpec WithBackoff(RestartStrategy strategy, const std::vector<std::string>& ids, const std::string& which) {
  SupervisorSpec spec = Patient(Spec(strategy, ids));
  spec.intensity = 1;
  for (ChildSpec& child : spec.children) {
    if (child.id != which) continue;
    child.backoff = RestartBackoff{.min = absl::Seconds(1),
                                   .max = absl::Seconds(4),
                                   .jitter = 0,
                                   .reset_after = absl::Seconds(10),
                                   .give_up_after_attempts = 6};
  }
  return spec;
}

TEST(RestartPlanBackoff, TheFirstRestartIsImmediateAndLaterOnesWaitAndAreNotCounted) {
  PlanDriver plan(WithBackoff(kOneForOne, {"a"}, "a"));
  plan.StartAll();
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a");
  for (const std::string wait : {"1s", "2s", "4s", "4s"}) {
    plan.Exit("a");
    EXPECT_EQ(plan.Log(), "timer " + wait);
    EXPECT_EQ(plan.States(), "a restarting");
    plan.Pass(absl::Seconds(4));
    EXPECT_EQ(plan.Log(), "start a");
  }
}

TEST(RestartPlanBackoff, AHealthyRunBeginsAnew) {
  PlanDriver plan(WithBackoff(kOneForOne, {"a"}, "a"));
  plan.StartAll();
  plan.Exit("a");
  plan.Exit("a");
  plan.Pass(absl::Seconds(1) + absl::Seconds(10));
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a");
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "timer 1s");
}

TEST(RestartPlanBackoff, AChildGivesUpByItsOwnNumberOfAttempts) {
  PlanDriver plan(WithBackoff(kOneForOne, {"a", "b"}, "a"));
  plan.StartAll();
  for (int i = 0; i < 6; ++i) {
    plan.Exit("a");
    plan.Pass(absl::Seconds(4));
  }
  plan.Exit("a", ExitReason::OsExit(3));
  EXPECT_EQ(plan.finish_reason().ToString(),
            "RestartsExhausted(child 'a' was restarted 6 times without running 10s; that is its limit); because of "
            "OsExit(3)");
}

TEST(RestartPlanBackoff, AChildGivesUpByItsOwnTime) {
  SupervisorSpec spec = WithBackoff(kOneForOne, {"a"}, "a");
  spec.children[0].backoff->give_up_after = absl::Seconds(3);
  PlanDriver plan(spec);
  plan.StartAll();
  for (int i = 0; i < 2; ++i) {
    plan.Exit("a");
    plan.Pass(absl::Seconds(2));
  }
  plan.Exit("a");
  EXPECT_EQ(plan.finish_reason().detail(), "child 'a' has not run 10s for 4s; its limit is 3s");
}

TEST(RestartPlanBackoff, AFailedRestartWaitsToo) {
  PlanDriver plan(WithBackoff(kOneForOne, {"a"}, "a"));
  plan.StartAll();
  plan.fail_start = {"a"};
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a, timer 1s");
}

TEST(RestartPlanBackoff, ABackoffUnderOneForOneLetsTheSiblingsRun) {
  PlanDriver plan(WithBackoff(kOneForOne, {"a", "b"}, "a"));
  plan.StartAll();
  plan.Exit("a");
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a restarting, b running");
  plan.Log();
  plan.Exit("b");  // counted as the second restart within the window
  EXPECT_EQ(plan.Log(), "cancel timer, finish RestartsExhausted");
}

TEST(RestartPlanBackoff, ABackoffUnderRestForOneKeepsTheChildrenAfterItDown) {
  PlanDriver plan(WithBackoff(kRestForOne, {"a", "b", "c"}, "b"));
  plan.StartAll();
  plan.Exit("b");
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "timer 1s, stop c");
  EXPECT_EQ(plan.States(), "a running, b restarting, c stopped");
  plan.Pass(absl::Seconds(1));
  EXPECT_EQ(plan.Log(), "start b, start c");
}

TEST(RestartPlanBackoff, ABackoffUnderRestForOneIsNotShortenedByAnEarlierSibling) {
  SupervisorSpec spec = WithBackoff(kRestForOne, {"a", "b", "c"}, "b");
  spec.intensity = 5;
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Exit("b");
  plan.Exit("b");
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a");
  EXPECT_EQ(plan.States(), "a running, b restarting, c stopped");
  plan.Pass(absl::Seconds(1));
  EXPECT_EQ(plan.Log(), "start b, start c");
}

TEST(RestartPlanBackoff, ABackoffUnderOneForAllKeepsAllChildrenDown) {
  PlanDriver plan(WithBackoff(kOneForAll, {"a", "b", "c"}, "b"));
  plan.StartAll();
  plan.Exit("b");
  plan.Log();
  plan.Exit("b");
  EXPECT_EQ(plan.Log(), "timer 1s, stop c, stop a");
  plan.Pass(absl::Seconds(1));
  EXPECT_EQ(plan.Log(), "start a, start b, start c");
}

TEST(RestartPlanBackoff, AChildInBackoffCanBeTerminatedButNotRestartedOrDeleted) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(WithBackoff(strategy, {"a", "b"}, "b"));
    plan.StartAll();
    plan.Exit("b");
    plan.Exit("b");
    plan.Restart("b");
    EXPECT_EQ(plan.StatusOf(1).ToString(), "FAILED_PRECONDITION: child 'b' waits to be restarted already");
    plan.Delete("b");
    EXPECT_EQ(plan.StatusOf(2).ToString(), "FAILED_PRECONDITION: child 'b' waits to be restarted; terminate it first");
    plan.Terminate("b");
    EXPECT_TRUE(plan.StatusOf(3).ok());
    EXPECT_EQ(plan.timers(), 0u);
    plan.Restart("b");
    EXPECT_TRUE(plan.StatusOf(4).ok());
  }
}

TEST(RestartPlanBackoff, ShutdownEndsTheWait) {
  PlanDriver plan(WithBackoff(kOneForOne, {"a", "b"}, "a"));
  plan.StartAll();
  plan.Exit("a");
  plan.Exit("a");
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, cancel timer, finish Shutdown");
}

TEST(RestartPlanBackoff, ABackoffInAFirstStartHoldsUpTheChildrenAfterIt) {
  PlanDriver plan(WithBackoff(kRestForOne, {"a", "b", "c"}, "a"));
  plan.slow_start = {"b"};
  plan.StartAll();
  plan.Exit("a");
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a, start b, stop b, start a, start b, timer 1s, stop b");
  plan.slow_start.clear();
  plan.Pass(absl::Seconds(1));
  EXPECT_EQ(plan.Log(), "start a, start b, start c, done");
}

}  // namespace
}  // namespace understudy
