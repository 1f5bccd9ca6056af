#include "understudy/examples/auction/english_auction.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/test_system.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/ledger_store.h"
#include "understudy/examples/auction/sqlite_book.h"
#include "understudy/examples/auction/temp_folder.h"
#include "understudy/transport/ref_proto.h"

namespace auction {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Offer MakeOffer(uint64_t id, const std::string& bidder, int64_t cents, int64_t time_ms = 0) {
  Offer offer;
  offer.set_offer_id(id);
  offer.set_lot("lamp");
  offer.set_bidder(bidder);
  offer.set_cents(cents);
  offer.set_time_ms(time_ms);
  return offer;
}

// Makes one offer when it is spawned, and keeps the answer.
class Asker final : public understudy::Actor {
 public:
  using Answer = absl::optional<absl::StatusOr<OfferResult>>;
  Asker(AuctionRef lot, Offer offer, Answer* answer) : lot_(lot), offer_(std::move(offer)), answer_(answer) {}

 private:
  understudy::StartResult Start() override { return Ask(); }
  understudy::Task<> Ask() {
    auto asked = lot_.make_offer().Ask(offer_, absl::Hours(1));
    *answer_ = co_await asked;
  }

  const AuctionRef lot_;
  const Offer offer_;
  Answer* const answer_;
};

class PriceReader final : public WatcherActor {
 public:
  explicit PriceReader(std::vector<int64_t>* prices) : prices_(prices) {}

 private:
  understudy::StartResult Start() override { return reading_; }
  void Read(const PriceChange& change) { prices_->push_back(change.cents()); }

  std::vector<int64_t>* const prices_;
  understudy::Behavior reading_{"reading", On(price_changed, &PriceReader::Read)};
};

// The tests have one lot, "lamp", with reserve 100 and increment 10. It closes at 1,000 ms of the files' time, which is
// an hour after the start of the test.
class EnglishAuctionTest : public ::testing::Test {
 protected:
  void SpawnBook() {
    book_ = system_.Spawn<SqliteBook>(understudy::SpawnOptions{.published_as = "book"}, ledger_path_);
  }
  AuctionRef SpawnLot(int64_t crash_at_offer = 0) {
    LotSetup setup{.lot = "lamp",
                   .terms = {.reserve_cents = 100, .increment_cents = 10, .closes_ms = 1000},
                   .closes_at = opened_ + absl::Hours(1),
                   .crash_at_offer = crash_at_offer};
    return system_.Spawn<EnglishAuction>(understudy::Named<BookRef>("book"), setup);
  }
  absl::StatusOr<OfferResult> Ask(const AuctionRef& lot, const Offer& offer) {
    return system_.Ask(lot.make_offer(), offer, absl::Minutes(5));
  }
  AuctionStatus Inquire(const AuctionRef& lot) {
    absl::StatusOr<AuctionStatus> status = system_.Ask(lot.inquire(), InquireRequest(), absl::Minutes(5));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? *status : AuctionStatus();
  }
  std::vector<Closing> LedgerClosings() { return *(*LedgerStore::Open(ledger_path_))->Closings(); }
  std::vector<RecordedOffer> LedgerOffers() { return *(*LedgerStore::Open(ledger_path_))->Offers(); }

  TempFolder folder_ = *TempFolder::Make("lot-test");
  const std::string ledger_path_ = folder_.File("ledger.db");
  understudy::TestSystem system_{1};
  const absl::Time opened_ = system_.WallNow();
  BookRef book_;
};

TEST_F(EnglishAuctionTest, OffersAreJudgedAndInTheLedgerWhenTheyAreAnswered) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  EXPECT_EQ(Ask(lot, MakeOffer(1, "anna", 99))->verdict(), BELOW_RESERVE);
  EXPECT_EQ(Ask(lot, MakeOffer(2, "anna", 100))->verdict(), ACCEPTED);
  absl::StatusOr<OfferResult> low = Ask(lot, MakeOffer(3, "bo", 105));
  EXPECT_EQ(low->verdict(), TOO_LOW);
  EXPECT_EQ(low->best_cents(), 100);
  EXPECT_EQ(Ask(lot, MakeOffer(4, "bo", 900, 1000))->verdict(), LATE);
  EXPECT_THAT(LedgerOffers(), SizeIs(4));
  const AuctionStatus status = Inquire(lot);
  EXPECT_EQ(status.best_bidder(), "anna");
  EXPECT_EQ(status.offers(), 4);
  EXPECT_FALSE(status.closed());
}

