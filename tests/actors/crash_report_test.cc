// A crash report says which actor failed, in which handler or hook, with which message in hand, and which messages came
// last.
#include "understudy/actors/crash_report.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/testing/kept_log.h"

namespace understudy {
namespace {

using google::protobuf::StringValue;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Text {
  std::string text;
};
size_t MessageBytes(const Text& text) { return text.text.size(); }
struct Crash {
  int why = 0;
};

class Clerk final : public Actor {
 public:
  Mailbox<"text", Text> text{this};
  Mailbox<"secret", StringValue> secret{this};
  Mailbox<"open", StringValue> open{this, {.report_contents = ReportContents::kYes}};
  Mailbox<"taken", StringValue> taken{this, {.report_contents = ReportContents::kYes}};
  Mailbox<"fail", Crash> fail{this};
  Mailbox<"later", Crash> later{this};
  StartResult Start() override { return working_; }

 private:
  void Read(const Text&) {}
  void Hear(const StringValue&) {}
  void Take(StringValue value) { kept_ = std::move(value); }
  void DoFail(const Crash&) { Fail(absl::DataLossError("torn")); }
  Task<> DoLater(Crash) {
    const auto pause = context().Sleep(absl::Seconds(1));
    (void)co_await pause;
    Fail(absl::DataLossError("torn later"));
  }

  StringValue kept_;
  Behavior working_{"working",
                    On(text, &Clerk::Read),
                    On(secret, &Clerk::Hear),
                    On(open, &Clerk::Hear),
                    On(taken, &Clerk::Take),
                    On(fail, &Clerk::DoFail),
                    On(later, &Clerk::DoLater)};
};

StringValue Value(const std::string& text) {
  StringValue value;
  value.set_value(text);
  return value;
}

class CrashReportTest : public testing::Test {
 protected:
  // A system whose actors keep so many messages.
  ActorSystem& System(int last_messages) {
    system_ = std::make_unique<ActorSystem>(ActorSystemOptions{.name = "here",
                                                               .executor = &executor_,
                                                               .seed = 1,
                                                               .log = &log_,
                                                               .closed_mail_limit = absl::InfiniteDuration(),
                                                               .last_messages = last_messages});
    return *system_;
  }
  ~CrashReportTest() override { system_ = nullptr; }

  SeededExecutor executor_{1};
  KeptLog log_;
  std::unique_ptr<ActorSystem> system_;
};

// Monitors the actor from before the crash on, and keeps the reason of the Down.
class Watcher final : public Actor {
 public:
  Watcher(Pid pid, ExitReason* reason) : pid_(pid), reason_(reason) {}
  StartResult Start() override {
    monitor_ = context().Monitor(pid_, [this](const Down& down) { *reason_ = down.reason; });
    return Behavior("watching", After(absl::Hours(1), [] {}));
  }

