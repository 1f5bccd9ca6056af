// Static supervisors: the rows of OTP's supervisor_SUITE about starts, stops, strategies and restart types.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/conformance/sup_scene.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPeriod = absl::Hours(1);
constexpr RestartStrategy kStrategies[] = {RestartStrategy::kOneForOne, RestartStrategy::kOneForAll,
                                           RestartStrategy::kRestForOne};

ExitReason Failure() { return ExitReason::Failed(absl::DataLossError("disk")); }

INSTANTIATE_TEST_SUITE_P(On, SupTest, testing::Values(Stage::kSeeds, Stage::kThreads),
                         [](const auto& stage) { return stage.param == Stage::kSeeds ? "Seeds" : "Threads"; });

// OTP SUP-01
TEST_P(SupTest, WithoutChildrenItStartsAndEndsWithShutdown) {
  Play([](SupScene& s) {
    const SupervisorRef root = s.Launch(OneForOne());
    EXPECT_EQ(s.States(root), "");
    EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
  });
}

// OTP SUP-02
TEST_P(SupTest, AnActorThatDeclinesToStartIsReportedAsThatAndEndsNormally) {
  Play([](SupScene& s) {
    s.PartOf("a")->start = Declines;
    s.LaunchMade([part = s.PartOf("a")]() -> std::unique_ptr<Actor> { return std::make_unique<Player>(part); });
    EXPECT_EQ(s.AwaitEnd(), ExitReason::Normal());
    EXPECT_EQ(s.Lines(), "declined, over");
  });
}

// OTP SUP-03, SUP-04
TEST_P(SupTest, AChildThatDeclinesKeepsItsSpecUnlessTemporary) {
  Play([](SupScene& s) {
    s.PartOf("b")->start = Declines;
    s.PartOf("c")->start = Declines;
    const SupervisorRef root =
        s.Launch(OneForOne().Child("a", s.Perm("a")).Child("b", s.Perm("b")).Child("c", s.Temp("c")));
    EXPECT_EQ(s.States(root), "a running, b stopped");
    EXPECT_EQ(s.Counts(root).specs, 2);
    EXPECT_EQ(s.Counts(root).active, 1);
    EXPECT_EQ(s.Add(root, s.Temp("c").Spec("d")), "OK");
    EXPECT_EQ(s.Add(root, s.Trans("b").Spec("e")), "OK");
    EXPECT_EQ(s.States(root), "a running, b stopped, e stopped");
  });
}

// OTP SUP-09
TEST_P(SupTest, AStartThatThrowsFailsTheSupervisorWhichIsGone) {
  Play([](SupScene& s) {
    s.PartOf("b")->start = [](int) { return Part::Start::kThrows; };
    s.Launch(OneForOne().Child("a", s.Perm("a")).Child("b", s.Perm("b")));
    EXPECT_THAT(s.AwaitEnd().ToString(),
                HasSubstr("child 'b' could not start); because of Exception(std::runtime_error: no file)"));
    EXPECT_EQ(s.Lines(), "start a, fail b, shutdown Failed, stop a Shutdown, failed, over");
  });
}

// OTP SUP-11
TEST_P(SupTest, ARestartByHandThatFailsSaysSoAndTheSpecStays) {
  Play([](SupScene& s) {
    s.PartOf("a")->start = FailsFromTheSecondOn;
    const SupervisorRef root = s.Launch(OneForOne().Child("a", s.Perm("a")));
    EXPECT_EQ(s.Terminate(root, "a"), "OK");
    EXPECT_EQ(s.Restart(root, "a"), "UNAVAILABLE: child 'a' could not start: Failed(UNAVAILABLE: the file is locked)");
    EXPECT_EQ(s.States(root), "a stopped");
  });
}

// OTP SUP-13
TEST_P(SupTest, DefaultsAreExactAndAChildsSpecCanBeRead) {
  Play([](SupScene& s) {
    const SupervisorRef root = s.Launch(
        OneForOne().Child("a", s.Perm("a")).Child("b", s.Trans("b").BrutalKill()).Child("tree", Of(OneForOne())));
    const ChildSpec a = *s.SpecOf(root, "a");
    EXPECT_EQ(a.restart, RestartType::kPermanent);
    EXPECT_EQ(a.kind, ChildKind::kWorker);
    EXPECT_EQ(ShutdownOf(a), ChildShutdown::Within(absl::Milliseconds(5000)));
    EXPECT_FALSE(a.significant);
    EXPECT_NE(a.start, nullptr);
    EXPECT_EQ(s.SpecOf(root, "b")->restart, RestartType::kTransient);
    EXPECT_EQ(ShutdownOf(*s.SpecOf(root, "b")), ChildShutdown::BrutalKill());
    EXPECT_EQ(s.SpecOf(root, "tree")->kind, ChildKind::kSupervisor);
    EXPECT_EQ(ShutdownOf(*s.SpecOf(root, "tree")), ChildShutdown::Infinity());
    EXPECT_EQ(s.SpecOf(root, "none").status().ToString(), "NOT_FOUND: there is no child 'none'");
  });
}

