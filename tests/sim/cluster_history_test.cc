// Runs many random histories of clusters with every kind of fault, half of them with a hostile peer. Checks that the
// disposition of each accepted message was reported, that monitors fire once, that nodes agree on names, that memory is
// bounded, and that honest nodes can still talk to each other in the end.
//
//   bazel test //tests/sim:cluster_history_test --test_env=UNDERSTUDY_SEED=7
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/sim/cluster_run.h"

namespace understudy {
namespace {

constexpr int kSeeds = 2000;
constexpr int kParts = 8;  // each part is a test of its own, so that Bazel can shard them

// Returns the seeds of part `part`. If the environment sets a seed, the first part has that seed and the others none.
std::vector<uint64_t> SeedsOfPart(int part) {
  if (const auto only = SeedFromEnvironment())
    return part == 0 ? std::vector<uint64_t>{*only} : std::vector<uint64_t>();
  std::vector<uint64_t> seeds;
  for (int seed = part + 1; seed <= RoundsOf(kSeeds); seed += kParts) seeds.push_back(static_cast<uint64_t>(seed));
  return seeds;
}

class ClusterHistoryTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Parts, ClusterHistoryTest, ::testing::Range(0, kParts));

TEST_P(ClusterHistoryTest, EveryAcceptedMessageHasAFateMonitorsFireOnceNamesAgreeAndMemoryIsBounded) {
  ClusterRun::Tally tally;
  for (const uint64_t seed : SeedsOfPart(GetParam())) {
    ClusterRun run(seed);
    ASSERT_EQ(run.Run(), "") << "seed " << seed << "; UNDERSTUDY_SEED=" << seed << " runs it alone";
    tally += run.tally();
  }
  std::cout << tally.ToString() << "\n";
  if (SeedFromEnvironment().has_value()) return;
  // Each kind of fault and each outcome of a message must have occurred in some run.
  EXPECT_GT(tally.cuts, 0);
  EXPECT_GT(tally.one_way, 0);
  EXPECT_GT(tally.two_way, 0);
  EXPECT_GT(tally.pauses, 0);
  EXPECT_GT(tally.crashes, 0);
  EXPECT_GT(tally.slow, 0);
  EXPECT_GT(tally.sessions_ended, 0);
  EXPECT_GT(tally.bad_frames, 0);
  EXPECT_GT(tally.conflicts, 0);
  EXPECT_GT(tally.totals.foreign, 0);
  EXPECT_GT(tally.totals.handled, 0);
  EXPECT_GT(tally.totals.dead_letters, 0);
  EXPECT_GT(tally.totals.dropped, 0);
  EXPECT_GT(tally.totals.lost, 0);
  EXPECT_GT(tally.totals.answered, 0);
  EXPECT_GT(tally.totals.fired, 0);
  EXPECT_GT(tally.totals.served, 0);
  EXPECT_GT(tally.totals.expired, 0);
  EXPECT_GT(tally.totals.disconnected, 0);
  EXPECT_EQ(tally.totals.session_full, 0);
}

TEST(ClusterHistoryPlantedTest, ASessionThatForgetsToResendOneEnvelopeIsFound) {
  FaultPoint::Scope broken("session_forgets_one_unacknowledged");
  std::string wrong;
  for (uint64_t seed = 1; seed <= 100 && wrong.empty(); ++seed) wrong = ClusterRun(seed).Run();
  EXPECT_NE(wrong, "");
  std::cout << wrong << "\n";
}

}  // namespace
}  // namespace understudy
