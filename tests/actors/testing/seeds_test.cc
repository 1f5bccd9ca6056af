// Tests of the output for a seed that fails: a command that repeats it, its trace and its diagram.
#include "understudy/actors/testing/seeds.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/check.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Notes the first runner that arrives.
class Finish final : public Actor {
 public:
  Mailbox<"arrive", int> arrive{this};
  explicit Finish(int* first) : first_(first) {}
  StartResult Start() override { return open_; }

 private:
  void Arrive(int runner) {
    if (*first_ == 0) *first_ = runner;
  }
  int* const first_;
  Behavior open_{"open", On(arrive, &Finish::Arrive)};
};

class Runner final : public Actor {
 public:
  Runner(int number, Channel<int> finish) : number_(number), finish_(finish) {}
  StartResult Start() override {
    finish_.Tell(number_);
    return StartResult::Ignore();
  }

 private:
  const int number_;
  const Channel<int> finish_;
};

// Fails with the seeds with which the first of two runners is first.
void ExpectTheSecondToBeFirst(uint64_t seed) {
  int first = 0;
  TestSystem system(seed);
  const Ref<Finish> finish = system.Spawn<Finish>(&first);
  for (const int number : {1, 2}) system.Spawn<Runner>(number, finish[&Finish::arrive]);
  system.RunUntilIdle();
  EXPECT_EQ(first, 2) << "with seed " << seed;
}

// Sets a variable of the environment, or removes it, while it exists.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* earlier = std::getenv(name)) earlier_ = earlier;
    Set(value);
  }
  ~Variable() { Set(earlier_.has_value() ? earlier_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void Set(const char* value) { value == nullptr ? unsetenv(name_) : setenv(name_, value, /*overwrite=*/1); }
  const char* const name_;
  absl::optional<std::string> earlier_;
};

// Runs the seeds, writes the failures to standard error, and leaves with 1 if one has failed, else with 0. In a child.
[[noreturn]] void ExitWithResultOf(absl::FunctionRef<void(uint64_t)> body) {
  ForEachSeed(100, body);
  // GoogleTest prints nothing in the child.
  const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    std::fprintf(stderr, "%s\n", result.GetTestPartResult(i).message());
  }
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(FindFailingSeedTest, GivesTheFirstSeedThatFailsAndItsSteps) {
  const absl::optional<SeedRun> run = FindFailingSeed(100, ExpectTheSecondToBeFirst);
  ASSERT_TRUE(run.has_value());
  for (uint64_t seed = 1; seed <= run->seed; ++seed) {
    EXPECT_EQ(RecordSeed(seed, ExpectTheSecondToBeFirst).failures.empty(), seed < run->seed) << seed;
  }
  EXPECT_THAT(run->failures, ElementsAre(HasSubstr(absl::StrCat("with seed ", run->seed))));
  EXPECT_THAT(run->trace, Contains(HasSubstr("> handles arrive of int from <test.")));
  EXPECT_THAT(run->trace,
              Contains(AllOf(HasSubstr("Runner"), HasSubstr("handles event of start from <no actor> as "))));
  EXPECT_THAT(run->trace, Contains(HasSubstr("ends: ")));
  EXPECT_EQ(RecordSeed(run->seed, ExpectTheSecondToBeFirst).trace, run->trace);
}

TEST(FindFailingSeedTest, GivesNothingIfAllPass) {
  EXPECT_FALSE(FindFailingSeed(5, [](uint64_t) {}).has_value());
}

class ForEachSeedDeathTest : public testing::Test {
 protected:
  static constexpr char kCommand[] = "bazel test //shop:race --test_filter='ForEachSeedDeathTest\\.[A-Za-z]+' ";

  ForEachSeedDeathTest() {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    EXPECT_FALSE(error) << error.message();
  }

  const std::string folder_ = absl::StrCat(testing::TempDir(), "/testlogs/shop/race");
  const Variable target_{"TEST_TARGET", "//shop:race"};
  const Variable outputs_{"TEST_UNDECLARED_OUTPUTS_DIR", folder_.c_str()};
  const Variable only_{"UNDERSTUDY_SEED", nullptr};
  const Variable factor_{"UNDERSTUDY_ROUNDS_FACTOR", nullptr};
};

TEST_F(ForEachSeedDeathTest, ASeedThatFailsPrintsTheCommandThatRepeatsItAndLeavesItsTrace) {
  const SeedRun run = *FindFailingSeed(100, ExpectTheSecondToBeFirst);
  EXPECT_EXIT(ExitWithResultOf(ExpectTheSecondToBeFirst), testing::ExitedWithCode(1),
              absl::StrCat("the test fails with seed ", run.seed, "; to repeat it:\n  ", kCommand,
                           "--test_env=UNDERSTUDY_SEED=", run.seed,
                           "\nits trace: .*txt and .*svg in bazel-testlogs/shop/race/outputs.zip\n"));
  const std::string stem = absl::StrCat(
      folder_, "/ForEachSeedDeathTest.ASeedThatFailsPrintsTheCommandThatRepeatsItAndLeavesItsTrace.seed-", run.seed);
  EXPECT_EQ(ContentsOf(stem + ".txt"), absl::StrCat(absl::StrJoin(run.trace, "\n"), "\n"));
  EXPECT_THAT(ContentsOf(stem + ".svg"), AllOf(HasSubstr("<svg"), HasSubstr("Runner"), HasSubstr("arrive")));
}

TEST_F(ForEachSeedDeathTest, TheSeedOfTheCommandFailsAgainAndOthersPass) {
  const std::string seed = std::to_string(FindFailingSeed(100, ExpectTheSecondToBeFirst)->seed);
  {
    const Variable only("UNDERSTUDY_SEED", seed.c_str());
    EXPECT_EXIT(ExitWithResultOf(ExpectTheSecondToBeFirst), testing::ExitedWithCode(1), "the test fails with seed ");
  }
  for (uint64_t other = 1; other < 100; ++other) {
    if (!RecordSeed(other, ExpectTheSecondToBeFirst).failures.empty()) continue;
    const Variable only("UNDERSTUDY_SEED", std::to_string(other).c_str());
    EXPECT_EXIT(ExitWithResultOf(ExpectTheSecondToBeFirst), testing::ExitedWithCode(0), "^$");
    return;
  }
}

TEST_F(ForEachSeedDeathTest, ASeedThatCrashesPrintsTheCommandToo) {
  const std::string notice =
      absl::StrCat("the test crashes with seed 3; to repeat it:\n  ", kCommand, "--test_env=UNDERSTUDY_SEED=3\n");
  EXPECT_EXIT(ExitWithResultOf([](uint64_t seed) { UNDERSTUDY_CHECK(seed != 3, "seed 3"); }),
              testing::KilledBySignal(SIGABRT), notice);
}

TEST_F(ForEachSeedDeathTest, ATestThatDependsOnMoreThanItsSeedIsToldSo) {
  int runs = 0;
  EXPECT_EXIT(ExitWithResultOf([&](uint64_t) { EXPECT_NE(++runs, 1); }), testing::ExitedWithCode(1),
              "a second run with this seed passed: something else than the seed decides what the test does");
}

}  // namespace
}  // namespace understudy
