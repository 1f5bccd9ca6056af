// A cluster that breaks as a seed says, and is whole again.
#include "understudy/transport/testing/random_faults.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

constexpr absl::string_view kFaults[] = {" crash ", " pause ",           " cut between ",
                                         " stall ", " nothing reaches ", " a frame takes "};

// The faults that the trace has, by their place in kFaults.
std::set<size_t> FaultsIn(const std::vector<std::string>& trace) {
  std::set<size_t> found;
  for (const std::string& line : trace) {
    for (size_t i = 0; i < std::size(kFaults); ++i) {
      if (absl::StrContains(line, kFaults[i])) found.insert(i);
    }
  }
  return found;
}

TEST(RandomFaultsTest, EachKindComesAndAllEnd) {
  std::set<size_t> found;
  ForEachSeed(5, [&](uint64_t seed) {
    SimulatedCluster cluster({.seed = seed, .nodes = {"a", "b", "c"}});
    RandomFaults faults(cluster, {.seed = seed});
    faults.RunFor(absl::Seconds(30));
    EXPECT_GT(faults.count(), 20);
    found.merge(FaultsIn(cluster.trace()));
    faults.Heal();
    for (const std::string& node : cluster.nodes()) EXPECT_TRUE(cluster.IsRunning(node) && !cluster.IsPaused(node));
    EXPECT_TRUE(cluster.RunUntil([&] { return cluster.IsJoined(); }, absl::Minutes(1)));
  });
  EXPECT_EQ(found.size(), std::size(kFaults));
}

TEST(RandomFaultsTest, ASeedGivesTheSameFaultsAgain) {
  const auto run = [](uint64_t seed) {
    return RecordSeed(seed,
                      [](uint64_t its) {
                        SimulatedCluster cluster({.seed = its, .nodes = {"a", "b"}});
                        RandomFaults(cluster, {.seed = its}).RunFor(absl::Seconds(10));
                      })
        .trace;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(RandomFaultsTest, KindsAndNodesAreChosen) {
  SimulatedCluster cluster({.nodes = {"a", "b"}});
  RandomFaults faults(cluster, {.nodes = {"a"}, .pauses = 0, .cuts = 0, .stalls = 0, .partitions = 0, .delays = 0});
  faults.RunFor(absl::Minutes(1));
  EXPECT_EQ(FaultsIn(cluster.trace()), std::set<size_t>{0});
  for (const std::string& line : cluster.trace()) EXPECT_FALSE(absl::StrContains(line, " crash b")) << line;
}

TEST(RandomFaultsDeathTest, OptionsWithoutSenseAreRefused) {
  SimulatedCluster cluster({.nodes = {"a", "b"}});
  EXPECT_DEATH(RandomFaults(cluster, {.every = absl::ZeroDuration()}), "every and lasts_max must be positive, got 0");
  EXPECT_DEATH(RandomFaults(cluster, {.crashes = -1}), "must not be negative");
}

}  // namespace
}  // namespace understudy
