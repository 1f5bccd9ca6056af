// Tests of what a line of the default log has besides its text: severity, time, process, thread, system and actor.
#include "understudy/actors/log_sink.h"

#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/seeded_executor.h"

namespace understudy {
namespace {

using testing::MatchesRegex;

constexpr char kHead[] = " [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z [0-9]+/[0-9]+";

std::string Written(LogSink& log, LogSeverity severity, absl::string_view line) {
  testing::internal::CaptureStderr();
  log.Write(severity, line);
  return testing::internal::GetCapturedStderr();
}

TEST(LogSinkTest, ALineHasSeverityTimeProcessAndThread) {
  EXPECT_THAT(Written(LogSink::Stderr(), LogSeverity::kWarning, "it is late"),
              MatchesRegex(absl::StrCat("W", kHead, "] it is late\n")));
  EXPECT_THAT(Written(LogSink::Stderr(), LogSeverity::kError, ""), MatchesRegex(absl::StrCat("E", kHead, "] \n")));
}

TEST(LogSinkTest, ALineNamesTheSystemOfItsProcess) {
  SeededExecutor executor(1);
  const ActorSystem house({.name = "house-2", .executor = &executor, .seed = 1});
  EXPECT_THAT(Written(LogSink::Stderr(), LogSeverity::kInfo, "up"),
              MatchesRegex(absl::StrCat("I", kHead, " house-2] up\n")));
  const ActorSystem other({.name = "house-3", .executor = &executor, .seed = 1});
  EXPECT_THAT(Written(LogSink::Stderr(), LogSeverity::kInfo, "of several none is named"),
              MatchesRegex(absl::StrCat("I", kHead, "] of several none is named\n")));
}

TEST(LogSinkTest, ALineToAPipeWithoutAReaderIsLostAndEndsNobody) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
        close(ends[0]);
        LogSink::Stderr().Write(LogSeverity::kError, "nobody reads it");
        sigset_t pending;
        sigset_t blocked;
        sigpending(&pending);
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        _exit(sigismember(&pending, SIGPIPE) == 0 && sigismember(&blocked, SIGPIPE) == 0 ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

class Clerk final : public Actor {
 public:
  Mailbox<"count", int> count{this};
  StartResult Start() override {
    context().Log().Write(LogSeverity::kInfo, "I begin");
    return working_;
  }

 private:
  Behavior working_{"working", On(count, [](int) {})};
};

TEST(LogSinkTest, ALineOfATurnNamesItsActor) {
  SeededExecutor executor(1);
  ActorSystem house({.name = "house-2", .executor = &executor, .seed = 1});
  testing::internal::CaptureStderr();
  const Pid clerk = house.Spawn<Clerk>().pid();
  executor.RunUntilIdle();
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, MatchesRegex(absl::StrCat("I", kHead, " <house-2[.][^>]*>] I begin\n")));
  EXPECT_TRUE(absl::StrContains(written, absl::StrCat(" ", clerk.ToString(), "] "))) << written;
}

TEST(LogSinkTest, WritesWhatIsAsSevereAsAskedFor) {
  EXPECT_EQ(Written(LogSink::Stderr(), LogSeverity::kDebug, "too little"), "");
  EXPECT_FALSE(LogSink::Stderr().Wants(LogSeverity::kDebug));
  EXPECT_TRUE(LogSink::Stderr().Wants(LogSeverity::kInfo));
  EXPECT_THAT(Written(LogSink::Stderr(LogSeverity::kDebug), LogSeverity::kDebug, "x"),
              MatchesRegex(absl::StrCat("D", kHead, "] x\n")));
  EXPECT_FALSE(LogSink::Stderr(LogSeverity::kError).Wants(LogSeverity::kWarning));
  EXPECT_FALSE(LogSink::Null().Wants(LogSeverity::kError));
}

TEST(LogSinkTest, ALineWithoutALimitIsWrittenWhateverItsSeverity) {
  testing::internal::CaptureStderr();
  LogSink::Stderr(LogSeverity::kError)
      .Put({.severity = LogSeverity::kWarning, .text = "asked to kill", .node = {}, .limit = LogLimit::kNone});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), MatchesRegex(absl::StrCat("W", kHead, "] asked to kill\n")));
}

}  // namespace
}  // namespace understudy
