// Bidder: one client of the service, as an actor. It makes the offers that the
// BiddingFloor gives it, at many lots at a time, one at each.
//
// The bidder finds a lot by its published name, monitors and watches it. When the
// lot ends, the bidder looks it up again and repeats the unacknowledged offer under
// the same id. If an offer is not answered although its lot is alive, the bidder
// repeats it after a pause. After kTriesMax tries the bidder reports that it has given
// the offer up.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_BIDDER_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_BIDDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/named.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/task.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/run_plan.h"

namespace auction {

// Tells a bidder to make the offer with this index in RunPlan::offers.
struct Turn {
  size_t offer = 0;
};

// The result of a Turn.
struct TurnDone {
  size_t offer = 0;
  absl::Status status;  // not OK if the offer was given up, or the lot refused it as invalid
  Verdict verdict = VERDICT_UNSPECIFIED;
  bool repeated = false;  // the lot had recorded the offer already
  int tries = 0;
  int64_t prices_seen = 0;  // price changes that the bidder got as a watcher since its last TurnDone
};

class Bidder final : public WatcherActor {
 public:
  static constexpr int kTriesMax = 40;

  // `plan` is shared by all bidders.
  Bidder(std::shared_ptr<const RunPlan> plan, understudy::Channel<TurnDone> done);

  understudy::Mailbox<"turn", Turn> turn{this, {.capacity_messages = 100'000}};

 private:
  // The state of this bidder at one lot.
  struct Seat {
    std::string lot;
    absl::optional<AuctionRef> ref;
    understudy::MonitorHandle monitor;
    absl::optional<size_t> offer;  // not acknowledged yet
    int tries = 0;
    bool is_under_way = false;  // Try is running
    bool was_down = false;      // the lot has ended, and was not found again yet
  };

  understudy::StartResult Start() override { return bidding_; }
  // Tells the bidder to try again at this lot, after a Down or a pause.
  struct Again {
    std::string lot;
  };

  understudy::Task<> TakeTurn(Turn taken);
  understudy::Task<> TryAgain(Again again);
  understudy::Task<> Try(Seat& seat);
  // Sets seat.ref by a lookup unless it is set. Returns OK if it is set.
  understudy::Task<absl::Status> Find(Seat& seat);
  void SeePrice() { ++prices_seen_; }
  void LotDown(const understudy::Down& down);
  void TryNow(const std::string& lot);
  void TryLater(const std::string& lot);
  void Finish(Seat& seat, const absl::Status& status, const OfferResult& result);
  void Note(absl::string_view what, const Seat& seat, absl::string_view why);

  const std::shared_ptr<const RunPlan> plan_;
  const understudy::Channel<TurnDone> done_;
  const understudy::Named<ChronicleRef> chronicle_{"chronicle"};
  std::map<std::string, Seat> seats_;  // by lot; seats are never removed
  int64_t prices_seen_ = 0;

  understudy::Mailbox<"again", Again> again_{this, {.capacity_messages = 100'000}};
  // Interleaved, so that offers at other lots need not wait for a lot that is being restarted.
  understudy::Behavior bidding_{"bidding", On(turn, &Bidder::TakeTurn).Interleaved(),
                                On(again_, &Bidder::TryAgain).Interleaved(), On(price_changed, &Bidder::SeePrice)};
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_BIDDER_H_
