// The RestartPlan of a pool, which corresponds to OTP's simple_one_for_one.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/supervision/plan_driver.h"
#include "understudy/tests/supervision/startable.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// Returns a pool whose children may take any time to stop, with an intensity of 3 restarts in 10 s.
SupervisorSpec PoolOf(RestartType restart) {
  auto pool = std::make_shared<PoolSpec>();
  pool->child = Startable(ChildSpec{.id = "w", .restart = restart, .shutdown = ChildShutdown::Infinity()});
  SupervisorSpec spec{.intensity = 3, .period = absl::Seconds(10)};
  spec.pool = pool;
  return spec;
}

SupervisorSpec WithChild(SupervisorSpec spec, const std::function<void(ChildSpec&)>& change) {
  auto pool = std::make_shared<PoolSpec>(*spec.pool);
  change(pool->child);
  spec.pool = pool;
  return spec;
}

// OTP SUP-31
TEST(PoolPlan, ChildrenAreStartedByRequestSideBySide) {
  PlanDriver plan(PoolOf(RestartType::kPermanent));
  plan.slow_start = {"a", "b"};
  plan.StartAll();
  EXPECT_EQ(plan.Log(), "done");
  plan.StartMember("a");
  plan.StartMember("b");
  plan.StartMember("c");
  EXPECT_EQ(plan.Log(), "start a, start b, start c, reply 3 OK");
  EXPECT_EQ(plan.States(), "a starting, b starting, c running");
  plan.Started("b");
  plan.Started("a");
  EXPECT_EQ(plan.Log(), "reply 2 OK, reply 1 OK");
}

TEST(PoolPlan, AChildWithoutAnIdIsGivenOne) {
  PlanDriver plan(PoolOf(RestartType::kPermanent));
  plan.StartAll();
  plan.StartMember("");
  plan.StartMember("");
  EXPECT_EQ(plan.States(), "w#1 running, w#2 running");
}

TEST(PoolPlan, AChildWhoseNameIsTakenIsTriedNowAndThen) {
  const SupervisorSpec spec = WithChild(PoolOf(RestartType::kPermanent), [](ChildSpec& child) {
    child.registered_as = "w/{id}";
    child.published_as = "{id}/{id}";
  });
  PlanDriver plan(spec);
  plan.StartAll();
  plan.StartMember("a");
  EXPECT_EQ(plan.plan().children().GetChildSpec("a")->registered_as, "w/a");
  EXPECT_EQ(plan.plan().children().GetChildSpec("a")->published_as, "a/a");
  plan.slow_start = {"a", "b"};
  plan.Exit("a", ExitReason::NameLost("a/a"));
  EXPECT_EQ(plan.States(), "a parked");
  plan.Log();
  plan.Pass(limits::kParkedRetryAfter);
  EXPECT_EQ(plan.Log(), "start a");
  // A new member whose name is taken is not kept.
  const auto refused = plan.StartMember("b");
  plan.Failed("b", ExitReason::NameConflict("w/b"));
  EXPECT_TRUE(absl::IsAlreadyExists(plan.StatusOf(refused))) << plan.StatusOf(refused);
  EXPECT_THAT(plan.StatusOf(refused).message(), HasSubstr("w/b"));
  EXPECT_EQ(plan.States(), "a starting");
}

// OTP SUP-20
TEST(PoolPlan, RequestsThatNeedASpecOfAChildsOwnAreRefused) {
  PlanDriver plan(PoolOf(RestartType::kPermanent));
  plan.StartAll();
  plan.StartMember("a");
  for (const auto request : {plan.StartChild({.id = "b"}), plan.Restart("a"), plan.Delete("a")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(plan.StatusOf(request))) << plan.StatusOf(request);
  }
  EXPECT_TRUE(absl::IsAlreadyExists(plan.StatusOf(plan.StartMember("a"))));
  EXPECT_EQ(plan.States(), "a running");
  PlanDriver fixed(Spec(kOneForOne, {"a"}));
  fixed.StartAll();
  EXPECT_TRUE(absl::IsFailedPrecondition(fixed.StatusOf(fixed.StartMember("b"))));
}

// OTP SUP-06, SUP-07, SUP-12
TEST(PoolPlan, AStartThatDeclinesOrFailsLeavesNothing) {
  for (const RestartType restart : {RestartType::kPermanent, RestartType::kTemporary}) {
    PlanDriver plan(PoolOf(restart));
    plan.ignore_start = {"a"};
    plan.fail_start = {"b"};
    plan.StartAll();
    EXPECT_TRUE(plan.StatusOf(plan.StartMember("a")).ok());
    const auto failed = plan.StartMember("b");
    EXPECT_TRUE(absl::IsNotFound(plan.StatusOf(failed)));
    EXPECT_THAT(plan.StatusOf(failed).message(), HasSubstr("no file for b"));
    EXPECT_EQ(plan.plan().children().CountChildren().specs, 0);
    plan.Log();
    plan.Shutdown();
    EXPECT_EQ(plan.Log(), "finish Shutdown");
  }
}