// OTP SUP-15
TEST_P(SupTest, AMissingIdAndAMissingStartAreDifferentErrors) {
  Play([](SupScene& s) {
    const SupervisorRef root = s.Launch(OneForOne());
    EXPECT_THAT(s.Add(root, s.Perm("a").Spec("")), HasSubstr("id: is empty"));
    EXPECT_THAT(s.Add(root, ChildSpec{.id = "a"}), HasSubstr("start: is missing"));
    EXPECT_EQ(s.States(root), "");
  });
}

// OTP SUP-16
TEST_P(SupTest, WithoutLimitWorkersAndSupervisorsTakeTheirTime) {
  Play([](SupScene& s) {
    s.PartOf("a")->stop_takes = absl::Milliseconds(1);
    s.PartOf("b")->stop_takes = absl::Milliseconds(2);
    s.Launch(OneForOne()
                 .Child("a", s.Perm("a").ShutdownWithoutLimit())
                 .Child("tree", Of(OneForOne().Child("b", s.Perm("b"))).ShutdownWithoutLimit()));
    s.Lines();
    EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
    EXPECT_EQ(s.Lines(),
              "shutdown Shutdown, shutdown Shutdown, stop b Shutdown, stop tree Shutdown, stop a Shutdown, over");
  });
}

// OTP SUP-17
TEST_P(SupTest, AChildThatIgnoresShutdownIsKilledAfterItsTimeAndItsSiblingIsNot) {
  Play([](SupScene& s) {
    s.PartOf("b")->ignores_shutdown = true;
    s.Launch(OneForOne().Child("a", s.Perm("a")).Child("b", s.Perm("b").ShutdownWithin(absl::Milliseconds(1))));
    s.Lines();
    EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
    EXPECT_EQ(s.Lines(), "shutdown Shutdown, stop b Killed, stop a Shutdown, over");
  });
}

// OTP SUP-18
TEST_P(SupTest, BrutalKillAsksNobodyAndTheSiblingEndsInOrder) {
  Play([](SupScene& s) {
    s.Launch(OneForOne().Child("a", s.Perm("a")).Child("b", s.Perm("b").BrutalKill()));
    s.Lines();
    EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
    EXPECT_EQ(s.Lines(), "shutdown Shutdown, stop b Killed, stop a Shutdown, over");
  });
}

// OTP SUP-23
TEST_P(SupTest, EachBadFieldOfAChildIsRefusedWithAnErrorOfItsOwn) {
  Play([](SupScene& s) {
    const SupervisorRef root = s.Launch(OneForOne().Child("a", s.Perm("a")));
    EXPECT_THAT(
        s.Add(root, s.Perm("a").Spec("a")),
        HasSubstr("ALREADY_EXISTS: there is a child 'a' already, which is running as " + s.PidOf("a").ToString()));
    EXPECT_THAT(s.Add(root, s.Perm("a").Significant().Spec("b")), HasSubstr("significant: a permanent child"));
    EXPECT_THAT(s.Add(root, s.Trans("a").Significant().Spec("b")), HasSubstr("significant: has no effect"));
    EXPECT_THAT(s.Add(root, s.Perm("a").ShutdownWithin(absl::ZeroDuration()).Spec("b")), HasSubstr("shutdown: "));
    EXPECT_THAT(s.Add(root, s.Perm("a").StartWithin(absl::ZeroDuration()).Spec("b")), HasSubstr("start_within: "));
    EXPECT_THAT(s.Add(root, s.Temp("a").Backoff({}).Spec("b")), HasSubstr("backoff: a temporary child"));
    EXPECT_THAT(s.Add(root, s.Perm("a").Backoff({.factor = 0.5}).Spec("b")), HasSubstr("backoff.factor: "));
    EXPECT_THAT(s.Add(root, ChildSpec{.id = "b", .kind = ChildKind::kProcess}), HasSubstr("process: is missing"));
    EXPECT_EQ(s.States(root), "a running");
  });
}

