// Pool children that are found or else started, and pool children that are started with the pool.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/initial_children.h"
#include "understudy/supervision/pool.h"

namespace understudy {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(1);

// A worker whose start fails if its number is 0.
class Job final : public Actor {
 public:
  explicit Job(int number) : number_(number) {}
  Mailbox<"crash", int> crash{this};
  StartResult Start() override {
    if (number_ == 0) return absl::InvalidArgumentError("a job of nothing");
    return working_;
  }

 private:
  void Crash(int) { context().Stop(ExitReason::Failed(absl::InternalError("crashed"))); }
  const int number_;
  Behavior working_{"working", On(crash, &Job::Crash)};
};
using Jobs = Pool<Job(int)>;
using JobList = std::vector<Keyed<int>>;

PoolOptions Options(uint64_t seed) {
  return {.restart = RestartType::kPermanent, .registered_as = "job/{id}", .shards = seed % 2 == 0 ? 4 : 1};
}

TEST(PoolChildrenTest, AChildIsFoundOrStarted) {
  ForEachSeed(20, [](uint64_t seed) {
    TestSystem system(seed);
    const Jobs::Ref pool = system.Spawn<Jobs>(Options(seed));
    const auto find = [&](const std::string& id, int number) {
      return system.Ask(pool.find_or_start(), {id, number}, kSoon);
    };
    const Ref<Job> first = find("17", 1).value();
    EXPECT_EQ(system.WhereIs("job/17"), first.pid());
    EXPECT_EQ(find("17", 2).value(), first) << "the running child keeps its arguments";
    EXPECT_NE(find("18", 1).value(), first);
    EXPECT_EQ(system.Ask(pool.count_children(), {}, kSoon)->specs, 2);
    EXPECT_TRUE(absl::IsInvalidArgument(find("19", 0).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(find("", 1).status()));
  });
}

TEST(PoolChildrenTest, AChildThatIsDownForTheMomentIsNotStartedTwice) {
  TestSystem system;
  PoolOptions options = Options(1);
  options.backoff = RestartBackoff{.min = absl::Minutes(1), .max = absl::Minutes(1), .jitter = 0};
  options.intensity = 10;
  const Jobs::Ref pool = system.Spawn<Jobs>(options);
  const auto find = [&] { return system.Ask(pool.find_or_start(), {"17", 1}, kSoon); };
  for (int crashes = 0; crashes < 2; ++crashes) {
    find().value()[&Job::crash].Tell(1);
    system.RunUntilIdle();
  }
  EXPECT_TRUE(IsRestarting(find().status())) << find().status();
  system.Advance(absl::Minutes(2));
  EXPECT_TRUE(find().ok());
  EXPECT_EQ(system.Ask(pool.count_children(), {}, kSoon)->specs, 1);
}

SupervisorBuilder House(uint64_t seed, JobList list) {
  return RestForOne()
      .Intensity(3, absl::Minutes(1))
      .Child("jobs", Of<Jobs>(Options(seed)).RegisteredAs("jobs"))
      .Child("first jobs", Of<InitialChildren<Jobs>>("jobs", [list] { return absl::StatusOr<JobList>(list); }));
}

TEST(PoolChildrenTest, InitialChildrenAreThereAfterEachStartOfThePool) {
  ForEachSeed(20, [](uint64_t seed) {
    TestSystem system(seed);
    const SupervisorRef house = system.Spawn(House(seed, {{"17", 1}, {"18", 1}}));
    ASSERT_TRUE(system.AwaitStart(house.pid(), kSoon).ok());
    const absl::optional<Pid> first = system.WhereIs("job/17");
    ASSERT_TRUE(first.has_value() && system.WhereIs("job/18").has_value());
    system.Kill(*system.WhereIs("jobs"));
    system.Advance(kSoon);
    ASSERT_TRUE(system.WhereIs("job/17").has_value() && system.WhereIs("job/18").has_value());
    EXPECT_NE(system.WhereIs("job/17"), first);
  });
}

TEST(PoolChildrenTest, AnInitialChildThatCannotStartFailsTheStart) {
  TestSystem system;
  const SupervisorRef house = system.Spawn(House(1, {{"17", 1}, {"18", 0}}));
  const absl::Status started = system.AwaitStart(house.pid(), kSoon);
  EXPECT_FALSE(started.ok());
  EXPECT_NE(std::string(started.message()).find("a job of nothing"), std::string::npos) << started;
}

}  // namespace
}  // namespace understudy
