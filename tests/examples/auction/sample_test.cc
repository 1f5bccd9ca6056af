#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"

namespace auction {
namespace {

using ::testing::SizeIs;

constexpr char kFolder[] = "examples/auction/data/";

std::string Shipped(const std::string& name) { return *ReadFile(kFolder + name); }

TEST(SampleTest, TheGeneratorWritesTheShippedFiles) {
  const std::string folder = ::testing::TempDir();
  ASSERT_EQ(std::system(("examples/auction/make_sample " + folder).c_str()), 0);
  EXPECT_EQ(*ReadFile(folder + "/lots.textproto"), Shipped("lots.textproto"));
  EXPECT_EQ(*ReadFile(folder + "/bids.csv"), Shipped("bids.csv"));
}

TEST(SampleTest, HasEveryKindOfLineThatTheServiceMustBear) {
  std::vector<InputProblem> lot_problems;
  std::vector<InputProblem> bid_problems;
  const std::vector<Lot> lots = ParseLots("lots.textproto", Shipped("lots.textproto"), lot_problems);
  const std::vector<Bid> bids = ParseBids("bids.csv", Shipped("bids.csv"), lots, bid_problems);
  EXPECT_GE(lots.size(), 40u);
  EXPECT_THAT(lot_problems, SizeIs(4));
  EXPECT_GE(bids.size(), 2000u);
  EXPECT_THAT(bid_problems, SizeIs(13));
  std::set<std::string> bidders;
  for (const Bid& bid : bids) bidders.insert(bid.bidder);
  EXPECT_EQ(bidders.size(), 25u);

  int late = 0;
  int ties = 0;
  std::set<std::string> seen;
  for (const Bid& bid : bids) {
    const auto lot = std::find_if(lots.begin(), lots.end(), [&](const Lot& each) { return each.id == bid.lot; });
    if (bid.time >= lot->closes) ++late;
    if (!seen.insert(bid.lot + "/" + std::to_string(bid.cents)).second) ++ties;
  }
  EXPECT_GT(late, 50);
  EXPECT_GT(ties, 50);

  int unsold = 0;
  for (const LotResult& result : ExpectedResults(lots, bids)) unsold += result.winner.empty() ? 1 : 0;
  EXPECT_GT(unsold, 0);
  EXPECT_LT(unsold, 10);
}

}  // namespace
}  // namespace auction