 private:
  const Pid pid_;
  ExitReason* const reason_;
  MonitorHandle monitor_;
};

TEST_F(CrashReportTest, ItSaysWhoAtWhatAndTheMessageInHand) {
  ActorSystem& system = System(0);
  const Ref<Clerk> clerk = system.Spawn<Clerk>(SpawnOptions{.label = "clerk"});
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::text].Tell({"a letter"});
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  EXPECT_EQ(reason, ExitReason::Failed(absl::DataLossError("torn"))) << "the report is no part of the reason";
  ASSERT_NE(reason.crash(), nullptr);
  const CrashReport& crash = *reason.crash();
  EXPECT_EQ(crash.pid, clerk.pid());
  EXPECT_EQ(crash.label, "clerk");
  EXPECT_THAT(crash.doing, HasSubstr("mailbox fail handling a understudy::"));
  EXPECT_TRUE(crash.parent.is_null());
  ASSERT_EQ(crash.messages.size(), 2U);
  EXPECT_EQ(crash.messages[0].mailbox, "fail");
  EXPECT_EQ(crash.messages[0].bytes, sizeof(Crash));
  EXPECT_THAT(crash.messages[0].type, HasSubstr("Crash"));
  EXPECT_EQ(crash.messages[0].contents, "");
}

TEST_F(CrashReportTest, WithoutKeptMessagesAReportHasThoseInTheRingOfItsWorker) {
  ActorSystem& system = System(0);
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  const Ref<Clerk> other = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  executor_.RunUntilIdle();
  executor_.Advance(absl::Seconds(1));
  clerk[&Clerk::open].Tell(Value("a greeting"));
  executor_.RunUntilIdle();
  executor_.Advance(absl::Seconds(2));
  other[&Clerk::text].Tell({"of another actor"});
  clerk[&Clerk::text].Tell({"12345"});
  executor_.RunUntilIdle();
  executor_.Advance(absl::Seconds(3));
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  ASSERT_NE(reason.crash(), nullptr);
  const CrashReport& crash = *reason.crash();
  ASSERT_EQ(crash.messages.size(), 3U);
  EXPECT_EQ(crash.messages[0].mailbox, "fail");
  EXPECT_EQ(crash.time - crash.messages[0].time, absl::ZeroDuration());
  EXPECT_EQ(crash.messages[1].mailbox, "text");
  EXPECT_THAT(crash.messages[1].type, HasSubstr("Text"));
  // Messages that are sorted together are a nanosecond apart.
  constexpr absl::Duration kApart = absl::Microseconds(1);
  EXPECT_LT(absl::AbsDuration(crash.time - crash.messages[1].time - absl::Seconds(3)), kApart);
  EXPECT_EQ(crash.messages[2].mailbox, "open");
  EXPECT_EQ(crash.messages[2].type, "google.protobuf.StringValue");
  EXPECT_EQ(crash.messages[2].bytes, Value("a greeting").ByteSizeLong()) << "as its mailbox counted it";
  EXPECT_EQ(crash.messages[2].contents, "") << "although its mailbox allows contents";
  EXPECT_LT(absl::AbsDuration(crash.time - crash.messages[2].time - absl::Seconds(5)), kApart);
  EXPECT_THAT(log_.lines().back(), Not(HasSubstr("its last messages")));
}

TEST_F(CrashReportTest, OfManyMessagesInTheRingTheLastSixteenAreReported) {
  ActorSystem& system = System(0);
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  for (int i = 0; i < 100; ++i) clerk[&Clerk::text].Tell({"a letter"});
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  ASSERT_NE(reason.crash(), nullptr);
  ASSERT_EQ(reason.crash()->messages.size(), limits::kBlackBoxMessagesMax);
  EXPECT_EQ(reason.crash()->messages[0].mailbox, "fail");
  EXPECT_EQ(reason.crash()->messages[1].mailbox, "text");
}

TEST_F(CrashReportTest, AListenerIsToldOfEachCrashUntilItUnsubscribes) {
  ActorSystem& system = System(0);
  std::vector<std::string> told;
  const uint64_t id = system.SubscribeCrashes([&](const CrashReport& crash, const ExitReason& reason) {
    told.push_back(absl::StrCat(crash.label, ": ", reason.ToString()));
  });
  system.Kill(system.Spawn<Clerk>().pid());  // this one does not crash
  system.Spawn<Clerk>(SpawnOptions{.label = "first"})[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  system.TellCrash({.label = "elsewhere"}, ExitReason::OsSignal(6));
  EXPECT_THAT(told, testing::ElementsAre("first: Failed(DATA_LOSS: torn)", HasSubstr("elsewhere: OsSignal(6")));
  EXPECT_TRUE(system.UnsubscribeCrashes(id));
  EXPECT_FALSE(system.UnsubscribeCrashes(id));
  system.Spawn<Clerk>()[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  EXPECT_EQ(told.size(), 2U);
}

// Ends for a cause outside of its handlers, or by a predicate or its process body.
class Frail final : public Actor {
 public:
  enum class How { kOverflow, kEarlyOverflow, kExitOfItself, kPredicate, kProcess };
  Mailbox<"text", Text> text{this, {.capacity_messages = 1, .overflow = Overflow::kFailActor}};
  Mailbox<"exit", Crash> exit{this};
  explicit Frail(How how) : how_(how) {}
  StartResult Start() override {
    if (how_ == How::kProcess) return Process();
    return open_;
  }

 private:
  Task<> Process() {
    auto received = Receive(On(exit, [] {}));
    co_await received;
    Fail(absl::DataLossError("torn"));
  }

  const How how_;
  Behavior open_{"open", On(exit, [this] {
                           context().Exit(context().Self(), ExitReason::Failed(absl::DataLossError("torn")));
                         }).If([this](const Crash&) {
                   if (how_ == How::kPredicate) Fail(absl::DataLossError("torn"));
                   return how_ != How::kPredicate;
                 })};
};

TEST_F(CrashReportTest, ItSaysAtWhatWithoutAMessageInHandToo) {
  ActorSystem& system = System(0);
  const std::vector<std::pair<Frail::How, const char*>> ends = {
      {Frail::How::kOverflow, "ended in no handler: Overflow(text)"},
      {Frail::How::kEarlyOverflow, "ended in no handler: Overflow(text)"},
      {Frail::How::kExitOfItself, "ended in no handler: Failed(DATA_LOSS: torn)"},
      {Frail::How::kPredicate, "ended in a guard, a predicate or a hook: Failed(DATA_LOSS: torn)"},
      {Frail::How::kProcess, "ended in its process: Failed(DATA_LOSS: torn)"}};
  for (const auto& [how, line] : ends) {
    const Ref<Frail> frail = system.Spawn<Frail>(how);
    if (how != Frail::How::kEarlyOverflow) executor_.RunUntilIdle();
    if (how == Frail::How::kOverflow || how == Frail::How::kEarlyOverflow) {
      frail[&Frail::text].Tell({"one"});
      frail[&Frail::text].Tell({"too many"});
    } else {
      frail[&Frail::exit].Tell({});
    }
    executor_.RunUntilIdle();
    EXPECT_THAT(log_.lines(),
                Contains(HasSubstr(frail.pid().ToString() + " (understudy::(anonymous namespace)::Frail) " + line)));
  }
}

#if defined(__cpp_exceptions)
TEST_F(CrashReportTest, WhatOnExitThrowsIsLoggedAndChangesNothing) {
  class Clumsy final : public Actor {
   public:
    StartResult Start() override {
      return Behavior("waiting", After(absl::Seconds(1), [this] { context().Stop(ExitReason::Shutdown()); }));
    }
    void OnExit(const ExitReason& /*reason*/) override { throw std::runtime_error("the file is\ngone"); }
  };
  ActorSystem& system = System(0);
  const Ref<Clumsy> clumsy = system.Spawn<Clumsy>();
  ExitReason reason;
  system.Spawn<Watcher>(clumsy.pid(), &reason);
  executor_.Advance(absl::Seconds(2));
  EXPECT_EQ(reason, ExitReason::Shutdown());
  EXPECT_THAT(log_.lines(),
              testing::ElementsAre(clumsy.pid().ToString() + " threw in OnExit, and ends all the same: "
                                                             "Exception(std::runtime_error: the file is\\ngone)"));
}
#endif

TEST_F(CrashReportTest, TheProxyOfAnotherThingHasNoneOfTheEndOfThatThing) {
  class Proxy final : public Actor {
   public:
    StartResult Start() override {
      return Behavior("waiting", After(absl::Seconds(1), [this] { context().StopAs(ExitReason::OsSignal(9)); }));
    }
  };
  ActorSystem& system = System(4);
  ExitReason reason;
  system.Spawn<Watcher>(system.Spawn<Proxy>().pid(), &reason);
  executor_.Advance(absl::Seconds(2));
  EXPECT_EQ(reason, ExitReason::OsSignal(9));
  EXPECT_EQ(reason.crash(), nullptr);
  EXPECT_THAT(log_.lines(), testing::IsEmpty());
}

TEST_F(CrashReportTest, AnActorThatWasToldToEndHasNone) {
  ActorSystem& system = System(4);
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::text].Tell({"a letter"});
  executor_.RunUntilIdle();
  system.Exit(clerk.pid(), ExitReason::Failed(absl::AbortedError("told")));
  executor_.RunUntilIdle();
  EXPECT_EQ(reason.kind(), ExitReason::Kind::kFailed);
  EXPECT_EQ(reason.crash(), nullptr);
}

TEST_F(CrashReportTest, ASystemThatKeepsMessagesReportsTheLastOnesTheNewestFirst) {
  ActorSystem& system = System(3);
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::text].Tell({"the first is forgotten"});
  clerk[&Clerk::text].Tell({"12345"});
  clerk[&Clerk::secret].Tell(Value("abc"));
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  ASSERT_NE(reason.crash(), nullptr);
  const std::vector<MessageNote>& messages = reason.crash()->messages;
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].mailbox, "fail");
  EXPECT_EQ(messages[1].mailbox, "secret");
  EXPECT_EQ(messages[1].type, "google.protobuf.StringValue");
  EXPECT_EQ(messages[1].bytes, Value("abc").ByteSizeLong());
  EXPECT_EQ(messages[2].mailbox, "text");
  EXPECT_EQ(messages[2].bytes, 5U) << "by its MessageBytes";
  EXPECT_THAT(log_.lines().back(),
              AllOf(HasSubstr("; its last messages: a understudy::"), HasSubstr("Crash of 4 bytes in mailbox fail, a "
                                                                                "google.protobuf.StringValue of 5 "
                                                                                "bytes in mailbox secret, a ")));
}

