// The actions of the operator's service, without gRPC and in virtual time.
#include "understudy/transport/ops/ops_actions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/pool.h"
#include "understudy/tests/transport/ops/clerk.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/ops/ops_caller.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

using internal::OpsActions;
using internal::OpsCaller;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class OpsActionsTest : public ::testing::Test {
 protected:
  // A process of this user, who may do `allowed`.
  static OpsCaller Caller(std::set<OpsAction> allowed) {
    return internal::CallerOf(StreamIdentity::SameUser(), nullptr, allowed);
  }
  absl::Status Act(const OpsCaller& caller, proto::Action action, const std::string& actor,
                   const std::string& child = "", absl::Duration time = absl::ZeroDuration()) {
    proto::ActRequest request;
    request.set_action(action);
    request.set_actor(actor);
    request.set_child(child);
    request.set_time_nanos(absl::ToInt64Nanoseconds(time));
    const absl::StatusOr<OpsActions::Outcome> outcome = actions_.Act(caller, request);
    if (!outcome.ok()) return outcome.status();
    absl::optional<absl::StatusOr<proto::ActReply>> reply = (*outcome)();
    const MonotonicTime until = system_.clock().Now() + absl::Seconds(1);
    (void)executor_.BlockUntil(
        [&] {
          if (!reply.has_value()) reply = (*outcome)();
          return reply.has_value();
        },
        until);
    executor_.RunUntilIdle();
    return reply.has_value() ? reply->status() : absl::DeadlineExceededError("the outcome is not known");
  }

  SeededExecutor executor_{1};
  KeptLog log_;
  ActorSystem system_{{.name = "desk", .executor = &executor_, .seed = 1, .log = &log_}};
  OpsActions actions_{system_, nullptr};
};

TEST_F(OpsActionsTest, AnActorIsStoppedAfterALineInTheLog) {
  system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  const OpsCaller caller = Caller({OpsAction::kStop});
  EXPECT_TRUE(Act(caller, proto::STOP, "clerk").ok());
  EXPECT_EQ(system_.live_actors(), 0);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to stop clerk")));
}

TEST_F(OpsActionsTest, AnActionThatIsNotAllowedIsRefusedAndLogged) {
  system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  const OpsCaller caller = Caller({OpsAction::kStop});
  const absl::Status status = Act(caller, proto::KILL, "clerk");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("to kill clerk: OpsOptions::actions lacks kill"));
  EXPECT_EQ(system_.live_actors(), 1);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to kill clerk: refused")));
}

TEST_F(OpsActionsTest, SuspendAndResumeNeedOneGrant) {
  const Ref<Clerk> clerk = system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  const OpsCaller caller = Caller({OpsAction::kStop, OpsAction::kKill});
  const auto suspended_for = [&] { return InspectActor(system_, clerk.pid()).value().suspended_for; };
  const absl::Status suspend = Act(caller, proto::SUSPEND, "clerk", "", absl::Seconds(30));
  EXPECT_EQ(suspend.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(suspend.message()), HasSubstr("to suspend clerk for 30s: OpsOptions::actions lacks suspend"));
  EXPECT_EQ(suspended_for(), absl::ZeroDuration());
  system_.Suspend(clerk.pid(), absl::Seconds(30));
  executor_.RunUntilIdle();
  const absl::Status resume = Act(caller, proto::RESUME, "clerk");
  EXPECT_EQ(resume.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(resume.message()), HasSubstr("to resume clerk: OpsOptions::actions lacks suspend"));
  EXPECT_EQ(suspended_for(), absl::Seconds(30));
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to suspend clerk for 30s: refused"),
                                        HasSubstr("asks to resume clerk: refused")));
}

TEST_F(OpsActionsTest, AnActionWithoutItsObjectSaysWhatIsMissing) {
  const OpsCaller caller = Caller({OpsAction::kKill, OpsAction::kDrain, OpsAction::kRestart});
  EXPECT_THAT(std::string(Act(caller, proto::DRAIN, "").message()), HasSubstr("there is no node to drain"));
  EXPECT_THAT(std::string(Act(caller, proto::KILL, "nobody").message()), HasSubstr("'nobody' is neither"));
  EXPECT_THAT(std::string(Act(caller, proto::ACTION_NONE, "").message()), HasSubstr("unknown action 0"));
}