TEST_F(EnglishAuctionTest, ARepeatedOfferIsAnsweredAsBefore) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  absl::StatusOr<OfferResult> again = Ask(lot, MakeOffer(1, "anna", 100));
  EXPECT_EQ(again->verdict(), ACCEPTED);
  EXPECT_TRUE(again->repeated());
  EXPECT_EQ(Inquire(lot).offers(), 1);
  EXPECT_THAT(LedgerOffers(), SizeIs(1));
}

TEST_F(EnglishAuctionTest, AnOlderOfferThatIsRepeatedIsRecognisedByTheLedger) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  ASSERT_TRUE(Ask(lot, MakeOffer(2, "anna", 120)).ok());
  absl::StatusOr<OfferResult> again = Ask(lot, MakeOffer(1, "anna", 100));
  EXPECT_EQ(again->verdict(), ACCEPTED);
  EXPECT_TRUE(again->repeated());
  EXPECT_EQ(Inquire(lot).best_cents(), 120);
  EXPECT_EQ(Inquire(lot).offers(), 2);
}

TEST_F(EnglishAuctionTest, AnOfferForAnotherLotIsRefusedAndNamed) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  Offer offer = MakeOffer(1, "anna", 100);
  offer.set_lot("clock");
  absl::StatusOr<OfferResult> refused = Ask(lot, offer);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'clock'"));
  EXPECT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
}

TEST_F(EnglishAuctionTest, OffersThatComeWhileItRecoversWait) {
  const AuctionRef lot = SpawnLot();
  Asker::Answer answer;
  system_.Spawn<Asker>(lot, MakeOffer(1, "anna", 100), &answer);
  system_.RunUntilIdle();
  EXPECT_FALSE(answer.has_value());
  SpawnBook();
  system_.RunUntilIdle();
  ASSERT_TRUE(answer.has_value());
  ASSERT_TRUE(answer->ok()) << answer->status();
  EXPECT_EQ((*answer)->verdict(), ACCEPTED);
}

TEST_F(EnglishAuctionTest, ItClosesByItsTimerInSilence) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  system_.Advance(absl::Minutes(59));
  EXPECT_THAT(LedgerClosings(), SizeIs(0));
  system_.Advance(absl::Minutes(2));
  ASSERT_THAT(LedgerClosings(), SizeIs(1));
  EXPECT_EQ(LedgerClosings()[0].winner(), "anna");
  EXPECT_TRUE(Inquire(lot).closed());
}

TEST_F(EnglishAuctionTest, AClosedLotJudgesByTheOffersTimeAndWritesItsClosingAgain) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  system_.Advance(absl::Hours(2));
  EXPECT_EQ(Ask(lot, MakeOffer(1, "anna", 100, 1000))->verdict(), LATE);
  EXPECT_EQ(LedgerClosings()[0].winner(), "");
  EXPECT_EQ(Ask(lot, MakeOffer(2, "bo", 150, 999))->verdict(), ACCEPTED);
  ASSERT_THAT(LedgerClosings(), SizeIs(1));
  EXPECT_EQ(LedgerClosings()[0].winner(), "bo");
  EXPECT_EQ(LedgerClosings()[0].cents(), 150);
}

