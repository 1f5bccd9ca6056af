// Actors of services whose classes and refs are written by hand: mailboxes that only the ref can name, a ref with a
// channel for each, and a Start that recovers.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

struct LoadRequest {};
struct BestOffer {
  int64_t cents = 0;
};
struct Offer {
  int64_t cents = 0;
};
struct OfferResult {
  bool accepted = false;
};
struct InquireRequest {};
struct AuctionStatus {
  int64_t best = 0;
  size_t watchers = 0;
};
struct WatchRequest {};

class BookRef;

class BookActor : public Actor {
 public:
  using Ref = BookRef;
  static constexpr std::string_view kService = "auction.Book";

 protected:
  Mailbox<"Load", Call<LoadRequest, BestOffer>> load{this};
  friend class BookRef;
};

class BookRef : public Ref<BookActor> {
 public:
  using Ref<BookActor>::Ref;
  Channel<Call<LoadRequest, BestOffer>> load() const { return (*this)[&BookActor::load]; }
  static std::vector<MailboxSignature> Mailboxes() { return {SignatureOf(&BookActor::load)}; }
};

class AuctionRef;

class AuctionActor : public Actor {
 public:
  using Ref = AuctionRef;
  static constexpr std::string_view kService = "auction.Auction";

 protected:
  Mailbox<"MakeOffer", Call<Offer, OfferResult>> make_offer{this};
  Mailbox<"Inquire", Call<InquireRequest, AuctionStatus>> inquire{this};
  Mailbox<"Watch", WatchRequest> watch{this, {.capacity_messages = 100}};
  friend class AuctionRef;
};

class AuctionRef : public Ref<AuctionActor> {
 public:
  using Ref<AuctionActor>::Ref;
  Channel<Call<Offer, OfferResult>> make_offer() const { return (*this)[&AuctionActor::make_offer]; }
  Channel<Call<InquireRequest, AuctionStatus>> inquire() const { return (*this)[&AuctionActor::inquire]; }
  Channel<WatchRequest> watch() const { return (*this)[&AuctionActor::watch]; }
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&AuctionActor::make_offer), SignatureOf(&AuctionActor::inquire),
            SignatureOf(&AuctionActor::watch)};
  }
};

class Book final : public BookActor {
 public:
  explicit Book(int64_t best) : best_(best) {}
  StartResult Start() override { return open_; }

 private:
  absl::StatusOr<BestOffer> Load(const LoadRequest&) {
    if (best_ < 0) return absl::DataLossError("the book is torn");
    return BestOffer{best_};
  }
  int64_t best_;
  Behavior open_{"open", On(load, &Book::Load)};
};

class EnglishAuction final : public AuctionActor {
 public:
  EnglishAuction(Named<BookRef> book, absl::Time closes) : book_(std::move(book)), closes_(closes) {}
  StartResult Start() override { return Recover(); }

 private:
  Task<StartResult> Recover() {  // offers wait meanwhile
    auto asked = book_->load().Ask({}, absl::Seconds(5));
    auto best = co_await asked;
    if (!best.ok()) co_return best.status();
    best_ = best->cents;
    co_return bidding_;
  }
  Task<absl::StatusOr<OfferResult>> Bid(Offer offer) {
    if (offer.cents <= 0) co_return absl::InvalidArgumentError("not an offer");
    const bool accepted = offer.cents > best_;
    if (accepted) best_ = offer.cents;
    co_return OfferResult{accepted};
  }
  absl::StatusOr<AuctionStatus> Report(const InquireRequest&) { return AuctionStatus{best_, watchers_}; }
  void AddWatcher(const WatchRequest&) { ++watchers_; }
  bool HasRoom() const { return watchers_ < 2; }
  void CloseBidding() { Become(closed_); }

