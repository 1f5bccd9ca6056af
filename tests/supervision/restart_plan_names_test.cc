// How long a RestartPlan keeps the names of its children (PlanDriver::Kept).
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

// Returns a spec in which all children have names and, from the second start on, a backoff of 1 s.
SupervisorSpec Named(RestartStrategy strategy, const std::vector<std::string>& ids) {
  SupervisorSpec spec = Patient(Spec(strategy, ids));
  for (ChildSpec& child : spec.children) {
    child.registered_as = child.id;
    child.backoff = RestartBackoff{.min = absl::Seconds(1)};
  }
  return spec;
}

TEST(RestartPlanKeptNames, AreThoseOfChildrenThatWillBeStartedAgain) {
  SupervisorSpec spec = Named(kOneForOne, {"a", "b", "nameless", "temporary"});
  spec.children[2].registered_as = "";
  spec.children[3].restart = RestartType::kTemporary;
  PlanDriver plan(spec);
  plan.StartAll();
  EXPECT_EQ(plan.Kept(), "a b");
  plan.fail_start = {"a"};
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a restarting, b running, nameless running, temporary running");
  EXPECT_EQ(plan.Kept(), "a b");
  plan.Terminate("a");
  EXPECT_EQ(plan.Kept(), "b") << "the restart is cancelled";
  plan.slow_stop = {"b"};
  plan.Terminate("b");
  EXPECT_EQ(plan.States(), "a stopped, b stopping, nameless running, temporary running");
  EXPECT_EQ(plan.Kept(), "") << "before it has ended";
  plan.Exit("b", ExitReason::Shutdown());
  plan.Restart("b");
  EXPECT_EQ(plan.Kept(), "b");
  plan.slow_stop = {"temporary"};
  plan.Shutdown();
  EXPECT_EQ(plan.Kept(), "") << "before any child has ended";
}

TEST(RestartPlanKeptNames, GoWithAnEndAfterWhichTheChildStaysDown) {
  SupervisorSpec spec = Named(kOneForOne, {"transient", "parked", "declines"});
  spec.children[0].restart = RestartType::kTransient;
  PlanDriver plan(spec);
  plan.StartAll();
  EXPECT_EQ(plan.Kept(), "declines parked transient");
  plan.Exit("transient", ExitReason::Normal());
  EXPECT_EQ(plan.Kept(), "declines parked");
  plan.Exit("parked", ExitReason::NameConflict("parked"));
  EXPECT_EQ(plan.Kept(), "declines") << "another actor has the name";
  plan.FreeName("parked");
  EXPECT_EQ(plan.Kept(), "declines parked");
  plan.ignore_start = {"declines"};
  plan.Exit("declines");
  plan.Pass(absl::Seconds(2));
  EXPECT_EQ(plan.States(), "transient stopped, parked running, declines stopped");
  EXPECT_EQ(plan.Kept(), "parked");
}

TEST(RestartPlanKeptNames, AreKeptWhileTheGroupWaitsForOneOfIt) {
  for (const RestartStrategy strategy : {kOneForAll, kRestForOne}) {
    PlanDriver plan(Named(strategy, {"a", "b", "c"}));
    plan.StartAll();
    plan.slow_stop = {"c"};
    plan.fail_start = {"a"};
    plan.Exit("a");
    EXPECT_EQ(plan.States(), "a restarting, b running, c stopping");
    EXPECT_EQ(plan.Kept(), "a b c");
    plan.Exit("c", ExitReason::Shutdown());
    EXPECT_EQ(plan.States(), "a restarting, b stopped, c stopped");
    EXPECT_EQ(plan.Kept(), "a b c");
    plan.Terminate("a");
    EXPECT_EQ(plan.States(), "a stopped, b stopped, c stopped");
    EXPECT_EQ(plan.Kept(), "") << "no restart of the others is pending";
  }
}

TEST(RestartPlanKeptNames, AChildOfRestForOneBeforeTheOneThatWaitsStaysDownAndKeepsNoName) {
  PlanDriver plan(Named(kRestForOne, {"a", "b", "c"}));
  plan.StartAll();
  plan.fail_start = {"b"};
  plan.Exit("b");
  plan.fail_start = {};
  EXPECT_EQ(plan.States(), "a running, b restarting, c stopped");
  plan.Terminate("a");
  EXPECT_EQ(plan.Kept(), "b c");
  plan.Pass(absl::Seconds(2));
  EXPECT_EQ(plan.States(), "a stopped, b running, c running");
}

TEST(RestartPlanKeptNames, AreFreeWhenTheSupervisorGivesUp) {
  SupervisorSpec spec = Named(kOneForOne, {"a", "b"});
  spec.intensity = 0;
  for (ChildSpec& child : spec.children) child.backoff.reset();
  PlanDriver plan(spec);
  plan.StartAll();
  plan.slow_stop = {"b"};
  plan.Exit("a");
  EXPECT_EQ(plan.Kept(), "");
}

}  // namespace
}  // namespace understudy