TEST_F(CrashReportTest, ContentsAreShownOnlyOfMailboxesThatAllowIt) {
  ActorSystem& system = System(10);
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::secret].Tell(Value("a password"));
  clerk[&Clerk::open].Tell(Value("a greeting"));
  clerk[&Clerk::taken].Tell(Value("moved away"));
  clerk[&Clerk::open].Tell(Value(std::string(5000, 'x')));
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  ASSERT_NE(reason.crash(), nullptr);
  const std::vector<MessageNote>& messages = reason.crash()->messages;
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_EQ(messages[1].contents.size(), limits::kReportedContentsBytesMax);
  EXPECT_EQ(messages[1].bytes, Value(std::string(5000, 'x')).ByteSizeLong());
  EXPECT_EQ(messages[2].contents, Value("moved away").SerializeAsString());
  EXPECT_EQ(messages[3].contents, Value("a greeting").SerializeAsString());
  EXPECT_EQ(messages[4].contents, "");
  for (const std::string& line : log_.lines()) EXPECT_THAT(line, Not(HasSubstr("a password")));
}

// Two classes whose mailboxes differ in that alone.
template <ReportContents kContents>
class Keeper final : public Actor {
 public:
  Mailbox<"value", StringValue> value{this, {.report_contents = kContents}};
  Mailbox<"fail", Crash> fail{this};
  StartResult Start() override { return keeping_; }

