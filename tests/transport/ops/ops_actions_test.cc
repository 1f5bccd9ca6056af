// The actions of the operator's service, without gRPC and in virtual time.
#include "understudy/transport/ops/ops_actions.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
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
    OpsActions actions(system_, nullptr);
    const absl::StatusOr<OpsActions::Outcome> outcome = actions.Act(caller, request);
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
  OpsActions actions(system_, nullptr);
  const OpsCaller caller = Caller({OpsAction::kLogLevel});
  proto::ActRequest request;
  request.set_action(proto::LOG_LEVEL);
  request.set_log_level("error");
  const auto ask = [&](const OpsCaller& by) -> absl::Status {
    const absl::StatusOr<OpsActions::Outcome> outcome = actions.Act(by, request);
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

TEST_F(OpsActionsTest, EachRefusedActionHasItsLineHoweverManyThereAre) {
  const OpsCaller caller = Caller({});
  for (int i = 0; i < 3 * limits::kLogLinesPerSiteMax; ++i) (void)Act(caller, proto::STOP, "clerk");
  EXPECT_THAT(log_.lines(), SizeIs(3 * limits::kLogLinesPerSiteMax));
}

TEST_F(OpsActionsTest, RefusalsOfACallerThatMayDoNothingAreLimited) {
  const OpsCaller caller{.name = "certificate 'mallory'", .where = "GrantEntry::ops of 'mallory'"};
  for (int i = 0; i < 3 * limits::kLogLinesPerSiteMax; ++i) (void)Act(caller, proto::STOP, "clerk");
  EXPECT_THAT(log_.lines(), SizeIs(limits::kLogLinesPerSiteMax));
}

}  // namespace
}  // namespace understudy
