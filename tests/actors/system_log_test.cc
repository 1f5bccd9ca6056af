// Tests of the lines that a system's log leaves out: lines below its level, and lines of a place in the source that
// writes too many.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/testing/kept_log.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class SystemLogTest : public ::testing::Test {
 protected:
  ActorSystemOptions WithLog(LogSink& log) {
    return {
        .name = "house", .executor = &executor_, .seed = 1, .log = &log, .closed_mail_limit = absl::InfiniteDuration()};
  }
  void Pass(absl::Duration time) { executor_.Advance(time); }
  static void WriteMany(ActorSystem& system, int lines) {
    for (int i = 0; i < lines; ++i) system.log().Write(LogSeverity::kInfo, "again");
  }

  SeededExecutor executor_{1};
  KeptLog kept_;
};

TEST_F(SystemLogTest, APlaceThatWritesTooManyLinesIsCutOffAndTheNextLineSaysHowManyAreMissing) {
  ActorSystem system(WithLog(kept_));
  WriteMany(system, limits::kLogLinesPerSiteMax + 7);
  EXPECT_EQ(kept_.lines().size(), limits::kLogLinesPerSiteMax);
  EXPECT_EQ(system.log_counts().left_out, 7);

  system.log().Write(LogSeverity::kInfo, "another place is heard");
  EXPECT_EQ(kept_.lines().back(), "another place is heard");

  Pass(absl::Seconds(1));
  system.log().Write(LogSeverity::kError, "later");
  const std::vector<std::string> lines = kept_.lines();
  ASSERT_EQ(lines.size(), limits::kLogLinesPerSiteMax + 3);
  EXPECT_THAT(
      lines[lines.size() - 2],
      MatchesRegex("7 more log lines of system_log_test.cc:[0-9]+ were left out, because it wrote more than 100 "
                   "within a second"));
  EXPECT_EQ(lines.back(), "later");
  EXPECT_THAT(system.log_counts().written, ElementsAre(0, limits::kLogLinesPerSiteMax + 2, 0, 1));
}

TEST_F(SystemLogTest, TheNumberOfSuppressedLinesIsLoggedAtTheEndOfTheSystem) {
  {
    ActorSystem system(WithLog(kept_));
    WriteMany(system, limits::kLogLinesPerSiteMax + 1);
  }
  EXPECT_THAT(kept_.lines().back(), HasSubstr("1 more log lines of system_log_test.cc:"));
}

TEST_F(SystemLogTest, APlaceIsHeardAgainInTheNextSecond) {
  ActorSystem system(WithLog(kept_));
  WriteMany(system, limits::kLogLinesPerSiteMax + 1);
  Pass(absl::Seconds(1));
  WriteMany(system, limits::kLogLinesPerSiteMax);
  EXPECT_EQ(kept_.lines().size(), 2 * limits::kLogLinesPerSiteMax + 1) << "and the line that tells of the first";
  EXPECT_EQ(system.log_counts().left_out, 1);
}

TEST_F(SystemLogTest, LinesOfWhichEachCountsAreLeftOutNeitherByTheLimitNorByTheLevel) {
  ActorSystem system(WithLog(kept_));
  ASSERT_TRUE(system.SetLogLevel(LogSeverity::kError).ok());
  for (int i = 0; i < 3 * limits::kLogLinesPerSiteMax; ++i) {
    system.log().Put(
        {.severity = LogSeverity::kWarning, .text = "asked to kill", .node = "", .limit = LogLimit::kNone});
  }
  EXPECT_EQ(kept_.lines().size(), 3 * limits::kLogLinesPerSiteMax);
}

TEST_F(SystemLogTest, TheLevelIsChangedWhileTheSystemRuns) {
  ActorSystem system(WithLog(kept_));
  EXPECT_EQ(system.log_level(), LogSeverity::kDebug);
  ASSERT_TRUE(system.SetLogLevel(LogSeverity::kWarning).ok());
  EXPECT_EQ(system.log_level(), LogSeverity::kWarning);
  EXPECT_FALSE(system.log().Wants(LogSeverity::kInfo));
  system.log().Write(LogSeverity::kInfo, "too little");
  EXPECT_THAT(kept_.lines(), IsEmpty());
  ASSERT_TRUE(system.SetLogLevel(LogSeverity::kInfo).ok());
  system.log().Write(LogSeverity::kInfo, "enough");
  EXPECT_THAT(kept_.lines(), ElementsAre("enough"));
}

TEST_F(SystemLogTest, ALevelBelowThatOfTheSinkIsRefused) {
  KeptLog terse(LogSeverity::kWarning);
  ActorSystem system(WithLog(terse));
  const absl::Status refused = system.SetLogLevel(LogSeverity::kDebug);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the log sink of house discards lines of severity debug"));
  EXPECT_EQ(system.log_level(), LogSeverity::kWarning);
  ActorSystem silent(WithLog(LogSink::Null()));
  EXPECT_EQ(silent.log_level(), absl::nullopt);
}

TEST_F(SystemLogTest, StandardErrorTakesAnyLevel) {
  ActorSystem system(WithLog(LogSink::Stderr(LogSeverity::kError)));
  ASSERT_TRUE(system.SetLogLevel(LogSeverity::kDebug).ok());
  testing::internal::CaptureStderr();
  system.log().Write(LogSeverity::kDebug, "a trifle");
  EXPECT_TRUE(absl::StrContains(testing::internal::GetCapturedStderr(), " house] a trifle\n"));
}

}  // namespace
}  // namespace understudy