// OTP SUP-24
TEST_P(SupTest, BadFlagsAreRefusedBeforeAnyChildStarts) {
  for (const bool is_intensity : {true, false}) {
    for (const absl::Duration period : {absl::ZeroDuration(), -absl::Seconds(1), absl::InfiniteDuration()}) {
      Play(
          [&](SupScene& s) {
            s.Launch(
                OneForOne().Intensity(is_intensity ? -1 : 1, is_intensity ? kPeriod : period).Child("a", s.Perm("a")));
            EXPECT_THAT(s.AwaitEnd().ToString(), HasSubstr(is_intensity ? "intensity: -1" : "period: "));
            EXPECT_EQ(s.Lines(), "failed, over");
          },
          10, 3);
    }
  }
}

// OTP SUP-26
TEST_P(SupTest, OneForOneReplacesTheDeadChildOnlyUntilTheLimit) {
  Play([](SupScene& s) {
    s.Launch(OneForOne().Intensity(2, kPeriod).Child("a", s.Perm("a")).Child("b", s.Perm("b")));
    const Pid a = s.PidOf("a");
    s.CrashAndAwait("a");
    EXPECT_NE(s.PidOf("a"), a);
    s.CrashAndAwait("a");
    EXPECT_EQ(s.Starts("b"), 1);
    s.Lines();
    s.Crash("a");
    EXPECT_EQ(s.AwaitEnd().kind(), ExitReason::Kind::kRestartsExhausted);
    EXPECT_EQ(s.Lines(), "exit a Exception, give up a, shutdown RestartsExhausted, stop b Shutdown, over");
  });
}

// OTP SUP-27
TEST_P(SupTest, AChildThatCanNoLongerStartSpendsTheWholeIntensity) {
  Play([](SupScene& s) {
    s.PartOf("a")->start = FailsFromTheSecondOn;
    s.Launch(OneForOne().Intensity(4, kPeriod).Child("a", s.Perm("a")).Child("b", s.Perm("b")));
    s.Crash("a");
    EXPECT_EQ(s.AwaitEnd().kind(), ExitReason::Kind::kRestartsExhausted);
    EXPECT_EQ(s.Count("again a"), 4);
    EXPECT_EQ(s.Count("fail a"), 4);
    EXPECT_EQ(s.Count("stop b Shutdown"), 1);
  });
}

// OTP SUP-28
TEST_P(SupTest, OneForAllReplacesAllUntilTheLimit) {
  Play([](SupScene& s) {
    s.Launch(OneForAll().Intensity(1, kPeriod).Child("a", s.Perm("a")).Child("b", s.Perm("b")));
    const std::vector<Pid> before = {s.PidOf("a"), s.PidOf("b")};
    s.Lines();
    s.Crash("a");
    s.Await("start b", 2);
    EXPECT_EQ(s.Lines(), "exit a Exception, again a, stop b Shutdown, start a, start b");
    for (const Pid pid : before) EXPECT_FALSE(s.IsAlive(pid));
    EXPECT_NE(s.PidOf("a"), before[0]);
    EXPECT_NE(s.PidOf("b"), before[1]);
    s.Crash("b");
    EXPECT_EQ(s.AwaitEnd().kind(), ExitReason::Kind::kRestartsExhausted);
  });
}

// OTP SUP-36
TEST_P(SupTest, RestForOneReplacesTheDeadChildAndThoseAfterItUntilTheLimit) {
  Play([](SupScene& s) {
    s.Launch(
        RestForOne().Intensity(1, kPeriod).Child("a", s.Perm("a")).Child("b", s.Perm("b")).Child("c", s.Perm("c")));
    s.Lines();
    s.Crash("b");
    s.Await("start c", 2);
    EXPECT_EQ(s.Lines(), "exit b Exception, again b, stop c Shutdown, start b, start c");
    EXPECT_EQ(s.Starts("a"), 1);
    s.Crash("c");
    EXPECT_EQ(s.AwaitEnd().kind(), ExitReason::Kind::kRestartsExhausted);
  });
}

// OTP SUP-38
TEST_P(SupTest, AnotherChildThatFailsToRestartIsTriedAgainWithThoseAfterIt) {
  Play([](SupScene& s) {
    s.PartOf("c")->start = FailsOnce;
    s.Launch(RestForOne()
                 .Intensity(2, kPeriod)
                 .Child("a", s.Perm("a"))
                 .Child("b", s.Perm("b"))
                 .Child("c", s.Perm("c"))
                 .Child("d", s.Perm("d")));
    s.Lines();
    s.Crash("b");
    s.Await("start d", 2);
    EXPECT_EQ(
        s.Lines(),
        "exit b Exception, again b, stop d Shutdown, stop c Shutdown, start b, fail c, again c, start c, start d");
    EXPECT_EQ(s.Starts("a"), 1);
  });
}