 private:
  Behavior keeping_{"keeping", On(value, [] {}), On(fail, [this] { Fail(absl::DataLossError("torn")); })};
};

TEST_F(CrashReportTest, AMailboxLikeItInAnotherClassDoesNotAllowIt) {
  ActorSystem& system = System(10);
  const auto contents_of = [&](const auto& keeper, auto value, auto fail) {
    ExitReason reason;
    system.Spawn<Watcher>(keeper.pid(), &reason);
    executor_.RunUntilIdle();
    keeper[value].Tell(Value("a password"));
    keeper[fail].Tell({});
    executor_.RunUntilIdle();
    return reason.crash() == nullptr ? "no report" : reason.crash()->messages.at(1).contents;
  };
  using Open = Keeper<ReportContents::kYes>;
  using Closed = Keeper<ReportContents::kNo>;
  EXPECT_EQ(contents_of(system.Spawn<Open>(), &Open::value, &Open::fail), Value("a password").SerializeAsString());
  EXPECT_EQ(contents_of(system.Spawn<Closed>(), &Closed::value, &Closed::fail), "");
}

TEST_F(CrashReportTest, AHandlerThatAwaitsIsNamedWhenItFailsLater) {
  ActorSystem& system = System(0);
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::later].Tell({});
  executor_.Advance(absl::Seconds(2));
  ASSERT_NE(reason.crash(), nullptr);
  EXPECT_THAT(reason.crash()->doing, HasSubstr("mailbox later handling a"));
  ASSERT_EQ(reason.crash()->messages.size(), 1U);
  EXPECT_EQ(reason.crash()->messages[0].mailbox, "later");
}