  Named<BookRef> book_;
  absl::Time closes_;
  int64_t best_ = 0;
  size_t watchers_ = 0;
  Behavior bidding_{"bidding", On(make_offer, &EnglishAuction::Bid), On(inquire, &EnglishAuction::Report),
                    On(watch, &EnglishAuction::AddWatcher).When(&EnglishAuction::HasRoom),
                    At(closes_, &EnglishAuction::CloseBidding)};
  Behavior closed_{"closed", Refuse(make_offer, absl::FailedPreconditionError("closed")),
                   On(inquire, &EnglishAuction::Report), Drop(watch)};
};

// Spawns a lot and offers to it before its first turn.
class Opener final : public Actor {
 public:
  explicit Opener(absl::Status* told) : told_(*told) {}
  StartResult Start() override { return Offer(); }

 private:
  Task<> Offer() {
    const AuctionRef lot = context().Spawn<EnglishAuction>(SpawnOptions{.link = SpawnLink::kUnlinked},
                                                           Named<BookRef>{"book"}, absl::InfiniteFuture());
    const auto asked = lot.make_offer().Ask({1}, absl::Seconds(1));
    const absl::StatusOr<OfferResult> answer = co_await asked;
    told_ = answer.status();
  }
  absl::Status& told_;
};

class ServiceFormTest : public ActorTest {
 protected:
  absl::Status OfferToANewLot() {
    absl::Status told;
    system().Spawn<Opener>(&told);
    system().Advance(absl::Minutes(1));
    return told;
  }
  AuctionRef NewLot() {
    return system().Spawn<EnglishAuction>(Named<BookRef>{"book"}, system().WallNow() + absl::Minutes(1));
  }
};

TEST_F(ServiceFormTest, OffersWaitWhileTheLotRecoversAndAreJudgedByWhatItFound) {
  system().Spawn<Book>(SpawnOptions{.registered_as = "book"}, 500);
  system().RunUntilIdle();
  const AuctionRef lot = NewLot();
  const absl::StatusOr<OfferResult> low = system().Ask(lot.make_offer(), {400}, absl::Seconds(1));
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_FALSE(low->accepted);
  EXPECT_TRUE(system().Ask(lot.make_offer(), {600}, absl::Seconds(1))->accepted);
  EXPECT_EQ(system().Ask(lot.inquire(), {}, absl::Seconds(1))->best, 600);
}

TEST_F(ServiceFormTest, AStartThatCannotRecoverSaysWhy) {
  system().Spawn<Book>(SpawnOptions{.registered_as = "book"}, -1);
  system().RunUntilIdle();
  const absl::Status torn = OfferToANewLot();
  EXPECT_TRUE(IsCalleeExited(torn)) << torn;
  EXPECT_THAT(std::string(torn.message()), HasSubstr("the book is torn"));
}

TEST_F(ServiceFormTest, WithoutABookTheStartFailsWithNoName) {
  const absl::Status alone = OfferToANewLot();
  EXPECT_THAT(std::string(alone.message()), HasSubstr("NoName"));
}

TEST_F(ServiceFormTest, AtItsTimeTheLotIsClosedInSilenceAndOffersAreRefused) {
  system().Spawn<Book>(SpawnOptions{.registered_as = "book"}, 0);
  system().RunUntilIdle();
  const AuctionRef lot = NewLot();
  for (int i = 0; i < 5; ++i) lot.watch().Tell({});
  EXPECT_EQ(system().Ask(lot.inquire(), {}, absl::Seconds(1))->watchers, 2U);  // the others wait at the guard
  system().Advance(absl::Minutes(1));
  EXPECT_EQ(system().Ask(lot.make_offer(), {1}, absl::Seconds(1)).status(), absl::FailedPreconditionError("closed"));
  EXPECT_EQ(system().Ask(lot.inquire(), {}, absl::Seconds(1))->watchers, 2U);
  system().RunUntilIdle();
  EXPECT_EQ(system().Ledger().of(Disposition::kDropped), 3);
}

}  // namespace
}  // namespace understudy
