// RestartPlan while its supervisor stops: an exit, a timer or a failed start that arrives then must not start a child
// and is not counted as a restart.
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

// Returns a spec of children a, b and c, of which c is slow to stop in the tests.
SupervisorSpec WithSlowEnd(RestartStrategy strategy) { return Patient(Spec(strategy, {"a", "b", "c"})); }

TEST(RestartPlanEnd, ABackoffThatElapsesStartsNobody) {
  SupervisorSpec spec = WithSlowEnd(kOneForOne);
  spec.children[0].backoff = RestartBackoff{.min = absl::Seconds(1), .jitter = 0};
  PlanDriver plan(spec);
  plan.slow_stop = {"c"};
  plan.StartAll();
  plan.Exit("a");
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a restarting, b running, c running");
  plan.Shutdown();
  plan.Log();
  plan.Pass(absl::Seconds(10));
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "stop b, finish Shutdown");
}

TEST(RestartPlanEnd, ANameThatBecomesFreeStartsNobody) {
  SupervisorSpec spec = WithSlowEnd(kOneForOne);
  spec.children[0].registered_as = "name";
  PlanDriver plan(spec);
  plan.slow_stop = {"c"};
  plan.StartAll();
  plan.Exit("a", ExitReason::NameLost("name"));
  EXPECT_EQ(plan.States(), "a parked, b running, c running");
  plan.Shutdown();
  plan.FreeName("name");
  plan.Pass(absl::Minutes(1));
  plan.Log();
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "stop b, finish Shutdown");
}

TEST(RestartPlanEnd, AStartThatFailsIsNotTriedAgain) {
  PlanDriver plan(WithSlowEnd(kOneForOne));
  plan.slow_stop = {"c"};
  plan.StartAll();
  plan.slow_start = {"a"};
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a starting, b running, c running");
  plan.Shutdown();
  plan.Log();
  plan.Events();
  plan.Failed("a");
  EXPECT_EQ(plan.Log(), "");
  EXPECT_EQ(plan.States(), "a stopped, b running, c stopping");
  for (const SupervisionEvent& event : plan.Events()) {
    EXPECT_NE(event.kind, SupervisionEvent::Kind::kRestarting) << event;
  }
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "stop b, finish Shutdown");
}

TEST(RestartPlanEnd, AStartThatFailsSpendsNoIntensityAndChangesNoReason) {
  SupervisorSpec spec = WithSlowEnd(kOneForOne);
  spec.intensity = 1;
  PlanDriver plan(spec);
  plan.slow_stop = {"c"};
  plan.StartAll();
  plan.slow_start = {"a"};
  plan.Exit("a");
  plan.Shutdown();
  plan.Events();
  plan.Failed("a");
  for (const SupervisionEvent& event : plan.Events()) EXPECT_NE(event.kind, SupervisionEvent::Kind::kGaveUp) << event;
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.finish_reason(), ExitReason::Shutdown());
}

TEST(RestartPlanEnd, ARequestedStartThatFailsIsAnsweredAndItsSpecForgotten) {
  PlanDriver plan(WithSlowEnd(kOneForOne));
  plan.slow_stop = {"c", "e"};
  plan.slow_start = {"d"};
  plan.StartAll();
  const auto asked = plan.StartChild({.id = "d"});
  plan.StartChild({.id = "e"});
  plan.Shutdown();
  plan.Failed("d");
  EXPECT_EQ(plan.AnswersTo(asked), 1);
  EXPECT_EQ(plan.States(), "a running, b running, c running, e stopping");
}

TEST(RestartPlanEnd, AChildInItsFirstStartIsStoppedAndThoseAfterItAreNotStarted) {
  PlanDriver plan(WithSlowEnd(kOneForOne));
  plan.slow_start = {"b"};
  plan.StartAll();
  EXPECT_EQ(plan.Log(), "start a, start b");
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop b, stop a, finish Shutdown");
}

TEST(RestartPlanEnd, ASecondShutdownChangesNothing) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(WithSlowEnd(strategy));
    plan.slow_stop = {"b"};
    plan.StartAll();
    plan.Log();
    plan.Shutdown();
    EXPECT_EQ(plan.Log(), "stop c, stop b");
    plan.Events();
    plan.plan().Shutdown(ExitReason::Killed(), plan.now());
    plan.Shutdown();
    EXPECT_EQ(plan.Log(), "");
    EXPECT_TRUE(plan.Events().empty());
    plan.Exit("b", ExitReason::Shutdown());
    EXPECT_EQ(plan.Log(), "stop a, finish Shutdown");
  }
}

TEST(RestartPlanEnd, AStuckPredecessorIsNoReasonToGiveUpAnyMore) {
  SupervisorSpec spec = Spec(kOneForOne, {"a", "b", "c"});
  spec.children[0].exclusive = true;
  spec.children[2].shutdown = ChildShutdown::Infinity();
  for (const bool is_gone_in_time : {true, false}) {
    PlanDriver plan(spec);
    plan.slow_stop = {"c"};
    plan.StartAll();
    plan.KillStuck("a");
    plan.Shutdown();
    plan.Events();
    if (is_gone_in_time) plan.Gone("a");
    plan.Pass(absl::Minutes(1));
    EXPECT_EQ(plan.States(), "a stopped, b running, c stopping");
    EXPECT_TRUE(plan.Events().empty());
    plan.Exit("c", ExitReason::Shutdown());
    EXPECT_EQ(plan.finish_reason(), ExitReason::Shutdown());
  }
}

TEST(RestartPlanEnd, AChildThatEndsByItselfMeanwhileIsNotRestarted) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(WithSlowEnd(strategy));
    plan.slow_stop = {"c"};
    plan.StartAll();
    plan.Shutdown();
    plan.Log();
    plan.Exit("a", ExitReason::Killed());
    plan.Exit("b", ExitReason::Normal());
    EXPECT_EQ(plan.Log(), "");
    plan.Exit("c", ExitReason::Normal());  // its reason is not Shutdown
    EXPECT_EQ(plan.Log(), "finish Shutdown");
  }
}

}  // namespace
}  // namespace understudy
