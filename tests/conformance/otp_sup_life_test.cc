// Static supervisors: the rows of OTP's supervisor_SUITE about counts, specs, restarts that take long, significant
// children and log lines.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/tests/conformance/sup_scene.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr absl::Duration kPeriod = absl::Hours(1);
// The first backoff does not end during a test; the second ends soon.
constexpr RestartBackoff kLongBackoff = {.min = absl::Hours(2), .max = absl::Hours(2)};
constexpr RestartBackoff kShortBackoff = {.min = absl::Milliseconds(1), .max = absl::Milliseconds(2)};
constexpr RestartStrategy kStrategies[] = {RestartStrategy::kOneForOne, RestartStrategy::kOneForAll,
                                           RestartStrategy::kRestForOne};

ExitReason Failure() { return ExitReason::Failed(absl::DataLossError("disk")); }

INSTANTIATE_TEST_SUITE_P(On, SupTest, testing::Values(Stage::kSeeds, Stage::kThreads),
                         [](const auto& stage) { return stage.param == Stage::kSeeds ? "Seeds" : "Threads"; });

// OTP SUP-52
TEST_P(SupTest, CountsOfThousandsOfChildrenAreExactAndBackToZero) {
  Play(
      [](SupScene& s) {
        const SupervisorRef root = s.Launch(OneForOne());
        for (int i = 0; i < 2000; ++i) {
          if (i == 1000) {
            EXPECT_EQ(s.Counts(root).active, 1000);
            EXPECT_EQ(s.Counts(root).specs, 1000);
          }
          ASSERT_EQ(s.Add(root, s.Temp("t").Spec(absl::StrCat("t", i))), "OK");
        }
        for (int twice = 0; twice < 2; ++twice) {
          EXPECT_EQ(s.Counts(root).specs, 2000);
          EXPECT_EQ(s.Counts(root).active, 2000);
          EXPECT_EQ(s.Counts(root).workers, 2000);
        }
        for (int i = 0; i < 2000; ++i) s.End(absl::StrCat("t", i), ExitReason::Normal());
        for (int i = 0; i < 2000; ++i) s.Await(absl::StrCat("exit t", i, " Normal"));
        EXPECT_EQ(s.Counts(root).specs, 0);
        EXPECT_EQ(s.Counts(root).active, 0);
      },
      2, 1);
}

// OTP SUP-53
TEST_P(SupTest, CountsOfSupervisorsAreExact) {
  Play(
      [](SupScene& s) {
        const SupervisorRef root = s.Launch(OneForOne());
        for (int i = 0; i < 100; ++i) {
          ASSERT_EQ(s.Add(root, Of(OneForOne()).Temporary().Spec(absl::StrCat("s", i))), "OK");
        }
        ASSERT_EQ(s.Add(root, s.Perm("w").Spec("w")), "OK");
        const ChildCounts counts = s.Counts(root);
        EXPECT_EQ(counts.specs, 101);
        EXPECT_EQ(counts.active, 101);
        EXPECT_EQ(counts.supervisors, 100);
        EXPECT_EQ(counts.workers, 1);
        for (int i = 0; i < 100; ++i) s.Kill(absl::StrCat("s", i));
        for (int i = 0; i < 100; ++i) s.Await(absl::StrCat("exit s", i, " Killed"));
        EXPECT_EQ(s.Counts(root).supervisors, 0);
        EXPECT_EQ(s.Counts(root).specs, 1);
      },
      10, 3);
}

