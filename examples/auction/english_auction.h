// EnglishAuction: one lot, as an actor.
//
// Behaviours: `bidding` becomes `closed` at the lot's closing time, by a timer, so
// even if no message comes. Both judge an offer by its own time (auction_rules.h), so
// an offer that a crash delayed past the closing still counts. In this case the
// closing row is written again, in the same transaction as the offer.
//
// An offer is answered only after the ledger has recorded it. While the ledger cannot
// be reached, the lot asks again under the same offer id, and fails after kBookTries
// tries. Nothing is lost then, because a lot that starts loads its state from the
// ledger. Offers that come meanwhile wait. A repeated offer is recognised by its id
// and answered as before.
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

// The exception that a lot throws when LotSetup::crash_at_offer says so.
class InjectedCrash : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LotSetup {
  std::string lot;
  LotTerms terms;
  // The closing time on this machine.
  absl::Time closes_at;
  // The number of the offer, from 1, at which the lot crashes after recording the offer
  // and before answering it; 0 for never. The ledger then has the offer, so the lot
  // crashes only once.
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

  // Asks the book until it answers. Returns the last error after kBookTries tries.
  understudy::Task<absl::StatusOr<RecordReply>> Record(RecordRequest request);
  OfferResult ResultOf(const RecordedOffer& recorded) const;
  void Remember(const RecordedOffer& recorded);
  void TellWatchers();
  Closing ClosingNow() const;

  const understudy::Named<BookRef> book_;
  const LotSetup setup_;
  Offer best_;  // the highest accepted offer; its id is 0 if there is none
  int64_t offers_ = 0;
  bool is_closed_ = false;
  // The newest offer of each bidder. It is the only one that the bidder may repeat,
  // because a bidder waits for the answer before the next offer.
  std::map<std::string, RecordedOffer> newest_;
  std::vector<WatcherRef> watchers_;

  understudy::Behavior bidding_;
  understudy::Behavior closed_;
};

// The name under which a lot is published: "auction/lot-01".
std::string PublishedLot(const std::string& lot);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_ENGLISH_AUCTION_H_
