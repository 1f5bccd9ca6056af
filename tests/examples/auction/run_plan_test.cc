#include "understudy/examples/auction/run_plan.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {
namespace {

using ::testing::SizeIs;

std::vector<Lot> Lots(int count) {
  std::vector<Lot> lots;
  for (int i = 0; i < count; ++i) lots.push_back({.id = absl::StrCat("lot-", i), .title = "A lot"});
  return lots;
}

// Returns `count` bids, which go to the first `lots` lots in turn.
std::vector<Bid> Bids(int count, int lots) {
  std::vector<Bid> bids;
  for (int i = 0; i < count; ++i) {
    bids.push_back(
        {.time = absl::FromUnixMillis(i), .bidder = "anna", .lot = absl::StrCat("lot-", i % lots), .cents = 1});
  }
  return bids;
}

TEST(RunPlanTest, TheSameSeedGivesTheSamePlan) {
  const auto lots = Lots(8);
  const auto bids = Bids(100, 8);
  const RunPlan one = *MakeRunPlan(lots, bids, 42, Kills());
  const RunPlan two = *MakeRunPlan(lots, bids, 42, Kills());
  EXPECT_EQ(one.crashed_lot, two.crashed_lot);
  EXPECT_EQ(one.crash_at_offer, two.crash_at_offer);
  EXPECT_EQ(one.kill_after_offers, two.kill_after_offers);
  ASSERT_THAT(one.offers, SizeIs(100));
  EXPECT_EQ(one.offers[17].offer_id(), two.offers[17].offer_id());
}

TEST(RunPlanTest, SeedsDifferInWhoIsHit) {
  std::set<std::string> crashed;
  std::set<int> killed;
  std::set<int64_t> after;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RunPlan plan = *MakeRunPlan(Lots(8), Bids(100, 8), seed, Kills());
    crashed.insert(plan.crashed_lot);
    killed.insert(plan.killed_house);
    after.insert(plan.kill_after_offers);
  }
  EXPECT_EQ(crashed.size(), 8u);
  EXPECT_EQ(killed.size(), 2u);
  EXPECT_GT(after.size(), 20u);
}

TEST(RunPlanTest, EachPlannedFailureCanHappen) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (int count : {2, 3, 7, 100}) {
      const RunPlan plan = *MakeRunPlan(Lots(8), Bids(count, 3), seed, Kills());
      int64_t offers = 0;
      for (const Offer& offer : plan.offers) offers += offer.lot() == plan.crashed_lot ? 1 : 0;
      EXPECT_GE(plan.crash_at_offer, 1);
      EXPECT_LE(plan.crash_at_offer, offers);
      EXPECT_GE(plan.kill_after_offers, 1);
      EXPECT_LT(plan.kill_after_offers, count);
      const int house_of_crashed = HouseOfLot(static_cast<size_t>(plan.crashed_lot.back() - '0'));
      EXPECT_NE(plan.killed_house, house_of_crashed);
    }
  }
}

TEST(RunPlanTest, OfferIdsDiffer) {
  const RunPlan plan = *MakeRunPlan(Lots(8), Bids(5000, 8), 7, Kills());
  std::set<uint64_t> ids;
  for (const Offer& offer : plan.offers) ids.insert(offer.offer_id());
  EXPECT_EQ(ids.size(), 5000u);
}

TEST(RunPlanTest, WithoutKillsNothingIsHit) {
  const RunPlan plan = *MakeRunPlan(Lots(2), Bids(1, 1), 7, *ParseKills("none"));
  EXPECT_EQ(plan.killed_house, 0);
  EXPECT_EQ(plan.crashed_lot, "");
}

TEST(RunPlanTest, ARunWithoutAnOfferIsRefused) {
  for (const char* kills : {"all", "house", "lot", "none"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(MakeRunPlan(Lots(2), {}, 7, *ParseKills(kills)).status())) << kills;
    EXPECT_TRUE(absl::IsInvalidArgument(MakeRunPlan({}, {}, 7, *ParseKills(kills)).status())) << kills;
  }
}

TEST(RunPlanTest, KillsThatCannotHappenAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakeRunPlan(Lots(2), Bids(1, 1), 7, *ParseKills("house")).status()));
}

TEST(RunPlanTest, KillsAreOneOfFourWords) {
  EXPECT_TRUE(ParseKills("all")->house);
  EXPECT_FALSE(ParseKills("lot")->house);
  EXPECT_FALSE(ParseKills("house")->lot);
  EXPECT_TRUE(absl::IsInvalidArgument(ParseKills("some").status()));
}

}  // namespace
}  // namespace auction
