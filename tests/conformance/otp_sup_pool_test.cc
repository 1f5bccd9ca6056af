// Dynamic supervisors: the rows of OTP's supervisor_SUITE about simple_one_for_one.
#include <time.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/supervision/pool.h"
#include "understudy/tests/conformance/sup_scene.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPeriod = absl::Hours(1);
constexpr absl::Duration kLong = absl::Minutes(1);

using Players = Pool<Player(std::shared_ptr<Part>)>;
using PlayersRef = Players::Ref;

INSTANTIATE_TEST_SUITE_P(On, SupTest, testing::Values(Stage::kSeeds, Stage::kThreads),
                         [](const auto& stage) { return stage.param == Stage::kSeeds ? "Seeds" : "Threads"; });

PlayersRef LaunchPool(SupScene& s, const PoolOptions& options) {
  SupervisorSpec tree = PoolTree(options);
  tree.on_event = s.Hearer();
  return PlayersRef(s.LaunchMade([tree]() -> std::unique_ptr<Actor> { return std::make_unique<Players>(tree); }));
}

// Starts a pool member with this id and part. Returns "OK" or the status.
std::string StartAs(SupScene& s, PlayersRef pool, const std::string& id, const std::string& part) {
  const absl::StatusOr<Ref<Player>> started =
      s.system().Ask(pool.start_as(), Keyed<std::shared_ptr<Part>>{id, s.PartOf(part)}, kLong);
  return started.ok() ? "OK" : started.status().ToString();
}
std::string TerminatePid(SupScene& s, PlayersRef pool, Pid pid) {
  TerminateChild request;
  request.pid = pid;
  const absl::Status status = s.system().Ask(pool.terminate_child(), request, kLong).status();
  return status.ok() ? "OK" : status.ToString();
}

// OTP SUP-06, SUP-07
TEST_P(SupTest, APoolForgetsAChildThatDeclines) {
  for (const RestartType type : {RestartType::kTemporary, RestartType::kPermanent}) {
    Play([&](SupScene& s) {
      s.PartOf("a")->start = Declines;
      const PlayersRef pool = LaunchPool(s, {.restart = type});
      const absl::StatusOr<Ref<Player>> started = s.system().Ask(pool.start(), s.PartOf("a"), kLong);
      ASSERT_TRUE(started.ok()) << started.status();
      EXPECT_TRUE(started->pid().is_null());
      EXPECT_EQ(s.Counts(pool).specs, 0);
      EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
    });
  }
}

// OTP SUP-12
TEST_P(SupTest, APoolsChildThatCannotStartSaysWhyAndNothingIsKept) {
  Play([](SupScene& s) {
    s.PartOf("a")->start = FailsAtFirst;
    s.PartOf("b")->start = [](int) { return Part::Start::kThrows; };
    const PlayersRef pool = LaunchPool(s, {.restart = RestartType::kPermanent});
    EXPECT_THAT(StartAs(s, pool, "a", "a"),
                HasSubstr("child 'a' could not start: Failed(UNAVAILABLE: the file is locked"));
    EXPECT_THAT(StartAs(s, pool, "b", "b"), HasSubstr("Exception(std::runtime_error: no file)"));
    EXPECT_EQ(s.Counts(pool).specs, 0);
    EXPECT_EQ(StartAs(s, pool, "a", "c"), "OK");
  });
}

// OTP SUP-20
TEST_P(SupTest, APoolRefusesAdministrationById) {
  Play([](SupScene& s) {
    const PlayersRef pool = LaunchPool(s, {.restart = RestartType::kPermanent});
    ASSERT_EQ(StartAs(s, pool, "a", "a"), "OK");
    EXPECT_NE(s.Add(pool, s.Perm("b").Spec("b")), "OK");
    EXPECT_NE(s.Restart(pool, "a"), "OK");
    EXPECT_NE(s.Delete(pool, "a"), "OK");
    EXPECT_EQ(s.States(pool), "a running");
    const Pid a = s.PidOf("a");
    EXPECT_EQ(TerminatePid(s, pool, a), "OK");
    EXPECT_FALSE(s.IsAlive(a));
    EXPECT_EQ(TerminatePid(s, pool, a), "OK") << "again";
    EXPECT_EQ(s.Counts(pool).specs, 0);
  });
}

// OTP SUP-31
TEST_P(SupTest, APoolRestartsTheDeadChildOnlyUntilTheLimit) {
  Play([](SupScene& s) {
    const PlayersRef pool = LaunchPool(s, {.restart = RestartType::kPermanent, .intensity = 2, .period = kPeriod});
    for (const std::string id : {"a", "b", "c"}) ASSERT_EQ(StartAs(s, pool, id, id), "OK");
    const Pid a = s.PidOf("a");
    s.CrashAndAwait("a");
    EXPECT_NE(s.PidOf("a"), a);
    s.CrashAndAwait("a");
    EXPECT_EQ(s.Starts("b"), 1);
    EXPECT_EQ(s.Counts(pool).active, 3);
    s.Crash("b");
    EXPECT_EQ(s.AwaitEnd().kind(), ExitReason::Kind::kRestartsExhausted);
  });
}

