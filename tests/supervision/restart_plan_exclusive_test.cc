// Exclusive children, and children with a restart budget of their own, with every strategy.
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

SupervisorSpec Exclusive(SupervisorSpec spec, const std::string& id) {
  for (ChildSpec& child : spec.children) child.exclusive |= child.id == id;
  return spec;
}

TEST(ExclusiveChild, IsStartedWhenItsPredecessorIsGone) {
  PlanDriver plan(Exclusive(Spec(kOneForOne, {"a", "b"}), "a"));
  plan.StartAll();
  plan.Log();
  plan.Events();
  plan.KillStuck("a");
  EXPECT_EQ(plan.Log(), "await gone a, timer 5s");
  EXPECT_EQ(plan.States(), "a restarting, b running");
  const SupervisionEvent held = plan.Events().back();
  EXPECT_EQ(held.kind, SupervisionEvent::Kind::kHeld);
  EXPECT_EQ(held.wait, absl::Seconds(5));
  plan.Gone("a");
  EXPECT_EQ(plan.Log(), "cancel timer, start a");
  EXPECT_EQ(plan.States(), "a running, b running");
}

TEST(ExclusiveChild, AnotherChildIsReplacedAtOnceAndSoIsOneWhoseHandlerHeeded) {
  PlanDriver plan(Exclusive(Spec(kOneForOne, {"a", "b"}), "a"));
  plan.StartAll();
  plan.Log();
  plan.KillStuck("b");
  EXPECT_EQ(plan.Log(), "start b");
  plan.Exit("a", ExitReason::Killed());
  EXPECT_EQ(plan.Log(), "start a");
}

TEST(ExclusiveChild, IsGivenUpWithStuckAfterItsTimeToStop) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Exclusive(Spec(strategy, {"a", "b"}), "a"));
    plan.StartAll();
    plan.KillStuck("a");
    plan.Pass(absl::Seconds(4.9));
    EXPECT_FALSE(plan.plan().is_finished());
    plan.Pass(absl::Seconds(0.1));
    ASSERT_TRUE(plan.plan().is_finished()) << strategy;
    EXPECT_EQ(plan.finish_reason().ToString(),
              "RestartsExhausted(child 'a' could not be replaced: its killed handler has not returned); because of "
              "Stuck; because of " +
                  ExitReason::KilledHandlerRunning().ToString());
    EXPECT_EQ(plan.timers(), 0U);
  }
}

TEST(ExclusiveChild, WithoutALimitToStopItWaitsAndAKilledOneHasTheDefault) {
  SupervisorSpec spec = Exclusive(Spec(kOneForOne, {"a"}), "a");
  spec.children[0].shutdown = ChildShutdown::Infinity();
  PlanDriver plan(spec);
  plan.StartAll();
  plan.KillStuck("a");
  plan.Pass(absl::Hours(100));
  EXPECT_EQ(plan.States(), "a restarting");
  spec.children[0].shutdown = ChildShutdown::BrutalKill();
  PlanDriver killed(spec);
  killed.StartAll();
  killed.Log();
  killed.KillStuck("a");
  EXPECT_EQ(killed.Log(), "await gone a, timer 5s");
}

TEST(ExclusiveChild, APredecessorKeepsAllChildrenOfOneForAllDownUntilItIsGone) {
  PlanDriver plan(Exclusive(Patient(Spec(kOneForAll, {"a", "b", "c"})), "b"));
  plan.StartAll();
  plan.Log();
  plan.KillStuck("b");
  EXPECT_EQ(plan.Log(), "await gone b, stop c, stop a");
  EXPECT_EQ(plan.States(), "a stopped, b restarting, c stopped");
  plan.Gone("b");
  EXPECT_EQ(plan.Log(), "start a, start b, start c");
}

TEST(ExclusiveChild, APredecessorKeepsTheChildrenAfterItOfRestForOneDownUntilItIsGone) {
  PlanDriver plan(Exclusive(Patient(Spec(kRestForOne, {"a", "b", "c"})), "b"));
  plan.StartAll();
  plan.Log();
  plan.KillStuck("b");
  EXPECT_EQ(plan.Log(), "await gone b, stop c");
  EXPECT_EQ(plan.States(), "a running, b restarting, c stopped");
  plan.Gone("b");
  EXPECT_EQ(plan.Log(), "start b, start c");
}

