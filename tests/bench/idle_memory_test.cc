// An idle actor with two mailboxes that has handled a message takes at most 400 bytes of resident memory. The test has
// 100,000 of them; the benchmark has a million.
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/bench/allocations.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

TEST(IdleMemoryTest, AnIdleActorWithTwoMailboxesCostsAtMost400Bytes) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer has its own malloc";
  constexpr int64_t kActors = 100'000;
  ActorSystem system;
  const Measurement measured = RunIdleMemory(system, kActors);
  EXPECT_EQ(measured.count, kActors);
  EXPECT_LE(measured.bytes, 400 * kActors);
}

}  // namespace
}  // namespace understudy::bench
