// A million actors that were spawned and have ended, in three rounds, leave no memory behind: after the third round no
// more memory is resident than after the first.
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/bench/resident_memory.h"
#include "understudy/tests/bench/workload.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDERSTUDY_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDERSTUDY_HAS_ASAN 1
#endif
#endif

#ifdef UNDERSTUDY_HAS_ASAN
#include <sanitizer/allocator_interface.h>
#endif

namespace understudy::bench {
namespace {

#ifdef UNDERSTUDY_HAS_ASAN
// AddressSanitizer keeps freed memory resident for a while, but knows exactly how much is allocated. Leaks are found
// when the process ends.
int64_t HeldBytes() { return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes()); }
#else
int64_t HeldBytes() { return ResidentBytes(); }
#endif

constexpr int kRounds = 3;
constexpr int64_t kActors = 350'000;  // each
static_assert(kRounds * kActors >= 1'000'000);

TEST(ReclaimTest, ActorsThatHaveEndedLeaveNoMemoryBehind) {
  ActorSystem system;
  std::vector<int64_t> held;
  for (int round = 0; round < kRounds; ++round) {
    (void)ResidentAfterRounds<8>(system, kActors, 1);
    held.push_back(HeldBytes());
  }
  EXPECT_LE(held[2], held[0] + held[0] / 20)
      << "bytes after the first round: " << held[0] << ", the second: " << held[1] << ", the third: " << held[2];
  RecordProperty("bytes_after_first_round", std::to_string(held[0]));
  RecordProperty("bytes_after_third_round", std::to_string(held[2]));
  EXPECT_EQ(system.live_actors(), 0);
}

}  // namespace
}  // namespace understudy::bench
