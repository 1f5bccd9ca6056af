// A million actors that were spawned and have ended leave no memory behind;
// here 100,000 a round; `understudy_bench --reclaim` does the million.
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

TEST(ReclaimTest, ActorsThatHaveEndedLeaveNoMemoryBehind) {
  ActorSystem system;
  const std::vector<int64_t> resident = ResidentAfterRounds(system, 100'000, 3);
  EXPECT_LE(resident[2], resident[0] + resident[0] / 20)
      << "resident after the first round: " << resident[0] << ", the second: " << resident[1]
      << ", the third: " << resident[2];
  EXPECT_EQ(system.live_actors(), 0);
}

}  // namespace
}  // namespace understudy::bench