// OTP SUP-54
TEST_P(SupTest, AChildThatIsBeingRestartedCountsButIsNotActiveUntilATrySucceeds) {
  Play([](SupScene& s) {
    s.PartOf("waits")->start = FailsFromTheSecondOn;
    s.PartOf("comes")->start = [](int n) { return n > 1 && n < 5 ? Part::Start::kFails : Part::Start::kRuns; };
    const SupervisorRef root = s.Launch(OneForOne()
                                            .Intensity(10, kPeriod)
                                            .Child("waits", s.Perm("waits").Backoff(kLongBackoff))
                                            .Child("comes", s.Perm("comes").Backoff(kShortBackoff))
                                            .Child("other", s.Perm("other")));
    s.Crash("waits");
    s.Await("later waits");
    EXPECT_EQ(s.States(root), "waits restarting, comes running, other running");
    EXPECT_EQ(s.Counts(root).specs, 3);
    EXPECT_EQ(s.Counts(root).active, 2);
    s.Crash("comes");
    s.Await("start comes", 2);
    EXPECT_EQ(s.Count("fail comes"), 3);
    EXPECT_EQ(s.Counts(root).active, 2);
    EXPECT_EQ(s.Terminate(root, "waits"), "OK");
    EXPECT_EQ(s.States(root), "waits stopped, comes running, other running");
    EXPECT_EQ(s.Delete(root, "waits"), "OK");
    EXPECT_EQ(s.Counts(root).specs, 2);
  });
}

// OTP SUP-57
TEST_P(SupTest, NoSpecOfATemporaryChildIsKept) {
  for (const RestartStrategy strategy : kStrategies) {
    Play([&](SupScene& s) {
      const SupervisorRef root = s.Launch(SupervisorBuilder(strategy).Intensity(10, kPeriod).Child("a", s.Perm("a")));
      const std::string alone = "a running";
      ASSERT_EQ(s.Add(root, s.Temp("t").Spec("killed")), "OK");
      s.Kill("killed");
      s.Await("exit killed Killed");
      EXPECT_EQ(s.States(root), alone);
      ASSERT_EQ(s.Add(root, s.Temp("t").Spec("normal")), "OK");
      s.End("normal", ExitReason::Normal());
      s.Await("exit normal Normal");
      EXPECT_EQ(s.States(root), alone);
      ASSERT_EQ(s.Add(root, s.Temp("t").Spec("failed")), "OK");
      s.End("failed", Failure());
      s.Await("exit failed Failed");
      EXPECT_EQ(s.States(root), alone);
      ASSERT_EQ(s.Add(root, s.Temp("t").Spec("terminated")), "OK");
      EXPECT_EQ(s.Terminate(root, "terminated"), "OK");
      EXPECT_EQ(s.States(root), alone);
      EXPECT_THAT(s.Restart(root, "terminated"), StartsWith("NOT_FOUND"));
    });
  }
}

// OTP SUP-61
TEST_P(SupTest, WhileARestartHangsThoseBeforeRunOnAndThoseAfterAreDown) {
  Play([](SupScene& s) {
    s.PartOf("b")->start = FailsFromTheSecondOn;
    const SupervisorRef root = s.Launch(RestForOne()
                                            .Intensity(10, kPeriod)
                                            .Child("a", s.Perm("a"))
                                            .Child("b", s.Perm("b").Backoff(kLongBackoff))
                                            .Child("c", s.Perm("c"))
                                            .Child("d", s.Temp("d")));
    s.Crash("b");
    s.Await("later b");
    EXPECT_EQ(s.States(root), "a running, b restarting, c stopped");
    EXPECT_EQ(s.Counts(root).specs, 3);
    EXPECT_EQ(s.Counts(root).active, 1);
    EXPECT_EQ(s.Starts("a"), 1);
    EXPECT_THAT(s.Delete(root, "b"), HasSubstr("waits to be restarted"));
    EXPECT_THAT(s.Restart(root, "b"), HasSubstr("waits to be restarted already"));
    EXPECT_EQ(s.Restart(root, "c"), "OK");
    EXPECT_EQ(s.States(root), "a running, b restarting, c running");
    EXPECT_EQ(s.Terminate(root, "b"), "OK");
    EXPECT_EQ(s.Delete(root, "b"), "OK");
    EXPECT_EQ(s.States(root), "a running, c running");
  });
}