// OTP SUP-32
TEST_P(SupTest, APoolStopsItsChildrenTogetherAndKillsTheStragglers) {
  constexpr int kChildren = 200;
  constexpr absl::Duration kEach = absl::Milliseconds(50);
  Play(
      [&](SupScene& s) {
        s.PartOf("deaf")->ignores_shutdown = true;
        const PlayersRef pool = LaunchPool(s, {.shutdown = ChildShutdown::Within(kEach)});
        for (int i = 0; i < kChildren; ++i) {
          ASSERT_EQ(StartAs(s, pool, absl::StrCat("c", i), i % 2 == 0 ? "deaf" : "good"), "OK");
        }
        const MonotonicTime before = s.system().clock().Now();
        EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
        // If the children were stopped one after another, this would take 100 times as long.
        EXPECT_LT(s.system().clock().Now() - before, kEach * kChildren / 4);
        for (int i = 0; i < kChildren; ++i) {
          EXPECT_EQ(s.Count(absl::StrCat("stop c", i, i % 2 == 0 ? " Killed" : " Shutdown")), 1);
        }
      },
      10, 2);
}

// OTP SUP-34
TEST_P(SupTest, APoolWhoseChildCanNoLongerStartSpendsItsIntensityAndEnds) {
  Play([](SupScene& s) {
    s.PartOf("a")->start = FailsFromTheSecondOn;
    const PlayersRef pool = LaunchPool(s, {.restart = RestartType::kPermanent, .intensity = 4, .period = kPeriod});
    ASSERT_EQ(StartAs(s, pool, "a", "a"), "OK");
    ASSERT_EQ(StartAs(s, pool, "b", "b"), "OK");
    s.Crash("a");
    EXPECT_EQ(s.AwaitEnd().kind(), ExitReason::Kind::kRestartsExhausted);
    EXPECT_EQ(s.Count("fail a"), 4);
    EXPECT_EQ(s.Count("stop b Shutdown"), 1);
  });
}

// OTP SUP-35
TEST_P(SupTest, AfterTheFirstChildsEndThePoolIsInOrder) {
  Play([](SupScene& s) {
    const PlayersRef pool = LaunchPool(s, {});
    for (const std::string id : {"a", "b", "c"}) ASSERT_EQ(StartAs(s, pool, id, id), "OK");
    s.Kill("a");
    s.Await("exit a Killed");
    EXPECT_EQ(s.States(pool), "b running, c running");
    EXPECT_EQ(StartAs(s, pool, "a", "a"), "OK");
    EXPECT_EQ(s.States(pool), "b running, c running, a running");
    EXPECT_EQ(s.Terminate(pool, "b"), "OK");
    EXPECT_EQ(s.States(pool), "c running, a running");
    EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
  });
}

// OTP SUP-52
TEST_P(SupTest, APoolsCountsAreExactAndBackToZero) {
  Play(
      [](SupScene& s) {
        const PlayersRef pool = LaunchPool(s, {});
        for (int i = 0; i < 2000; ++i) {
          if (i == 1000) {
            EXPECT_EQ(s.Counts(pool).active, 1000);
          }
          ASSERT_EQ(StartAs(s, pool, absl::StrCat("t", i), "t"), "OK");
        }
        for (int twice = 0; twice < 2; ++twice) {
          EXPECT_EQ(s.Counts(pool).specs, 2000);
          EXPECT_EQ(s.Counts(pool).active, 2000);
        }
        for (int i = 0; i < 2000; ++i) s.Kill(absl::StrCat("t", i));
        for (int i = 0; i < 2000; ++i) s.Await(absl::StrCat("exit t", i, " Killed"));
        EXPECT_EQ(s.Counts(pool).specs, 0);
        EXPECT_EQ(s.Counts(pool).active, 0);
      },
      1, 1);
}

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// OTP SUP-58
TEST_P(SupTest, ToStopTenTimesAsManyChildrenCostsAtMostFiftyTimesAsMuch) {
  std::vector<double> seconds;
  for (const int children : {1000, 10000}) {
    Play(
        [&](SupScene& s) {
          const PlayersRef pool = LaunchPool(s, {});
          for (int i = 0; i < children; ++i) {
            ASSERT_TRUE(s.system().Ask(pool.start(), s.PartOf("t"), kLong).ok());
          }
          const double before = CpuSeconds();
          EXPECT_EQ(s.Shutdown(), ExitReason::Shutdown());
          seconds.push_back(CpuSeconds() - before);
        },
        1, 1);
  }
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_LE(seconds[1], 50 * seconds[0]);
}

// OTP SUP-62
TEST_P(SupTest, WhileAPoolsChildWaitsToBeRestartedItIsListedAndCanBeTerminated) {
  Play([](SupScene& s) {
    s.PartOf("a")->start = FailsFromTheSecondOn;
    const PlayersRef pool = LaunchPool(s, {.restart = RestartType::kPermanent,
                                           .backoff = RestartBackoff{.min = absl::Hours(2), .max = absl::Hours(2)},
                                           .intensity = 10,
                                           .period = kPeriod});
    ASSERT_EQ(StartAs(s, pool, "a", "a"), "OK");
    ASSERT_EQ(StartAs(s, pool, "b", "b"), "OK");
    s.Crash("a");
    s.Await("later a");
    EXPECT_EQ(s.States(pool), "a restarting, b running");
    EXPECT_EQ(s.Counts(pool).specs, 2);
    EXPECT_EQ(s.Counts(pool).active, 1);
    EXPECT_EQ(s.Terminate(pool, "a"), "OK");
    EXPECT_EQ(s.States(pool), "b running");
  });
}

}  // namespace
}  // namespace understudy