TEST_F(OpsActionsTest, AnActorIsSuspendedAndResumedAfterALineInTheLog) {
  system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  const OpsCaller caller = Caller({OpsAction::kSuspend});
  proto::GetActorRequest request;
  request.set_actor("clerk");
  const auto look = [&] { return internal::ReadActor(system_, request).value(); };
  EXPECT_TRUE(Act(caller, proto::SUSPEND, "clerk", "", absl::Seconds(30)).ok());
  EXPECT_EQ(look().suspended_for_nanos(), absl::ToInt64Nanoseconds(absl::Seconds(30)));
  EXPECT_EQ(look().mailboxes(0).closed_by(), "suspension");
  EXPECT_TRUE(Act(caller, proto::RESUME, "clerk").ok());
  EXPECT_EQ(look().suspended_for_nanos(), 0);
  EXPECT_EQ(look().mailboxes(0).closed_by(), "open");
  EXPECT_TRUE(Act(caller, proto::SUSPEND, "clerk", "", absl::Seconds(30)).ok());
  executor_.Advance(absl::Seconds(30));
  EXPECT_EQ(look().suspended_for_nanos(), 0) << "it ends with its time";
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to suspend clerk for 30s"), HasSubstr("asks to resume clerk"),
                                        HasSubstr("asks to suspend clerk for 30s")));
}

TEST_F(OpsActionsTest, ASuspensionHasAMaximumAndASuspendedActorCanBeKilled) {
  system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  const OpsCaller caller = Caller({OpsAction::kSuspend, OpsAction::kKill});
  for (const absl::Duration time :
       {absl::ZeroDuration(), -absl::Seconds(1), limits::kOpsSuspensionMax + absl::Nanoseconds(1)}) {
    const absl::Status status = Act(caller, proto::SUSPEND, "clerk", "", time);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("expected more than 0 and at most 10m"));
  }
  EXPECT_TRUE(Act(caller, proto::SUSPEND, "clerk", "", limits::kOpsSuspensionMax).ok());
  EXPECT_TRUE(Act(caller, proto::KILL, "clerk").ok());
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_F(OpsActionsTest, AChildIsRestartedAndTheLogSaysSo) {
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  executor_.RunUntilIdle();
  const absl::optional<Pid> before = system_.WhereIs("clerk");
  const OpsCaller caller = Caller({OpsAction::kRestart});
  EXPECT_TRUE(Act(caller, proto::RESTART, root.pid().ToString(), "clerk").ok());
  const absl::optional<Pid> after = system_.WhereIs("clerk");
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_NE(*before, *after);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("child 'clerk' runs as")));
  EXPECT_THAT(std::string(Act(caller, proto::RESTART, root.pid().ToString()).message()),
              HasSubstr("no child is named"));
}

// Starts as often as `starts` says.
class Starter final : public Actor {
 public:
  Mailbox<"sell", int> sell{this};
  explicit Starter(int* starts) : starts_(starts) {}
  StartResult Start() override {
    if (--*starts_ < 0) return absl::UnavailableError("the till is locked");
    return open_;
  }

 private:
  int* const starts_;
  Behavior open_{"open", On(sell, [](int) {})};
};

TEST_F(OpsActionsTest, ARestartWhoseChildDoesNotStartIsAnError) {
  int starts = 1;
  const SupervisorRef root = system_.Spawn(OneForOne().Child("till", Of<Starter>(&starts)));
  executor_.RunUntilIdle();
  const absl::Status status = Act(Caller({OpsAction::kRestart}), proto::RESTART, root.pid().ToString(), "till");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("child 'till' was not started again: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the till is locked"));
}

TEST_F(OpsActionsTest, AChildThatCouldNotBeStartedAgainIsNotEnded) {
  const SupervisorRef root = system_.Spawn(OneForOne().Child("guest", Of<Clerk>().RegisteredAs("guest").Temporary()));
  const Pool<Clerk()>::Ref pool =
      system_.Spawn<Pool<Clerk()>>(PoolOptions{.restart = RestartType::kPermanent, .registered_as = "{id}"});
  executor_.RunUntilIdle();
  ASSERT_TRUE(system_.Ask(pool.start_as(), {"member", {}}, absl::Seconds(1)).ok());
  const absl::optional<Pid> guest = system_.WhereIs("guest");
  const absl::optional<Pid> member = system_.WhereIs("member");
  ASSERT_TRUE(guest.has_value() && member.has_value());
  for (const auto& [supervisor, child] : {std::pair(root.pid(), "guest"), std::pair(pool.pid(), "member")}) {
    const absl::Status status = Act(Caller({OpsAction::kRestart}), proto::RESTART, supervisor.ToString(), child);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("would forget child '", child, "'")));
  }
  EXPECT_EQ(system_.WhereIs("guest"), guest);
  EXPECT_EQ(system_.WhereIs("member"), member);
}

// Ends so long after its parent has told it to stop.
class Slow final : public Actor {
 public:
  Mailbox<"sell", int> sell{this};
  explicit Slow(absl::Duration after) : after_(after) {}
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {},
                        [this](const ExitEvent&) {
                          (void)context().StartTimer("end", after_, [this](const TimerEvent&) { context().Stop(); });
                        });
    return open_;
  }

 private:
  const absl::Duration after_;
  Behavior open_{"open", On(sell, [](int) {})};
};