TEST(PoolPlan, TheRestartTypeDecidesAndWhoIsNotRestartedIsForgotten) {
  struct Case {
    RestartType type;
    ExitReason reason;
    std::string then;
  };
  const ExitReason crash = ExitReason::Exception("std::logic_error", "oops");
  for (const Case& c :
       {Case{RestartType::kPermanent, ExitReason::Normal(), "a running"},
        Case{RestartType::kPermanent, crash, "a running"}, Case{RestartType::kTransient, ExitReason::Shutdown(), ""},
        Case{RestartType::kTransient, crash, "a running"}, Case{RestartType::kTemporary, crash, ""},
        Case{RestartType::kTemporary, ExitReason::Normal(), ""}}) {
    PlanDriver plan(PoolOf(c.type));
    plan.StartAll();
    plan.StartMember("a");
    plan.Exit("a", c.reason);
    EXPECT_EQ(plan.States(), c.then) << c.type << " " << c.reason;
  }
}

// OTP SUP-32
TEST(PoolPlan, ChildrenAreStoppedAtOnceAndEachIsKilledAfterItsOwnTime) {
  PlanDriver plan(WithChild(PoolOf(RestartType::kPermanent),
                            [](ChildSpec& child) { child.shutdown = ChildShutdown::Within(absl::Seconds(2)); }));
  plan.slow_stop = {"a", "c"};
  plan.StartAll();
  for (const char* id : {"a", "b", "c"}) plan.StartMember(id);
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop c, timer 2s, stop b, timer 2s, stop a, timer 2s, cancel timer");
  EXPECT_EQ(plan.States(), "a stopping, c stopping");
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "cancel timer");
  const MonotonicTime before = plan.now();
  plan.Pass(absl::Seconds(2));
  EXPECT_EQ(plan.Log(), "kill a, finish Shutdown");
  EXPECT_EQ(plan.now() - before, absl::Seconds(2));
}

TEST(PoolPlan, TheEndAlsoEndsWhatIsStartingOrWaiting) {
  PlanDriver plan(
      WithChild(PoolOf(RestartType::kPermanent), [](ChildSpec& child) { child.backoff = RestartBackoff{}; }));
  plan.slow_start = {"slow"};
  plan.StartAll();
  plan.StartMember("waits");
  plan.Exit("waits");
  plan.Exit("waits");
  const auto starting = plan.StartMember("slow");
  EXPECT_EQ(plan.States(), "waits restarting, slow starting");
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop slow, cancel timer, reply 2 UNAVAILABLE, finish Shutdown");
  EXPECT_TRUE(IsStopping(plan.StatusOf(starting)));
  EXPECT_EQ(plan.timers(), 0U);
}

TEST(PoolPlan, ChildrenOfOneForOneMayBeStoppedAtOnceToo) {
  SupervisorSpec spec = Patient(Spec(kOneForOne, {"a", "b", "c", "d"}));
  spec.stop_together = true;
  spec.children[3].restart = RestartType::kTemporary;
  PlanDriver plan(spec);
  plan.slow_stop = {"a", "c"};
  plan.StartAll();
  plan.Terminate("b");
  plan.Log();
  plan.Shutdown();
  EXPECT_EQ(plan.Log(), "stop d, stop c, stop a");
  plan.Exit("c", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "");
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(), "finish Shutdown");
}

// OTP SUP-20
TEST(PoolPlan, AChildIsTerminatedByIdOrPidAndForgotten) {
  PlanDriver plan(PoolOf(RestartType::kPermanent));
  plan.slow_stop = {"a"};
  plan.StartAll();
  plan.StartMember("a");
  plan.StartMember("b");
  const Pid a(1, 1, plan.LifeOf("a"));
  const Pid b(1, 1, plan.LifeOf("b"));
  const auto first = plan.TerminatePid(a);
  const auto second = plan.TerminatePid(a);
  EXPECT_FALSE(plan.IsAnswered(first));
  EXPECT_TRUE(plan.StatusOf(plan.TerminatePid(b)).ok()) << "a request must not wait for one about another child";
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_TRUE(plan.StatusOf(first).ok());
  EXPECT_TRUE(plan.StatusOf(second).ok());
  EXPECT_EQ(plan.States(), "");
  EXPECT_FALSE(plan.plan().children().HasChild(a));
  EXPECT_TRUE(absl::IsNotFound(plan.StatusOf(plan.Terminate("a"))));
}

