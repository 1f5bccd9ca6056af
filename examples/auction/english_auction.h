// EnglishAuction: one lot, as an actor.
//
// Behaviours: `bidding` becomes `closed` at the lot's closing time, by a timer,
// in silence too. Both judge an offer by its own time (auction_rules.h), so an
// offer that a crash delayed past the closing still counts; then the closing
// row is written again, in the same transaction as the offer.
//
// An offer is answered only after the ledger has it. When the ledger cannot be
// reached, the lot asks again under the same offer id, and fails in the end: a
// lot that starts loads what the ledger knows, so nothing is lost by failing.
// Offers that come while it recovers wait. A repeated offer is recognised by
// its id and answered as before.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_ENGLISH_AUCTION_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_ENGLISH_AUCTION_H_

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/named.h"
#include "understudy/actors/task.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/auction_rules.h"

namespace auction {

// What the crash of a rehearsed failure throws.
class InjectedCrash : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LotSetup {
  std::string lot;
  LotTerms terms;
  // The closing time on this machine.
  absl::Time closes_at;
  // Crash in the handler of this many-th offer, between writing and answering
  // it; 0 for never. The ledger knows the offer then, so it happens once.
  int64_t crash_at_offer = 0;
};

class EnglishAuction final : public AuctionActor {
 public:
  EnglishAuction(understudy::Named<BookRef> book, LotSetup setup);

 private:
  understudy::StartResult Start() override { return Recover(); }
  understudy::Task<understudy::StartResult> Recover();

  understudy::Task<absl::StatusOr<OfferResult>> Bid(Offer offer);
  AuctionStatus Report(const InquireRequest& request);
  absl::Status AddWatcher(const WatchRequest& request);
  bool HasRoom() const;
  understudy::Task<absl::StatusOr<understudy::Behavior>> CloseBidding();

  // Asks the book until it answers; the error after the last try.
  understudy::Task<absl::StatusOr<RecordReply>> Record(RecordRequest request);
  OfferResult ResultOf(const RecordedOffer& recorded) const;
  void Remember(const RecordedOffer& recorded);
  void TellWatchers();
  Closing ClosingNow() const;

  const understudy::Named<BookRef> book_;
  const LotSetup setup_;
  Offer best_;  // the highest accepted one; no id when there is none
  int64_t offers_ = 0;
  bool is_closed_ = false;
  // Of each bidder the newest offer: a bidder has one at a time under way.
  std::map<std::string, RecordedOffer> newest_;
  std::vector<WatcherRef> watchers_;

  understudy::Behavior bidding_;
  understudy::Behavior closed_;
};

// "auction/lot-01": where a lot is published.
std::string PublishedLot(const std::string& lot);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_ENGLISH_AUCTION_H_