TEST_F(OpsActionsTest, AChildThatStopsSlowlyIsStartedAgainAndTheLogSaysSoAtAnyLevel) {
  ASSERT_TRUE(system_.SetLogLevel(LogSeverity::kError).ok());
  const SupervisorRef root = system_.Spawn(
      OneForOne().Child("till", Of<Slow>(absl::Minutes(4)).RegisteredAs("till").ShutdownWithin(absl::Minutes(5))));
  executor_.RunUntilIdle();
  const absl::optional<Pid> before = system_.WhereIs("till");
  const absl::Status status = Act(Caller({OpsAction::kRestart}), proto::RESTART, root.pid().ToString(), "till");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  executor_.Advance(absl::Minutes(5));
  EXPECT_TRUE(system_.WhereIs("till").has_value());
  EXPECT_NE(system_.WhereIs("till"), before);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to restart child 'till'"), HasSubstr("child 'till' runs as")));
}

TEST_F(OpsActionsTest, ARestartIsNotKnownUntilTheSupervisorHasEndedTheChild) {
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  executor_.RunUntilIdle();
  const absl::optional<Pid> before = system_.WhereIs("clerk");
  system_.Suspend(root.pid(), absl::Seconds(10));
  const absl::Status status = Act(Caller({OpsAction::kRestart}), proto::RESTART, root.pid().ToString(), "clerk");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(),
            "it is not known yet whether child 'clerk' is restarted: its supervisor has not ended it within 500ms; the "
            "node's log will say");
  EXPECT_EQ(system_.WhereIs("clerk"), before);
  EXPECT_THAT(log_.lines(), Not(Contains(HasSubstr("did not"))));
  executor_.Advance(absl::Seconds(10));
  EXPECT_NE(system_.WhereIs("clerk"), before);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("child 'clerk' runs as")));
}

TEST_F(OpsActionsTest, TheLogLevelIsChangedAfterALineInTheLog) {
  const OpsCaller caller = Caller({OpsAction::kLogLevel});
  proto::ActRequest request;
  request.set_action(proto::LOG_LEVEL);
  request.set_log_level("error");
  const auto ask = [&](const OpsCaller& by) -> absl::Status {
    const absl::StatusOr<OpsActions::Outcome> outcome = actions_.Act(by, request);
    return outcome.ok() ? (*outcome)()->status() : outcome.status();
  };
  EXPECT_TRUE(ask(caller).ok());
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to set the log level to error")));
  system_.log().Write(LogSeverity::kWarning, "unheard");
  EXPECT_THAT(log_.lines(), SizeIs(1));
  EXPECT_EQ(internal::ReadNode(system_, nullptr).log_level(), "error");

  request.set_log_level("loud");
  EXPECT_THAT(std::string(ask(caller).message()),
              HasSubstr("'loud' is not a log level: expected debug, info, warning or error"));
  EXPECT_EQ(ask(Caller({})).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(log_.lines().back(), HasSubstr("asks to set the log level to loud: refused"))
      << "a level of errors only does not hide what operators do";
}

TEST_F(OpsActionsTest, RefusalsOfOneCallerBeyondABoundAreCountedAndHideNobodyElses) {
  const OpsCaller mallory{.name = "certificate 'mallory'", .where = "GrantEntry::ops of 'mallory'"};
  for (int i = 0; i < limits::kOpsRefusalLinesMax + 7; ++i) (void)Act(mallory, proto::STOP, "clerk");
  EXPECT_THAT(log_.lines(), SizeIs(limits::kOpsRefusalLinesMax));
  const OpsCaller other = Caller({});
  (void)Act(other, proto::STOP, "clerk");
  EXPECT_THAT(log_.lines().back(), HasSubstr(absl::StrCat(other.name, " asks to stop clerk: refused")));
  executor_.Advance(limits::kOpsRefusalLinesPer);
  (void)Act(other, proto::STOP, "clerk");
  const std::vector<std::string> lines = log_.lines();
  ASSERT_THAT(lines, SizeIs(limits::kOpsRefusalLinesMax + 3));
  EXPECT_EQ(lines[lines.size() - 2],
            "ops: certificate 'mallory' asked for 7 more actions within 1m, which were refused");
  (void)Act(mallory, proto::STOP, "clerk");
  EXPECT_THAT(log_.lines().back(), HasSubstr("certificate 'mallory' asks to stop clerk: refused"));
}

TEST_F(OpsActionsTest, RefusalsThatHaveNoLineYetAreToldInTheEnd) {
  {
    OpsActions actions(system_, nullptr);
    proto::ActRequest request;
    request.set_action(proto::DRAIN);
    for (int i = 0; i < limits::kOpsRefusalLinesMax + 7; ++i) (void)actions.Act(Caller({}), request);
  }
  EXPECT_THAT(log_.lines().back(), HasSubstr("asked for 7 more actions within 1m, which were refused"));
}

}  // namespace
}  // namespace understudy
