// Tests of the whole service, simulated: its results are right under every seed, with and without failures.
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/run_plan.h"
#include "understudy/tests/examples/auction/simulated_service.h"

namespace auction {
namespace {

std::vector<Lot> ShippedLots() {
  std::vector<InputProblem> problems;
  return ParseLots("lots", *ReadFile("examples/auction/data/lots.textproto"), problems);
}

std::vector<Bid> ShippedBids(const std::vector<Lot>& lots) {
  std::vector<InputProblem> problems;
  return ParseBids("bids", *ReadFile("examples/auction/data/bids.csv"), lots, problems);
}

TEST(AuctionServiceTest, TheShippedInputGivesTheOraclesResultsWithoutFailures) {
  const std::vector<Lot> lots = ShippedLots();
  const std::vector<Bid> bids = ShippedBids(lots);
  const SimulatedRun run = Simulate(lots, bids, {.seed = 1, .kills = *ParseKills("none")});
  EXPECT_EQ(FaultsOf(run), "");
  EXPECT_EQ(run.results_csv, ResultsCsv(ExpectedResults(lots, bids)));
}

TEST(AuctionServiceTest, TheShippedInputGivesTheOraclesResultsWithFailures) {
  const std::vector<Lot> lots = ShippedLots();
  const std::vector<Bid> bids = ShippedBids(lots);
  for (uint64_t seed : {1, 2}) {
    SCOPED_TRACE(seed);
    const SimulatedRun run = Simulate(lots, bids, {.seed = seed});
    EXPECT_EQ(FaultsOf(run), "");
    EXPECT_EQ(run.results_csv, ResultsCsv(ExpectedResults(lots, bids)));
  }
}

TEST(AuctionServiceTest, RandomAuctionsGiveTheOraclesResultsForEverySeed) {
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Lot> lots = RandomLots(seed, 6);
    const std::vector<Bid> bids = RandomBids(seed, lots, 80);
    const SimulatedRun run = Simulate(lots, bids, {.seed = seed, .speed = seed % 2 == 0 ? "max" : "40"});
    EXPECT_EQ(FaultsOf(run), "");
    EXPECT_EQ(run.results_csv, ResultsCsv(ExpectedResults(lots, bids)));
  }
}

TEST(AuctionServiceTest, AnOfferInHandAtTheCrashIsRepeatedAndRecognised) {
  const std::vector<Lot> lots = RandomLots(5, 4);
  const std::vector<Bid> bids = RandomBids(5, lots, 40);
  const SimulatedRun run = Simulate(lots, bids, {.seed = 5, .kills = *ParseKills("lot")});
  EXPECT_EQ(FaultsOf(run), "");
  EXPECT_EQ(run.evidence.floor.repeated, 1);
  EXPECT_GT(run.evidence.floor.tries, 40);
}

TEST(AuctionServiceTest, TheSameSeedGivesTheSameRunStepByStep) {
  const std::vector<Lot> lots = RandomLots(9, 4);
  const std::vector<Bid> bids = RandomBids(9, lots, 40);
  const SimulatedRun one = Simulate(lots, bids, {.seed = 9, .with_trace = true});
  const SimulatedRun two = Simulate(lots, bids, {.seed = 9, .with_trace = true});
  EXPECT_EQ(FaultsOf(one), "");
  EXPECT_GT(one.trace.size(), 100u);
  EXPECT_EQ(one.trace, two.trace);
}

}  // namespace
}  // namespace auction