// A sibling is stopped because of the dead child, and its handler runs on after it is killed.
TEST(ExclusiveChild, ASiblingThatIsStuckHoldsUpTheGroup) {
  for (const RestartStrategy strategy : {kOneForAll, kRestForOne}) {
    SupervisorSpec spec = Exclusive(Spec(strategy, {"a", "b", "c"}), "b");
    spec.children[2].shutdown = ChildShutdown::Infinity();
    PlanDriver plan(spec);
    plan.slow_stop = {"b"};
    plan.StartAll();
    plan.Exit("a");
    plan.Log();
    plan.KillStuck("b");
    if (strategy == kOneForAll) {
      EXPECT_EQ(plan.Log(), "cancel timer, await gone b, timer 5s");
      plan.Gone("b");
      EXPECT_EQ(plan.Log(), "cancel timer, start a, start b, start c");
    } else {
      EXPECT_EQ(plan.Log(), "cancel timer, await gone b, start a, timer 5s");
      plan.Gone("b");
      EXPECT_EQ(plan.Log(), "cancel timer, start b, start c");
    }
    EXPECT_EQ(plan.States(), "a running, b running, c running");
    EXPECT_EQ(plan.plan().children().WhichChildren()[1].restarts, 0) << "it is not counted";
  }
}

TEST(ExclusiveChild, APredecessorThatIsGoneBeforeItsTurnHoldsUpNoStart) {
  PlanDriver plan(Exclusive(Patient(Spec(kOneForAll, {"a", "b", "c"})), "c"));
  plan.slow_stop = {"a"};
  plan.StartAll();
  plan.Log();
  plan.KillStuck("c");
  EXPECT_EQ(plan.Log(), "await gone c, stop b, stop a");
  plan.Gone("c");
  EXPECT_EQ(plan.Log(), "");
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "start a, start b, start c");
}

// An earlier supervisor of these children left a handler that is still running.
TEST(ExclusiveChild, IsHeldInTheFirstStartUntilThatOfAnEarlierSupervisorIsGone) {
  const std::string at_first[] = {"start a, timer 5s, start c, done", "timer 5s", "start a, timer 5s"};
  const std::string when_gone[] = {"cancel timer, start b", "cancel timer, start a, start b, start c, done",
                                   "cancel timer, start b, start c, done"};
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Exclusive(Spec(strategy, {"a", "b", "c"}), "b"));
    plan.Inherit("b");
    plan.StartAll();
    EXPECT_EQ(plan.Log(), at_first[static_cast<int>(strategy)]) << strategy;
    plan.Gone("b");
    EXPECT_EQ(plan.Log(), when_gone[static_cast<int>(strategy)]) << strategy;
    EXPECT_EQ(plan.States(), "a running, b running, c running");
  }
}

TEST(ExclusiveChild, AChildThatWaitsTooLongIsGivenUpInTheFirstStartToo) {
  for (const RestartStrategy strategy : kStrategies) {
    PlanDriver plan(Exclusive(Spec(strategy, {"a", "b"}), "a"));
    plan.Inherit("a");
    plan.StartAll();
    plan.Pass(absl::Seconds(5));
    ASSERT_TRUE(plan.plan().is_finished()) << strategy;
    EXPECT_THAT(plan.finish_reason().ToString(), HasSubstr("; because of Stuck;"));
  }
}

TEST(ExclusiveChild, AWaitingChildMayBeTerminatedAndIsNotRestartedByRequestBeforeItsPredecessorIsGone) {
  PlanDriver plan(Exclusive(Spec(kOneForOne, {"a"}), "a"));
  plan.StartAll();
  plan.KillStuck("a");
  EXPECT_TRUE(plan.StatusOf(plan.Terminate("a")).ok());
  EXPECT_EQ(plan.timers(), 0U);
  const auto early = plan.Restart("a");
  EXPECT_TRUE(absl::IsFailedPrecondition(plan.StatusOf(early)));
  EXPECT_THAT(plan.StatusOf(early).message(), HasSubstr("handler"));
  plan.Gone("a");
  EXPECT_EQ(plan.States(), "a stopped");
  EXPECT_TRUE(plan.StatusOf(plan.Restart("a")).ok());
  EXPECT_EQ(plan.States(), "a running");
}

TEST(ExclusiveChild, EndsAndIsDeletedWhileItWaits) {
  PlanDriver plan(Exclusive(Spec(kOneForOne, {"a"}), "a"));
  plan.StartAll();
  plan.KillStuck("a");
  plan.Terminate("a");
  EXPECT_TRUE(plan.StatusOf(plan.Delete("a")).ok());
  ChildSpec again{.id = "a", .exclusive = true};
  EXPECT_TRUE(absl::IsFailedPrecondition(plan.StatusOf(plan.StartChild(again)))) << "the id would have two instances";
  EXPECT_TRUE(plan.StatusOf(plan.StartChild({.id = "b", .exclusive = true})).ok());
  plan.Gone("a");
  EXPECT_EQ(plan.States(), "b running");
  EXPECT_TRUE(plan.StatusOf(plan.StartChild(again)).ok());
  PlanDriver ending(Exclusive(Spec(kOneForOne, {"a"}), "a"));
  ending.StartAll();
  ending.KillStuck("a");
  ending.Shutdown();
  EXPECT_TRUE(ending.plan().is_finished());
  EXPECT_EQ(ending.timers(), 0U);
}

