#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/random.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/auction_rules.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"

namespace auction {
namespace {

using ::testing::ElementsAre;

constexpr LotTerms kTerms{.reserve_cents = 100, .increment_cents = 10, .closes_ms = 1000};

Verdict JudgeAt(int64_t best_cents, int64_t cents, int64_t time_ms = 0) {
  Offer offer;
  offer.set_cents(cents);
  offer.set_time_ms(time_ms);
  return Judge(kTerms, best_cents, offer);
}

TEST(AuctionRulesTest, TheFirstOfferMustReachTheReservePrice) {
  EXPECT_EQ(JudgeAt(0, 99), BELOW_RESERVE);
  EXPECT_EQ(JudgeAt(0, 100), ACCEPTED);
}

TEST(AuctionRulesTest, LaterOffersMustReachTheIncrement) {
  EXPECT_EQ(JudgeAt(100, 90), TOO_LOW);
  EXPECT_EQ(JudgeAt(100, 100), TOO_LOW);  // a tie: the earlier offer stands
  EXPECT_EQ(JudgeAt(100, 109), TOO_LOW);
  EXPECT_EQ(JudgeAt(100, 110), ACCEPTED);
}

TEST(AuctionRulesTest, AnOfferAtTheClosingTimeIsLateHoweverHigh) {
  EXPECT_EQ(JudgeAt(0, 500, 999), ACCEPTED);
  EXPECT_EQ(JudgeAt(0, 500, 1000), LATE);
  EXPECT_EQ(JudgeAt(100, 5, 1001), LATE);
}

TEST(OracleTest, TheTableFollowsTheLotsFile) {
  const absl::Time closes = absl::FromUnixMillis(1000);
  const std::vector<Lot> lots = {{"b", "B", 100, 10, closes}, {"a", "A", 100, 10, closes}, {"c", "C", 100, 10, closes}};
  const auto bid = [](int64_t ms, const char* bidder, const char* lot, int64_t cents) {
    return Bid{absl::FromUnixMillis(ms), bidder, lot, cents, 0};
  };
  const std::vector<Bid> bids = {bid(1, "anna", "a", 99),    bid(2, "bo", "a", 100),    bid(3, "cy", "a", 100),
                                 bid(4, "anna", "a", 109),   bid(1000, "bo", "a", 900), bid(999, "cy", "a", 110),
                                 bid(999, "anna", "b", 300), bid(5, "cy", "c", 99)};
  EXPECT_THAT(ExpectedResults(lots, bids),
              ElementsAre(LotResult{"b", "anna", 300}, LotResult{"a", "cy", 110}, LotResult{"c", "", 0}));
}

TEST(OracleTest, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(ResultsCsv({{"a", "de Vries, \"Bo\"", 12050}, {"b", "", 0}}),
            "lot,winner,amount\na,\"de Vries, \"\"Bo\"\"\",120.50\nb,,\n");
}

// The oracle and the rules were written separately, so they must agree on every input.
TEST(OracleTest, AgreesWithTheRulesOnRandomAuctions) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    understudy::Random random(seed);
    std::vector<Lot> lots;
    std::map<std::string, LotTerms> terms;
    for (int i = 0; i < 3; ++i) {
      Lot lot{absl::StrCat("lot-", i), "A lot", static_cast<int64_t>(1 + random.Below(20)),
              static_cast<int64_t>(1 + random.Below(5)), absl::FromUnixMillis(50)};
      terms[lot.id] = {lot.reserve_cents, lot.increment_cents, 50};
      lots.push_back(lot);
    }
    std::vector<Bid> bids;
    std::map<std::string, LotResult> judged;
    for (int i = 0; i < 60; ++i) {
      Bid bid{absl::FromUnixMillis(static_cast<int64_t>(random.Below(60))), absl::StrCat("bidder-", random.Below(4)),
              lots[random.Below(3)].id, static_cast<int64_t>(1 + random.Below(60)), i};
      bids.push_back(bid);
      Offer offer;
      offer.set_time_ms(absl::ToUnixMillis(bid.time));
      offer.set_cents(bid.cents);
      LotResult& best = judged[bid.lot];
      if (Judge(terms[bid.lot], best.cents, offer) == ACCEPTED) best = {bid.lot, bid.bidder, bid.cents};
    }
    std::vector<LotResult> expected;
    for (const Lot& lot : lots) expected.push_back({lot.id, judged[lot.id].winner, judged[lot.id].cents});
    EXPECT_EQ(ExpectedResults(lots, bids), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace auction