// OTP SUP-40, SUP-41, SUP-42, SUP-44, SUP-46, SUP-47, SUP-48
TEST_P(SupTest, TheRestartTypeDecidesAfterWhichEndsThereIsAnotherStart) {
  Play([](SupScene& s) {
    const SupervisorRef root = s.Launch(OneForOne().Intensity(100, kPeriod).Child("last", s.Perm("last")));
    int number = 0;
    std::string kept = "last running";
    for (const RestartType type : {RestartType::kPermanent, RestartType::kTransient, RestartType::kTemporary}) {
      for (const ExitReason& reason : {ExitReason::Normal(), ExitReason::Shutdown(), Failure()}) {
        const std::string id = absl::StrCat("w", ++number);
        ASSERT_EQ(s.Add(root, s.Of(type, id).Spec(id)), "OK");
        s.End(id, reason);
        s.Await(absl::StrCat("exit ", id, " ", ExitKindName(reason.kind())));
        const bool again = type == RestartType::kPermanent || (type == RestartType::kTransient && reason.is_abnormal());
        if (again) s.Await(absl::StrCat("start ", id), 2);
        if (type != RestartType::kTemporary) absl::StrAppend(&kept, ", ", id, again ? " running" : " stopped");
        EXPECT_EQ(s.States(root), kept);
        EXPECT_EQ(s.Starts(id), again ? 2 : 1);
      }
    }
  });
}

// OTP SUP-49
TEST_P(SupTest, ATemporaryBystanderIsNotRestartedAndNotCounted) {
  for (const RestartStrategy strategy : {RestartStrategy::kOneForAll, RestartStrategy::kRestForOne}) {
    Play([&](SupScene& s) {
      const SupervisorRef root =
          s.Launch(SupervisorBuilder(strategy).Intensity(1, kPeriod).Child("a", s.Perm("a")).Child("t", s.Temp("t")));
      s.CrashAndAwait("a");
      EXPECT_EQ(s.States(root), "a running");
      EXPECT_EQ(s.Starts("t"), 1);
      EXPECT_EQ(s.Count("again a"), 1);
    });
  }
}

// OTP SUP-51
TEST_P(SupTest, InATreeTheDeadChildOnlyIsReplacedUntilItsSupervisorGivesUp) {
  Play([](SupScene& s) {
    const auto inner = [&](const std::string& name) {
      return OneForOne().Intensity(1, kPeriod).Child(name + "1", s.Perm(name)).Child(name + "2", s.Perm(name));
    };
    const SupervisorRef root =
        s.Launch(OneForOne().Child("middle", Of(OneForAll().Child("x", Of(inner("x"))).Child("y", Of(inner("y"))))));
    ASSERT_EQ(s.Add(s.TreeOf("x"), s.Perm("x").Spec("x3")), "OK");
    s.CrashAndAwait("x1");
    EXPECT_EQ(s.Starts("x2"), 1);
    EXPECT_EQ(s.Starts("x3"), 1);
    const Pid middle = s.PidOf("middle");
    s.Crash("x2");  // the second crash within the period
    s.Await("start y", 2);
    EXPECT_EQ(s.States(s.TreeOf("x")), "x1 running, x2 running");
    EXPECT_EQ(s.States(s.TreeOf("y")), "y1 running, y2 running");
    EXPECT_EQ(s.Starts("y1"), 2);
    EXPECT_EQ(s.Starts("x3"), 1) << "a child that was added at run time is not restored";
    EXPECT_EQ(s.PidOf("middle"), middle);
    EXPECT_EQ(s.States(root), "middle running");
  });
}

// OTP SUP-67
TEST_P(SupTest, ChildrenStartInOrderAndStopInReverseAlsoAfterARestart) {
  for (const RestartStrategy strategy : kStrategies) {
    Play([&](SupScene& s) {
      s.Launch(SupervisorBuilder(strategy)
                   .Child("a", s.Perm("a"))
                   .Child("b", s.Perm("b"))
                   .Child("c", s.Perm("c"))
                   .Child("d", s.Perm("d")));
      EXPECT_EQ(s.Lines(), "start a, start b, start c, start d, launched");
      s.Crash("b");
      s.Await(strategy == RestartStrategy::kOneForOne ? "start b" : "start d", 2);
      s.Lines();
      s.Shutdown();
      EXPECT_EQ(s.Lines(),
                "shutdown Shutdown, stop d Shutdown, stop c Shutdown, stop b Shutdown, stop a Shutdown, over");
    });
  }
}

}  // namespace
}  // namespace understudy
