// The library for tests of actors: each check must find the failure that it is for.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::Gt;

// Runs `body` and leaves with 1 when it has failed a test, else with 0.
[[noreturn]] void ExitWithResultOf(absl::FunctionRef<void()> body) {
  body();
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

void PrintSeedAndFailAtThree(uint64_t seed) {
  std::fprintf(stderr, "%d ", static_cast<int>(seed));
  EXPECT_NE(seed, 3U);
}

TEST(ForEachSeedDeathTest, RunsTheFirstSeedThatFailsOnceMoreAndStops) {
  EXPECT_EXIT(ExitWithResultOf([] { ForEachSeed(2, PrintSeedAndFailAtThree); }), ExitedWithCode(0), "1 2 $");
  EXPECT_EXIT(ExitWithResultOf([] { ForEachSeed(5, PrintSeedAndFailAtThree); }), ExitedWithCode(1), "1 2 3 3 $");
}

TEST(ForEachSeedDeathTest, RunsTheSeedOfTheEnvironmentAlone) {
  const auto run_with = [](const char* seed) {
    setenv("UNDERSTUDY_SEED", seed, /*overwrite=*/1);
    ForEachSeed(5, PrintSeedAndFailAtThree);
  };
  EXPECT_EXIT(ExitWithResultOf([&] { run_with("17"); }), ExitedWithCode(0), "^17 $");
  EXPECT_EXIT(ExitWithResultOf([&] { run_with("3"); }), ExitedWithCode(1), "^3 3 $");
  EXPECT_DEATH(run_with("x"), "not a number");
}

TEST(ForEachSeedDeathTest, RunsAsManyTimesTheSeedsAsTheEnvironmentSays) {
  const auto run_with = [](const char* factor) {
    setenv("UNDERSTUDY_ROUNDS_FACTOR", factor, /*overwrite=*/1);
    ForEachSeed(1, PrintSeedAndFailAtThree);
  };
  EXPECT_EXIT(ExitWithResultOf([&] { run_with("2"); }), ExitedWithCode(0), "^1 2 $");
  EXPECT_DEATH(run_with("0"), "expected a positive number");
}

TEST(ExpectNothingLostDeathTest, FindsAnActorThatHasToBeKilled) {
  EXPECT_EXIT(ExitWithResultOf([] {
                TestSystem system;
                system.Spawn<Script>();
                ExpectNothingLost(system);
              }),
              ExitedWithCode(0), "");
  EXPECT_EXIT(ExitWithResultOf([] {
                TestSystem system;
                system.Spawn<Script>(SpawnOptions{.shutdown_within = absl::InfiniteDuration()}, [](Script& self) {
                  self.context().TrapExits([](const ExitEvent&) {}, [](const ExitEvent&) {});
                });
                ExpectNothingLost(system);
              }),
              ExitedWithCode(1), "");
}

using ProbeTest = ActorTest;

TEST_F(ProbeTest, GivesWhatCameInOrder) {
  Probe<int> probe(system());
  for (const int n : {1, 2, 3, 4}) probe.channel().Tell(n);
  probe.Expect(1);
  probe.Expect(Gt(1));
  EXPECT_THAT(probe.ReceiveAll(), ElementsAre(3, 4));
  EXPECT_FALSE(probe.Receive().has_value());
  probe.ExpectNothing();
}

TEST(ProbeDeathTest, FindsWhatDidNotComeAndWhatShouldNotHave) {
  EXPECT_EXIT(ExitWithResultOf([] {
                TestSystem system;
                Probe<int> probe(system);
                probe.Expect(1);
              }),
              ExitedWithCode(1), "");
  EXPECT_EXIT(ExitWithResultOf([] {
                TestSystem system;
                Probe<int> probe(system);
                probe.channel().Tell(2);
                probe.Expect(1);
              }),
              ExitedWithCode(1), "");
  EXPECT_EXIT(ExitWithResultOf([] {
                TestSystem system;
                Probe<int> probe(system);
                probe.channel().Tell(2);
                probe.ExpectNothing();
              }),
              ExitedWithCode(1), "");
}

TEST_F(ProbeTest, AnswersCalls) {
  Probe<Call<int, std::string>> probe(system());
  Ref<Script> script = system().Spawn<Script>();
  std::string answer;
  RunTask(script, [&](Script&) -> Task<> {
    auto asked = probe.channel().Ask(7, absl::Seconds(1));
    answer = (co_await asked).value_or("none");
  });
  auto asked = probe.Receive();
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->request, 7);
  asked->replier.Reply(std::string("seven"));
  system().RunUntilIdle();
  EXPECT_EQ(answer, "seven");
}

}  // namespace
}  // namespace understudy
