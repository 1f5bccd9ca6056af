// The nodes of a simulated cluster as a user's test has them.
#include "understudy/transport/testing/simulated_cluster.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/simulation_trace.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/puppet.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(SimulatedClusterTest, OnStartSpawnsWhatANodeRunsAtEachOfItsStarts) {
  std::vector<std::string> starts;
  SimulatedCluster cluster({.nodes = {"a", "b"}, .on_start = [&](absl::string_view node, TestSystem& system) {
                              starts.emplace_back(node);
                              system.Spawn<Puppet>(SpawnOptions{.published_as = absl::StrCat(node, "/puppet")},
                                                   std::make_shared<Diary>());
                            }});
  EXPECT_THAT(starts, ElementsAre("a", "b"));
  const auto a_sees_puppet_of_b = [&] { return cluster.system("a").WhereIs("b/puppet").has_value(); };
  EXPECT_TRUE(cluster.RunUntil(a_sees_puppet_of_b, absl::Seconds(10)));
  cluster.Crash("b");
  EXPECT_TRUE(cluster.RunUntil([&] { return !a_sees_puppet_of_b(); }, absl::Minutes(1)));
  cluster.Start("b");
  EXPECT_THAT(starts, ElementsAre("a", "b", "b"));
  EXPECT_TRUE(cluster.RunUntil(a_sees_puppet_of_b, absl::Minutes(1)));
}

TEST(SimulatedClusterTest, ASimulationTraceHasItsStepsAndFaultsWhateverItTracesItself) {
  const SimulationTrace trace;
  {
    SimulatedCluster cluster({.nodes = {"a", "b"}, .traces = SimulatedCluster::Options::Traces::kNone});
    cluster.system("a").Spawn<Puppet>(std::make_shared<Diary>());
    cluster.RunFor(absl::Seconds(1));
    cluster.network().Cut("a", "b");
    cluster.Pause("a");
    cluster.Resume("a");
    cluster.Crash("b");
    EXPECT_THAT(cluster.trace(), IsEmpty());
  }
  for (const absl::string_view line : {"start a", "cut between a and b", "pause a", "resume a", "crash b"}) {
    EXPECT_THAT(trace.lines(), Contains(EndsWith(absl::StrCat(" ", line))));
  }
  EXPECT_THAT(trace.lines(), Contains(HasSubstr("handles event of start")));
  EXPECT_THAT(trace.lines(), Not(Contains(EndsWith("crash a")))) << "that is the cluster's end";
  EXPECT_THAT(trace.lines(), Not(Contains(HasSubstr("ends: "))));
}

}  // namespace
}  // namespace understudy