// OTP SUP-61
TEST_P(SupTest, AStartThatDoesNotEndHoldsUpNoQuery) {
  for (const RestartStrategy strategy : kStrategies) {
    Play([&](SupScene& s) {
      s.PartOf("b")->start = [&s](int n) {
        s.Note(absl::StrCat("attempt ", n));
        return n == 1 ? Part::Start::kRuns : Part::Start::kNeverEnds;
      };
      const SupervisorRef root = s.Launch(SupervisorBuilder(strategy)
                                              .Intensity(10, kPeriod)
                                              .Child("a", s.Perm("a"))
                                              .Child("b", s.Perm("b"))
                                              .Child("c", s.Perm("c")));
      s.Crash("b");
      s.Await("attempt 2");
      const std::string c = strategy == RestartStrategy::kOneForOne ? "c running" : "c stopped";
      EXPECT_EQ(s.States(root), "a running, b starting, " + c);
      EXPECT_EQ(s.Terminate(root, "b"), "OK");
      EXPECT_EQ(s.States(root), "a running, b stopped, " + c);
    });
  }
}

// Runs a tree with one child that fails to start the second time. Returns the log lines of the supervisor.
std::vector<std::string> LinesOfARun(KeptLog& log, ActorSystem& system, const absl::Status& failure) {
  auto part = std::make_shared<Part>();
  {
    SupScene s(system);
    s.Launch(OneForOne().Intensity(0, kPeriod).Child("a", Of<Player>(part)));
    s.End("a", ExitReason::Failed(failure));
    s.AwaitEnd();
  }
  std::vector<std::string> lines;
  for (const std::string& line : log.lines()) {
    if (absl::StartsWith(line, "supervisor ")) lines.push_back(line);
  }
  return lines;
}

void ExpectReports(KeptLog& log, ActorSystem& system) {
  const std::vector<std::string> lines = LinesOfARun(log, system, absl::DataLossError(std::string(100000, 'x')));
  ASSERT_EQ(lines.size(), 4u);
  // Each line names the child, the event and the reason, and is of bounded size.
  EXPECT_THAT(lines[0], AllOf(HasSubstr("child 'a' "), HasSubstr(" started")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("child 'a' "), HasSubstr(" exited: Failed(DATA_LOSS: xxx")));
  EXPECT_THAT(lines[2], AllOf(HasSubstr("child 'a' is given up: RestartsExhausted("), HasSubstr("DATA_LOSS: xxx")));
  EXPECT_THAT(lines[3], AllOf(HasSubstr("stops its children: RestartsExhausted("), HasSubstr("DATA_LOSS: xxx")));
  for (const std::string& line : lines) {
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_LE(line.size(), limits::kExitReasonBytesMax + 1000);
  }
}

// OTP SUP-69, SUP-70
TEST(SupLogTest, EveryReportNamesSupervisorContextChildAndReasonWithinBoundsUnderASeed) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.name = "house", .executor = &executor, .seed = 1, .log = &log});
  ExpectReports(log, system);
}

// OTP SUP-69, SUP-70
TEST(SupLogTest, EveryReportNamesSupervisorContextChildAndReasonWithinBoundsOnThreads) {
  KeptLog log;
  ActorSystem system({.name = "house", .log = &log});
  ExpectReports(log, system);
}

