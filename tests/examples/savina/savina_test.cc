#include "understudy/examples/savina/savina.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy::savina {
namespace {

class SavinaTest : public testing::TestWithParam<Entry> {};

void ExpectGood(ActorSystem& system, const Entry& program, int64_t size) {
  const absl::StatusOr<std::string> result = RunProgram(system, program, size);
  EXPECT_TRUE(result.ok()) << program.name << ": " << result.status();
  EXPECT_EQ(system.live_actors(), 0);
}

TEST_P(SavinaTest, HasItsResultOnThreads) {
  ActorSystem system({.threads = {.threads = 2}});
  ExpectGood(system, GetParam(), GetParam().size_small);
}

TEST_P(SavinaTest, HasItsResultInAnyOrderOfTurns) {
  ForEachSeed(3, [](uint64_t seed) {
    TestSystem system(seed);
    ExpectGood(system, GetParam(), GetParam().size_small);
    ExpectNothingLost(system);
  });
}

TEST_P(SavinaTest, HasItsResultWithTheLeastSize) {
  TestSystem system;
  ExpectGood(system, GetParam(), 1);
}

// SEL 35
// Sizes for which other implementations give the suite's results.
TEST(SavinaResultsTest, KnownResultsOfTheSuiteAreFound) {
  const std::map<absl::string_view, std::pair<int64_t, absl::string_view>> known = {
      {"bitonic_sort", {4096, "4096 numbers in order, sum 135063552"}},
      {"fibonacci", {20, "6765 is the Fibonacci number"}},
      {"radix_sort", {10'000, "10000 numbers in order, sum 329799144"}},
      {"sieve", {100'000, "9592 primes"}},
  };
  ActorSystem system;
  size_t found = 0;
  for (const Entry& program : Programs()) {
    const auto place = known.find(program.name);
    if (place == known.end()) continue;
    ++found;
    EXPECT_EQ(RunProgram(system, program, place->second.first).value_or("no result"), place->second.second)
        << program.name;
  }
  EXPECT_EQ(found, known.size());
}

class FailingWorker final : public Actor {
 public:
  StartResult Start() override { return working_; }

 private:
  Failure Lose() { return Fail(absl::DataLossError("the worker has lost its work")); }
  Behavior working_{"working", After(absl::Seconds(1), &FailingWorker::Lose)};
};

class Failing final : public Program {
 public:
  Mailbox<"unused", int> unused{this};

  StartResult Start() override {
    context().Spawn<FailingWorker>();
    return waiting_;
  }

 private:
  Behavior waiting_{"waiting", Drop(unused)};
};

TEST(SavinaResultsTest, AProgramWhoseWorkerFailsGivesTheReason) {
  TestSystem system;
  const Entry failing{"failing", "nothing", 1, 1,
                      [](int64_t) -> std::unique_ptr<Actor> { return std::make_unique<Failing>(); }};
  const absl::StatusOr<std::string> result = RunProgram(system, failing, 1);
  EXPECT_THAT(result.status().message(), testing::HasSubstr("the worker has lost its work"));
}

TEST(SavinaResultsTest, AWrongResultIsAnErrorThatSaysWhatIsExpected) {
  EXPECT_EQ(Checked("pongs", 4, 4).value_or(""), "4 pongs");
  EXPECT_EQ(Checked("pongs", 3, 4).status().message(), "3 pongs: expected 4");
  EXPECT_EQ(Checked("sum 5", true).value_or(""), "sum 5");
  EXPECT_EQ(Checked("sum 5", false).status().message(), "wrong result: sum 5");
}

TEST(SavinaResultsTest, ASizeBelowOneIsRefused) {
  TestSystem system;
  EXPECT_EQ(RunProgram(system, Programs().front(), 0).status().message(), "invalid size 0: expected at least 1");
}

INSTANTIATE_TEST_SUITE_P(Programs, SavinaTest, testing::ValuesIn(Programs()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace understudy::savina