TEST_F(EnglishAuctionTest, AnotherLifeGoesOnWhereThisOneLeftOff) {
  SpawnBook();
  const AuctionRef first = SpawnLot();
  ASSERT_TRUE(Ask(first, MakeOffer(1, "anna", 100)).ok());
  system_.Kill(first.pid());
  system_.RunUntilIdle();
  const AuctionRef second = SpawnLot();
  EXPECT_EQ(Ask(second, MakeOffer(2, "bo", 105))->verdict(), TOO_LOW);
  EXPECT_TRUE(Ask(second, MakeOffer(1, "anna", 100))->repeated());
  EXPECT_EQ(Inquire(second).offers(), 2);
  system_.Advance(absl::Hours(2));
  system_.Kill(second.pid());
  system_.RunUntilIdle();
  EXPECT_TRUE(Inquire(SpawnLot()).closed());
  EXPECT_THAT(LedgerClosings(), SizeIs(1));
}

TEST_F(EnglishAuctionTest, AnInjectedCrashComesBetweenWritingAndAnswering) {
  SpawnBook();
  const AuctionRef lot = SpawnLot(/*crash_at_offer=*/2);
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  absl::StatusOr<OfferResult> crashed = Ask(lot, MakeOffer(2, "bo", 110));
  EXPECT_TRUE(understudy::IsCalleeExited(crashed.status())) << crashed.status();
  const auto reason = understudy::ExitReasonOf(crashed.status());
  ASSERT_TRUE(reason.has_value());
  EXPECT_THAT(reason->ToString(), HasSubstr("InjectedCrash"));
  EXPECT_THAT(LedgerOffers(), SizeIs(2));
  absl::StatusOr<OfferResult> again = Ask(SpawnLot(/*crash_at_offer=*/2), MakeOffer(2, "bo", 110));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->verdict(), ACCEPTED);
  EXPECT_TRUE(again->repeated());
}

TEST_F(EnglishAuctionTest, WithoutABookItFailsAndSaysWhy) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  system_.Kill(book_.pid());
  system_.RunUntilIdle();
  absl::StatusOr<OfferResult> failed = Ask(lot, MakeOffer(2, "bo", 110));
  const auto reason = understudy::ExitReasonOf(failed.status());
  ASSERT_TRUE(reason.has_value()) << failed.status();
  EXPECT_EQ(reason->kind(), understudy::ExitReason::Kind::kFailed);
  EXPECT_THAT(reason->ToString(), HasSubstr("writing to the book"));
}

TEST_F(EnglishAuctionTest, ItBearsABookThatIsRestarted) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  system_.Kill(book_.pid());
  system_.RunUntilIdle();
  Asker::Answer answer;
  system_.Spawn<Asker>(lot, MakeOffer(2, "bo", 110), &answer);
  system_.RunUntilIdle();
  EXPECT_FALSE(answer.has_value());
  SpawnBook();
  system_.Advance(absl::Seconds(20));
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->ok()) << answer->status();
}

TEST_F(EnglishAuctionTest, WatchersHearOfAcceptedOffersUntilItCloses) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  std::vector<int64_t> prices;
  const auto watcher = system_.Spawn<PriceReader>(&prices);
  system_.RunUntilIdle();
  WatchRequest request;
  *request.mutable_watcher() = understudy::ToProto(watcher);
  lot.watch().Tell(request);
  ASSERT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
  ASSERT_TRUE(Ask(lot, MakeOffer(2, "bo", 101)).ok());
  ASSERT_TRUE(Ask(lot, MakeOffer(3, "bo", 110)).ok());
  system_.RunUntilIdle();
  EXPECT_THAT(prices, ElementsAre(100, 110));
  system_.Advance(absl::Hours(2));
  lot.watch().Tell(request);
  system_.RunUntilIdle();
  EXPECT_GE(system_.Ledger().of(understudy::Disposition::kDropped), 1);
}

TEST_F(EnglishAuctionTest, AWatchRequestThatNamesNobodyIsRejected) {
  SpawnBook();
  const AuctionRef lot = SpawnLot();
  WatchRequest request;
  request.mutable_watcher()->set_node("Not a label!");
  request.mutable_watcher()->set_incarnation(1);
  lot.watch().Tell(request);
  system_.RunUntilIdle();
  EXPECT_EQ(system_.Ledger().of(understudy::Disposition::kRejected), 1);
  EXPECT_TRUE(Ask(lot, MakeOffer(1, "anna", 100)).ok());
}

}  // namespace
}  // namespace auction