// OTP SUP-72, SUP-74: The end of a child that is not significant ends no other actor, whatever its reason.
TEST_P(SupTest, TheEndOfAChildThatIsNotSignificantEndsNobody) {
  for (const AutoShutdown when : {AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
    Play([&](SupScene& s) {
      const SupervisorRef root = s.Launch(OneForOne()
                                              .AutoShutdown(when)
                                              .Intensity(10, kPeriod)
                                              .Child("a", s.Trans("a"))
                                              .Child("b", s.Trans("b").Significant()));
      s.End("a", ExitReason::Normal());
      s.Await("exit a Normal");
      EXPECT_EQ(s.States(root), "a stopped, b running");
      EXPECT_EQ(s.Restart(root, "a"), "OK");
      s.CrashAndAwait("a");
      s.End("a", ExitReason::Shutdown());
      s.Await("exit a Shutdown");
      EXPECT_EQ(s.States(root), "a stopped, b running");
    });
  }
}

// OTP SUP-73, SUP-74
TEST_P(SupTest, TheEndOfAnySignificantChildEndsItWithShutdown) {
  for (const RestartType type : {RestartType::kTransient, RestartType::kTemporary}) {
    Play([&](SupScene& s) {
      s.Launch(OneForOne()
                   .AutoShutdown(AutoShutdown::kAnySignificant)
                   .Child("a", s.Of(type, "a").Significant())
                   .Child("b", s.Of(type, "b").Significant())
                   .Child("c", s.Perm("c")));
      s.Lines();
      s.End("a", ExitReason::Normal());
      EXPECT_EQ(s.AwaitEnd(), ExitReason::Shutdown());
      EXPECT_EQ(s.Lines(), "exit a Normal, shutdown Shutdown, stop c Shutdown, stop b Shutdown, over");
    });
  }
}

// OTP SUP-73, SUP-74
TEST_P(SupTest, TheEndOfAllSignificantChildrenEndsItWithShutdown) {
  for (const RestartType type : {RestartType::kTransient, RestartType::kTemporary}) {
    Play([&](SupScene& s) {
      s.Launch(OneForOne()
                   .AutoShutdown(AutoShutdown::kAllSignificant)
                   .Child("a", s.Of(type, "a").Significant())
                   .Child("b", s.Of(type, "b").Significant())
                   .Child("c", s.Perm("c")));
      s.End("a", ExitReason::Shutdown());
      s.Await("exit a Shutdown");
      EXPECT_EQ(s.Count("shutdown Shutdown"), 0);
      s.End("b", ExitReason::Normal());
      EXPECT_EQ(s.AwaitEnd(), ExitReason::Shutdown());
      EXPECT_EQ(s.Count("stop c Shutdown"), 1);
    });
  }
}

// OTP SUP-73, SUP-74: A crash restarts a transient child, and ends a temporary one.
TEST_P(SupTest, ACrashIsAnEndOfATemporarySignificantChildOnly) {
  Play([](SupScene& s) {
    s.Launch(OneForOne()
                 .AutoShutdown(AutoShutdown::kAnySignificant)
                 .Child("a", s.Trans("a").Significant())
                 .Child("b", s.Temp("b").Significant()));
    s.CrashAndAwait("a");
    EXPECT_EQ(s.Count("shutdown Shutdown"), 0);
    s.Crash("b");
    EXPECT_EQ(s.AwaitEnd(), ExitReason::Shutdown());
  });
}

// OTP SUP-76
TEST_P(SupTest, ASignificantBystanderDoesNotEndItsSupervisor) {
  for (const RestartStrategy strategy : kStrategies) {
    for (const AutoShutdown when : {AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
      Play(
          [&](SupScene& s) {
            const SupervisorRef root = s.Launch(SupervisorBuilder(strategy)
                                                    .AutoShutdown(when)
                                                    .Intensity(10, kPeriod)
                                                    .Child("a", s.Perm("a"))
                                                    .Child("b", s.Trans("b").Significant())
                                                    .Child("c", s.Temp("c").Significant()));
            s.CrashAndAwait("a");
            const bool is_alone = strategy == RestartStrategy::kOneForOne;
            if (!is_alone) s.Await("start b", 2);
            EXPECT_EQ(s.States(root), is_alone ? "a running, b running, c running" : "a running, b running");
            EXPECT_EQ(s.Terminate(root, "b"), "OK");
            EXPECT_EQ(s.Count("shutdown Shutdown"), 0) << "a child that is terminated has not ended by itself";
          },
          50, 10);
    }
  }
}

// OTP SUP-77
TEST_P(SupTest, TheEndOfASignificantInnerSupervisorEndsTheOuterOne) {
  Play([](SupScene& s) {
    const auto inner = OneForOne()
                           .AutoShutdown(AutoShutdown::kAnySignificant)
                           .Child("a", s.Temp("a").Significant())
                           .Child("b", s.Perm("b"));
    s.Launch(OneForOne()
                 .AutoShutdown(AutoShutdown::kAllSignificant)
                 .Child("inner", Of(inner).Transient().Significant())
                 .Child("c", s.Perm("c")));
    s.Lines();
    s.End("a", ExitReason::Normal());
    EXPECT_EQ(s.AwaitEnd(), ExitReason::Shutdown());
    EXPECT_EQ(s.Lines(),
              "exit a Normal, shutdown Shutdown, stop b Shutdown, exit inner Shutdown, shutdown Shutdown, "
              "stop c Shutdown, over");
  });
}

}  // namespace
}  // namespace understudy
