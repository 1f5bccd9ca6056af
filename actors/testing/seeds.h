// ForEachSeed: one test body, many schedules.
//
//   ForEachSeed(1000, [](uint64_t seed) {
//     TestSystem system(seed);
//     …
//   });
//
// Stops at the first seed whose body fails and prints it; the environment
// variable UNDERSTUDY_SEED=17 then runs that seed alone, and
// UNDERSTUDY_ROUNDS_FACTOR=50 runs 50 times as many. One thread.
#ifndef UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
#define UNDERSTUDY_ACTORS_TESTING_SEEDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"

namespace understudy {

// The seed that the environment asks for, if any. A value that is no number
// ends the program: a seed that is silently ignored would be misleading.
absl::optional<uint64_t> SeedFromEnvironment();

// How often to do what a test does `count` times by default: `count` times the
// environment variable UNDERSTUDY_ROUNDS_FACTOR, a positive number (default 1).
int RoundsOf(int count);

// Calls `body` with the seeds 1 to RoundsOf(count), or with the environment's
// seed alone.
void ForEachSeed(int count, absl::FunctionRef<void(uint64_t)> body);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
