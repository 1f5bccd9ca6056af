// ForEachSeed: runs one test body with many seeds, and so with many schedules.
//
//   ForEachSeed(1000, [](uint64_t seed) {
//     TestSystem system(seed);
//     …
//   });
//
// Stops at the first seed whose body fails, and prints that seed. The environment
// variable UNDERSTUDY_SEED=17 runs seed 17 alone; UNDERSTUDY_ROUNDS_FACTOR=50 runs 50
// times as many seeds. One thread.
#ifndef UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
#define UNDERSTUDY_ACTORS_TESTING_SEEDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"

namespace understudy {

// Returns the seed in UNDERSTUDY_SEED, or nullopt if that is not set. CHECKs that the
// value is a number, because silently ignoring a seed would be misleading.
absl::optional<uint64_t> SeedFromEnvironment();

// Returns `count` times UNDERSTUDY_ROUNDS_FACTOR (default 1), for a test that repeats
// something `count` times by default. CHECKs that the factor is a positive number.
int RoundsOf(int count);

// Calls `body` with the seeds 1 to RoundsOf(count), or only with the seed of
// UNDERSTUDY_SEED if that is set.
void ForEachSeed(int count, absl::FunctionRef<void(uint64_t)> body);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