TEST_F(CrashReportTest, ASystemWithoutReportsMakesNone) {
  ActorSystem system({.name = "quiet",
                      .executor = &executor_,
                      .seed = 1,
                      .log = &log_,
                      .closed_mail_limit = absl::InfiniteDuration(),
                      .last_messages = 3,
                      .crash_reports = CrashReports::kNo});
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  EXPECT_EQ(reason, ExitReason::Failed(absl::DataLossError("torn")));
  EXPECT_EQ(reason.crash(), nullptr);
  EXPECT_TRUE(log_.lines().empty());
}

TEST_F(CrashReportTest, TheLogsLineIsOneLine) {
  ActorSystem& system = System(0);
  system.Spawn<Clerk>(SpawnOptions{.label = "two\nlines"})[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  EXPECT_THAT(log_.lines().back(), AllOf(HasSubstr("(two\\nlines) ended in"), Not(HasSubstr("\n"))));
}

// A sink that wants no errors, and would write them.
class Unwilling final : public LogSink {
 public:
  void Put(const LogLine&) override { ++lines; }
  bool Wants(LogSeverity severity) const override { return severity != LogSeverity::kError; }
  int lines = 0;
};

TEST_F(CrashReportTest, ALineThatTheLogDoesNotWantIsNotMade) {
  Unwilling log;
  ActorSystem system({.executor = &executor_, .seed = 1, .log = &log, .closed_mail_limit = absl::InfiniteDuration()});
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  ExitReason reason;
  system.Spawn<Watcher>(clerk.pid(), &reason);
  clerk[&Clerk::fail].Tell({});
  executor_.RunUntilIdle();
  EXPECT_NE(reason.crash(), nullptr) << "the report is there for all that";
  EXPECT_EQ(log.lines, 0);
  EXPECT_FALSE(LogSink::Null().Wants(LogSeverity::kError));
}

TEST_F(CrashReportTest, AReasonKeepsItsReportBehindOtherReasons) {
  auto report = std::make_shared<CrashReport>(CrashReport{.label = "first"});
  const ExitReason first = ExitReason::Killed().WithCrash(report);
  EXPECT_EQ(first, ExitReason::Killed());
  EXPECT_EQ(first.bytes(), ExitReason::Killed().bytes());
  const ExitReason second = ExitReason::RestartsExhausted("x").CausedBy(first);
  const ExitReason third = ExitReason::Failed(absl::AbortedError("y")).CausedBy(second);
  EXPECT_EQ(third.crash(), nullptr);
  ASSERT_EQ(third.depth(), 3);
  EXPECT_EQ(third.cause()->crash(), nullptr);
  EXPECT_EQ(third.cause()->cause()->crash(), report.get());
  EXPECT_EQ(ExitReason::Killed().WithCrash(nullptr).crash(), nullptr);
}

}  // namespace
}  // namespace understudy
