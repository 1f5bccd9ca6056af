// Bidder: one client of the service, as an actor. It makes the offers that the
// floor hands it, at many lots at a time, one at each.
//
// It finds a lot by its published name, monitors and watches it. When the lot
// goes down, the bidder looks it up again and repeats the unacknowledged offer
// under the same id. An offer that is not answered although its lot lives is
// repeated after a while; after kTriesMax tries the bidder gives it up and says
// so.
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

// "Make this offer": an index of RunPlan::offers.
struct Turn {
  size_t offer = 0;
};

// What became of it.
struct TurnDone {
  size_t offer = 0;
  absl::Status status;  // not OK: given up, or refused as no offer at all
  Verdict verdict = VERDICT_UNSPECIFIED;
  bool repeated = false;  // the lot had it already
  int tries = 0;
  int64_t prices_seen = 0;  // as a watcher, since the last time
};

class Bidder final : public WatcherActor {
 public:
  static constexpr int kTriesMax = 40;

  // The plan is shared by all, and never changes.
  Bidder(std::shared_ptr<const RunPlan> plan, understudy::Channel<TurnDone> done);

  understudy::Mailbox<"turn", Turn> turn{this, {.capacity_messages = 100'000}};

 private:
  // What is between this bidder and one lot.
  struct Seat {
    std::string lot;
    absl::optional<AuctionRef> ref;
    understudy::MonitorHandle monitor;
    absl::optional<size_t> offer;  // not acknowledged yet
    int tries = 0;
    bool is_under_way = false;  // a try runs
    bool was_down = false;
  };

  understudy::StartResult Start() override { return bidding_; }
  // "Try again at this lot": after a Down, or after a pause.
  struct Again {
    std::string lot;
  };

  understudy::Task<> TakeTurn(Turn taken);
  understudy::Task<> TryAgain(Again again);
  understudy::Task<> Try(Seat& seat);
  // OK when seat.ref is there.
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
  // Interleaved: a lot that is being restarted keeps no other lot waiting.
  understudy::Behavior bidding_{"bidding", On(turn, &Bidder::TakeTurn).Interleaved(),
                                On(again_, &Bidder::TryAgain).Interleaved(), On(price_changed, &Bidder::SeePrice)};
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_BIDDER_H_
