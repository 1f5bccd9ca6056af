// The registered names of a pool's children, which are derived from their ids.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/existing_child.h"
#include "understudy/supervision/pool.h"

namespace understudy {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(1);

class Job final : public Actor {
 public:
  explicit Job(int /*number*/) {}
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  void Crash(int) { context().Stop(ExitReason::Failed(absl::InternalError("crashed"))); }
  Behavior working_{"working", On(crash, &Job::Crash)};
};

TEST(PoolNamesTest, AChildsNamesAreMadeOfItsIdAndATakenOneIsToldToWhoAskedForIt) {
  ForEachSeed(20, [](uint64_t seed) {
    TestSystem system(seed);
    const PoolRef<Job(int)> pool = system.Spawn<Pool<Job(int)>>(PoolOptions{.id = "job",
                                                                            .restart = RestartType::kPermanent,
                                                                            .registered_as = "local/{id}",
                                                                            .published_as = "all/{id}",
                                                                            .shards = seed % 2 == 0 ? 4 : 1});
    const auto begin = [&](const std::string& id) { return system.Ask(pool.start_as(), {id, 1}, kSoon); };
    const Ref<Job> first = begin("17").value();
    EXPECT_EQ(system.WhereIs("local/17"), first.pid());
    EXPECT_EQ(system.WhereIs("all/17"), first.pid());
    const Ref<Job> unnamed = system.Ask(pool.start(), 1, kSoon).value();
    EXPECT_EQ(system.WhereIs("all/job#1"), unnamed.pid());

    const Ref<Job> other = system.Spawn<Job>(SpawnOptions{.registered_as = "local/18"}, 1);
    ASSERT_TRUE(system.AwaitStart(other.pid(), kSoon).ok());
    const absl::Status taken = begin("18").status();
    EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
    EXPECT_THAT(std::string(taken.message()), testing::HasSubstr("local/18"));
    EXPECT_EQ(ExistingChild(taken), absl::nullopt);
    EXPECT_EQ(system.Ask(pool.count_children(), {}, kSoon)->specs, 2);
    system.Kill(other.pid());
    system.RunUntilIdle();
    EXPECT_TRUE(begin("18").ok());

    first[&Job::crash].Tell(1);
    system.RunUntilIdle();
    const absl::optional<Pid> next = system.WhereIs("all/17");
    EXPECT_TRUE(next.has_value() && next != first.pid());
  });
}

}  // namespace
}  // namespace understudy
