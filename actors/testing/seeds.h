// ForEachSeed: one test body, many schedules.
//
//   ForEachSeed(1000, [](uint64_t seed) {
//     TestSystem system(seed);
//     …
//   });
//
// Stops at the first seed whose body fails and prints it; the environment
// variable UNDERSTUDY_SEED=17 then runs that seed alone. One thread.
#ifndef UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
#define UNDERSTUDY_ACTORS_TESTING_SEEDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"

namespace understudy {

// The seed that the environment asks for, if any. A value that is no number
// ends the program: a seed that is silently ignored would be misleading.
absl::optional<uint64_t> SeedFromEnvironment();

// Calls `body` with the seeds 1 to `count`, or with the environment's alone.
void ForEachSeed(int count, absl::FunctionRef<void(uint64_t)> body);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
