// Crash reports of actors that end abnormally: rows of OTP's proc_lib and gen_server suites.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Lines final : public LogSink {
 public:
  void Put(const LogLine& line) override {
    EXPECT_EQ(line.severity, LogSeverity::kError);
    lines.emplace_back(line.text);
  }
  std::vector<std::string> lines;
};

struct End {
  ExitReason reason;
};
struct Throw {};

// Ends in the way that a message says.
class Mortal final : public Actor {
 public:
  Mailbox<"end", End> end{this};
  Mailbox<"fail", Call<Throw, int>> fail{this};
  Mailbox<"throws", Throw> throws{this};
  StartResult Start() override { return living_; }

 private:
  absl::StatusOr<int> DoFail(const Throw& /*now*/) { return Fail(absl::DataLossError("the file is torn")); }

  Behavior living_{"living", On(end, [this](const End& e) { context().Stop(e.reason); }), On(fail, &Mortal::DoFail),
                   On(throws, [] {
#if defined(__cpp_exceptions)
                     throw std::runtime_error("burnt");
#endif
                   })};
};

class Parent final : public Actor {
 public:
  Mailbox<"work", Throw> work{this};
  StartResult Start() override {
    context().TrapExits([] {});
    child_ = context().Spawn<Mortal>();
    return asking_;
  }

 private:
  Task<> Ask() {
    auto asked = child_[&Mortal::fail].Ask({}, absl::Seconds(1));
    (void)co_await asked;
  }
  Ref<Mortal> child_;
  Behavior asking_{"asking", On(work, &Parent::Ask)};
};

class NeverStarts final : public Actor {
 public:
  StartResult Start() override { return absl::NotFoundError("no such book"); }
};

class ReportsTest : public testing::Test {
 protected:
  ReportsTest()
      : system_({.executor = &executor_, .seed = 2, .log = &lines_, .closed_mail_limit = absl::InfiniteDuration()}) {}
  const std::vector<std::string>& lines() {
    executor_.RunUntilIdle();
    return lines_.lines;
  }

  Lines lines_;
  SeededExecutor executor_{1};
  ActorSystem system_;
};

// OTP GS-02: The report names the client whose call was being handled. It does not show the actor's state, which is
// private.
TEST_F(ReportsTest, OrderlyEndsWriteNothingAndOthersOneReportWithItsClient) {
  system_.Spawn<Mortal>()[&Mortal::end].Tell({ExitReason::Normal()});
  system_.Spawn<Mortal>()[&Mortal::end].Tell({ExitReason::Shutdown()});
  system_.Spawn<Mortal>()[&Mortal::end].Tell(
      {ExitReason::Shutdown().CausedBy(ExitReason::Failed(absl::DataLossError("torn")))});
  const Ref<Mortal> killed = system_.Spawn<Mortal>();
  system_.Kill(killed.pid());
  const Ref<Mortal> told = system_.Spawn<Mortal>();
  executor_.RunUntilIdle();
  system_.Exit(told.pid(), ExitReason::Failed(absl::AbortedError("by another")));
  EXPECT_THAT(lines(), IsEmpty());

  const Ref<Parent> parent = system_.Spawn<Parent>();
  parent[&Parent::work].Tell({});
  EXPECT_THAT(lines(), ElementsAre(AllOf(HasSubstr("Mortal"), HasSubstr("ended in mailbox fail handling a"),
                                         HasSubstr("from " + parent.pid().ToString()), HasSubstr("the file is torn"))));
  system_.Spawn<Mortal>()[&Mortal::end].Tell({ExitReason::Failed(absl::DataLossError("torn"))});
  EXPECT_EQ(lines().size(), 2U);
}

// OTP PRO-01
TEST_F(ReportsTest, AReportNamesTheActorWhatItDidItsParentAndItsLinks) {
  const Ref<Parent> parent = system_.Spawn<Parent>();
  parent[&Parent::work].Tell({});
  EXPECT_THAT(lines(), ElementsAre(AllOf(HasSubstr("(understudy::(anonymous namespace)::Mortal)"),
                                         HasSubstr("; a child of " + parent.pid().ToString()),
                                         HasSubstr("; linked to " + parent.pid().ToString()))));
  system_.Spawn<NeverStarts>(SpawnOptions{.label = "reader"});
  EXPECT_THAT(lines().back(), AllOf(HasSubstr("(reader) ended in Start"), HasSubstr("no such book")));
#if defined(__cpp_exceptions)
  system_.Spawn<Mortal>()[&Mortal::throws].Tell({});
  EXPECT_THAT(lines().back(),
              AllOf(HasSubstr("ended in mailbox throws"), HasSubstr("runtime_error"), HasSubstr("burnt")));
#endif
}

}  // namespace
}  // namespace understudy