TEST(PoolPlan, ThePidOfAnEarlierLifeIsNoChildsAnyMore) {
  PlanDriver plan(PoolOf(RestartType::kPermanent));
  plan.StartAll();
  plan.StartMember("a");
  const Pid earlier(1, 1, plan.LifeOf("a"));
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a running");
  EXPECT_FALSE(plan.plan().children().HasChild(earlier));
  EXPECT_TRUE(absl::IsNotFound(plan.StatusOf(plan.TerminatePid(earlier))));
  EXPECT_EQ(plan.States(), "a running");
}

// OTP SUP-62
TEST(PoolPlan, AChildThatIsBeingRestartedIsTerminatedByItsLastPid) {
  PlanDriver plan(
      WithChild(PoolOf(RestartType::kPermanent), [](ChildSpec& child) { child.backoff = RestartBackoff{}; }));
  plan.StartAll();
  plan.StartMember("a");
  plan.Exit("a");
  const Pid last(1, 1, plan.LifeOf("a"));
  plan.Exit("a");
  EXPECT_EQ(plan.States(), "a restarting");
  EXPECT_EQ(plan.plan().children().CountChildren().active, 0);
  EXPECT_EQ(plan.plan().children().CountChildren().specs, 1);
  EXPECT_TRUE(plan.StatusOf(plan.TerminatePid(last)).ok());
  EXPECT_EQ(plan.States(), "");
  EXPECT_EQ(plan.timers(), 0U);
}

// OTP SUP-31, SUP-34
TEST(PoolPlan, SpentIntensityEndsThePoolWithTheCauseChain) {
  PlanDriver plan(PoolOf(RestartType::kPermanent));
  plan.StartAll();
  plan.StartMember("a");
  plan.StartMember("b");
  plan.fail_start = {"a"};
  plan.Log();
  plan.Exit("a");
  EXPECT_EQ(plan.Log(), "start a, start a, start a, stop b, finish RestartsExhausted");
  EXPECT_EQ(plan.finish_reason().ToString(),
            "RestartsExhausted(child 'a' needed 4 restarts within 10s; 3 are allowed); because of Failed(NOT_FOUND: no "
            "file for a)");
}

// OTP SUP-35
TEST(PoolPlan, TheStoreStaysWellFormedWhenTemporaryChildrenEnd) {
  PlanDriver plan(PoolOf(RestartType::kTemporary));
  plan.StartAll();
  for (int i = 0; i < 5; ++i) plan.StartMember(absl::StrCat(i));
  plan.Exit("0");
  plan.Exit("3");
  EXPECT_EQ(plan.States(), "1 running, 2 running, 4 running");
  EXPECT_TRUE(plan.StatusOf(plan.StartMember("0")).ok());
  EXPECT_EQ(plan.States(), "1 running, 2 running, 4 running, 0 running");
  EXPECT_EQ(plan.plan().children().CountChildren().active, 4);
}

TEST(PoolPlan, ItsLimitOfChildrenIsKept) {
  SupervisorSpec spec = PoolOf(RestartType::kTemporary);
  auto pool = std::make_shared<PoolSpec>(*spec.pool);
  pool->children_max = 2;
  spec.pool = pool;
  PlanDriver plan(spec);
  plan.StartAll();
  plan.StartMember("a");
  plan.StartMember("b");
  EXPECT_TRUE(IsFull(plan.StatusOf(plan.StartMember("c"))));
  plan.Exit("a");
  EXPECT_TRUE(plan.StatusOf(plan.StartMember("c")).ok());
}