TEST(ExclusiveChild, AChildWithBackoffWaitsForTheBackoffAndItsPredecessor) {
  SupervisorSpec spec = Exclusive(Spec(kOneForOne, {"a"}), "a");
  spec.children[0].backoff = RestartBackoff{.min = absl::Seconds(1), .jitter = 0.0};
  PlanDriver plan(spec);
  plan.StartAll();
  plan.Exit("a");
  plan.Log();
  plan.KillStuck("a");
  EXPECT_EQ(plan.Log(), "await gone a, timer 1s");
  plan.Pass(absl::Seconds(1));
  EXPECT_EQ(plan.Log(), "timer 5s");
  plan.Gone("a");
  EXPECT_EQ(plan.Log(), "cancel timer, start a");
}

TEST(ChildBudget, EndsItsSupervisorOutsideAPoolBeforeTheSharedIntensityIsSpent) {
  for (const RestartStrategy strategy : kStrategies) {
    SupervisorSpec spec = Spec(strategy, {"a", "b"});
    spec.intensity = 100;
    spec.children[0].budget = RestartBudget{1, absl::Seconds(10)};
    PlanDriver plan(spec);
    plan.StartAll();
    for (int i = 0; i < 10; ++i) plan.Exit("b");
    EXPECT_EQ(plan.States(), "a running, b running") << "the budget is a's alone";
    plan.Exit("a");
    EXPECT_FALSE(plan.plan().is_finished());
    plan.Exit("a");
    ASSERT_TRUE(plan.plan().is_finished()) << strategy;
    EXPECT_EQ(plan.finish_reason().ToString(),
              "RestartsExhausted(child 'a' needed 2 restarts within 10s; 1 is allowed to it); because of "
              "Exception(std::logic_error: oops)");
  }
}

TEST(ChildBudget, IsNewAgainAfterItsPeriod) {
  SupervisorSpec spec = Spec(kOneForOne, {"a"});
  spec.children[0].budget = RestartBudget{1, absl::Seconds(10)};
  PlanDriver plan(spec);
  plan.StartAll();
  for (int i = 0; i < 20; ++i) {
    plan.Exit("a");
    plan.Pass(absl::Seconds(10.5));
  }
  EXPECT_EQ(plan.States(), "a running");
}

TEST(ChildBudget, DoesNotCountARestartThatWaited) {
  SupervisorSpec spec = Spec(kOneForOne, {"a"});
  spec.children[0].budget = RestartBudget{1, absl::Minutes(10)};
  spec.children[0].backoff = RestartBackoff{.reset_after = absl::Minutes(5)};
  PlanDriver plan(spec);
  plan.StartAll();
  plan.fail_start = {"a"};
  plan.Exit("a");
  plan.Pass(absl::Minutes(2));
  EXPECT_FALSE(plan.plan().is_finished()) << "only the first restart is counted, because the later ones waited";
  EXPECT_GT(plan.plan().children().WhichChildren()[0].restarts, 5);
  plan.fail_start = {};
  plan.Pass(absl::Minutes(6));
  plan.Exit("a");
  ASSERT_TRUE(plan.plan().is_finished()) << "it ran healthily, so this one is counted, the second within 10 minutes";
  EXPECT_EQ(plan.finish_reason().kind(), ExitReason::Kind::kRestartsExhausted);
}

// With every strategy the chain of causes must say which child gave up, and why.
TEST(GivingUp, OfABackoffsOwnLimitCarriesTheWholeCauseChainWhateverTheStrategy) {
  for (const RestartStrategy strategy : kStrategies) {
    SupervisorSpec spec = Patient(Spec(strategy, {"a", "b", "c"}));
    spec.intensity = 1;
    spec.children[1].backoff = RestartBackoff{.give_up_after_attempts = 3};
    PlanDriver plan(spec);
    plan.StartAll();
    plan.fail_start = {"b"};
    plan.Exit("b");
    plan.Pass(absl::Minutes(10));
    ASSERT_TRUE(plan.plan().is_finished()) << strategy;
    EXPECT_EQ(plan.finish_reason().ToString(),
              "RestartsExhausted(child 'b' was restarted 3 times without running 30s; that is its limit); because of "
              "Failed(NOT_FOUND: no file for b)");
    EXPECT_EQ(plan.timers(), 0U);
  }
}

}  // namespace
}  // namespace understudy
