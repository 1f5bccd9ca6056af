// ForEachSeed: runs one test body with many seeds, and so with many schedules.
//
//   ForEachSeed(1000, [](uint64_t seed) {
//     TestSystem system(seed);           // or a SimulatedCluster of the service's nodes
//     …
//   });
//
// Stops at the first seed whose body fails, and prints the one command that runs it again. It runs the body with that
// seed once more to record its steps, and writes them into TEST_UNDECLARED_OUTPUTS_DIR, if that is set as Bazel does:
// <suite>.<case>.seed-17.txt (simulation_trace.h) and .svg (sequence_diagram.h). If the body crashes, the command is
// printed too.
//
// The environment variable UNDERSTUDY_SEED=17 runs seed 17 alone; UNDERSTUDY_ROUNDS_FACTOR=50 runs 50 times as many
// seeds. The systems must be made in the body, and nothing but the seed may decide what the body does. One thread.
#ifndef UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
#define UNDERSTUDY_ACTORS_TESTING_SEEDS_H_

#include <cstdint>
#include <string>
#include <vector>

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

// One run of a body.
struct SeedRun {
  uint64_t seed = 0;
  std::vector<std::string> failures;  // the text of each EXPECT and ASSERT that failed
  std::vector<std::string> trace;     // the steps of its systems and clusters: simulation_trace.h
};

// Runs `body` with `seed`, and records the run. What fails in it does not fail the test.
SeedRun RecordSeed(uint64_t seed, absl::FunctionRef<void(uint64_t)> body);

// Returns a record of the first of the seeds 1 to `count` with which `body` fails, or nullopt if there is none. So a
// test with a FaultPoint shows that the bug would be found; the failures do not fail the test. The environment has no
// effect.
absl::optional<SeedRun> FindFailingSeed(int count, absl::FunctionRef<void(uint64_t)> body);

// The command that runs the current test with `seed` alone, as in
//   bazel test //shop:orders_test --test_filter=OrdersTest.NoneIsLost --test_env=UNDERSTUDY_SEED=17
// Without Bazel: the variables of the environment that do the same.
std::string ReplayCommand(uint64_t seed);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_SEEDS_H_