// OTP SUP-73, SUP-74
TEST(PoolPlan, SignificantChildrenEndIt) {
  for (const AutoShutdown when : {AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
    SupervisorSpec spec =
        WithChild(PoolOf(RestartType::kTransient), [](ChildSpec& child) { child.significant = true; });
    spec.auto_shutdown = when;
    PlanDriver plan(spec);
    plan.StartAll();
    plan.StartMember("a");
    plan.StartMember("b");
    plan.Exit("a");
    EXPECT_EQ(plan.States(), "a running, b running") << "a crash restarts it";
    plan.Log();
    plan.Exit("a", ExitReason::Normal());
    EXPECT_EQ(plan.Log(), when == AutoShutdown::kAnySignificant ? "stop b, finish Shutdown" : "");
    if (when == AutoShutdown::kAnySignificant) continue;
    plan.Exit("b", ExitReason::Normal());
    EXPECT_EQ(plan.Log(), "finish Shutdown");
  }
}

TEST(PoolPlan, ALimitOfItsOwnEndsOnlyTheChild) {
  const auto by_budget = [](ChildSpec& child) { child.budget = RestartBudget{1, absl::Seconds(10)}; };
  const auto by_backoff = [](ChildSpec& child) { child.backoff = RestartBackoff{.give_up_after_attempts = 2}; };
  for (const std::function<void(ChildSpec&)>& change :
       {std::function<void(ChildSpec&)>(by_budget), std::function<void(ChildSpec&)>(by_backoff)}) {
    PlanDriver plan(WithChild(PoolOf(RestartType::kPermanent), change));
    plan.StartAll();
    plan.StartMember("a");
    plan.StartMember("b");
    plan.Events();
    for (int i = 0; i < 3 && plan.IsUp("a"); ++i) {
      plan.Exit("a");
      plan.Pass(absl::Seconds(1));
    }
    EXPECT_EQ(plan.States(), "b running");
    const SupervisionEvent last = plan.Events().back();
    EXPECT_EQ(last.kind, SupervisionEvent::Kind::kGaveUp);
    EXPECT_EQ(last.child, "a");
    EXPECT_EQ(last.reason.kind(), ExitReason::Kind::kRestartsExhausted);
    ASSERT_NE(last.reason.cause(), nullptr);
    EXPECT_EQ(last.reason.cause()->kind(), ExitReason::Kind::kException) << last.reason;
    EXPECT_TRUE(plan.StatusOf(plan.StartMember("a")).ok()) << "its id is free";
  }
}

// A child that always crashes spends its own budget and not its siblings'.
TEST(PoolPlan, ARestartThatTheBudgetRefusesIsNotCountedForTheOthers) {
  PlanDriver plan(WithChild(PoolOf(RestartType::kPermanent),
                            [](ChildSpec& child) { child.budget = RestartBudget{1, absl::Seconds(10)}; }));
  plan.StartAll();
  for (const char* id : {"a", "b", "c"}) plan.StartMember(id);
  for (const char* id : {"a", "a", "b", "b", "c"}) plan.Exit(id);
  EXPECT_EQ(plan.States(), "c running") << "3 restarts are counted, of 5 exits";
  plan.Exit("c");
  EXPECT_EQ(plan.States(), "");
  EXPECT_FALSE(plan.plan().is_finished());
}

TEST(PoolPlan, WhichChildrenGivesAPageOfChildrenAfterAPlace) {
  PlanDriver plan(PoolOf(RestartType::kTemporary));
  plan.StartAll();
  for (int i = 0; i < 25; ++i) plan.StartMember(absl::StrCat(i));
  plan.Exit("9");
  std::vector<std::string> seen;
  uint64_t after = 0;
  while (true) {
    const std::vector<ChildInfo> page = plan.plan().children().WhichChildren(after, 10);
    EXPECT_LE(page.size(), 10U);
    if (page.empty()) break;
    for (const ChildInfo& child : page) seen.push_back(child.id);
    after = page.back().place;
  }
  EXPECT_EQ(seen.size(), 24U);
  EXPECT_EQ(seen.front(), "0");
  EXPECT_EQ(seen.back(), "24");
}

// Requests about a busy child wait until it is ready, in their order. They do not delay requests about other children.
TEST(PoolPlan, RequestsOfABusyChildWaitWithItInTheirOrder) {
  PlanDriver plan(Spec(kOneForOne, {"a", "b"}));
  plan.slow_stop = {"a"};
  plan.StartAll();
  const auto stop = plan.Terminate("a");
  const auto start = plan.Restart("a");
  const auto again = plan.Terminate("a");
  const auto other = plan.Terminate("b");
  EXPECT_TRUE(plan.IsAnswered(other));
  EXPECT_FALSE(plan.IsAnswered(start));
  plan.Log();
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_EQ(plan.Log(),
            absl::StrCat("cancel timer, reply ", stop, " OK, start a, reply ", start, " OK, stop a, timer 5s"));
  EXPECT_FALSE(plan.IsAnswered(again));
  plan.Exit("a", ExitReason::Shutdown());
  EXPECT_TRUE(plan.StatusOf(again).ok());
}

TEST(PoolPlan, RequestsThatWaitAreBounded) {
  PlanDriver plan(Spec(kOneForOne, {"a"}));
  plan.slow_stop = {"a"};
  plan.StartAll();
  plan.Terminate("a");
  for (size_t i = 0; i < limits::kWaitingRequestsMax; ++i) plan.Restart("a");
  const auto one_too_many = plan.Restart("a");
  EXPECT_TRUE(IsFull(plan.StatusOf(one_too_many)));
  plan.Shutdown();
  plan.Exit("a", ExitReason::Shutdown());
  for (RestartPlan::RequestId request = 2; request < one_too_many; ++request) {
    ASSERT_EQ(plan.AnswersTo(request), 1) << request;
  }
}

}  // namespace
}  // namespace understudy
