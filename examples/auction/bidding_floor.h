// BiddingFloor: the clients' side of a run. It has a Bidder for each name in
// the bids, and hands out the offers: one lot's one after another, in file
// order, each when it is due; lots go on side by side.
//
// It counts what was acknowledged. `reached` is answered once that many offers
// were, `finished` once every offer is done with; both at once when it is so
// already. An abnormal exit, of a Bidder or from who sees that the service has
// ended for good, ends the bidding: both are answered with what was done.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_BIDDING_FLOOR_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_BIDDING_FLOOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/events.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/examples/auction/bidder.h"
#include "understudy/examples/auction/pace.h"
#include "understudy/examples/auction/run_plan.h"

namespace auction {

struct WhenReached {
  int64_t acknowledged = 0;
};
struct Reached {
  int64_t acknowledged = 0;
};

struct WhenFinished {};
struct FloorReport {
  std::vector<RecordedOffer> acknowledged;  // in the order of their acknowledgement
  std::vector<std::string> problems;        // an offer each that was given up
  int64_t repeated = 0;                     // answers to offers that the lot had already
  int64_t tries = 0;
  int64_t prices_seen = 0;  // by all bidders, as watchers
};

class BiddingFloor final : public understudy::Actor {
 public:
  BiddingFloor(std::shared_ptr<const RunPlan> plan, Pace pace) : plan_(std::move(plan)), pace_(pace) {}

  understudy::Mailbox<"done", TurnDone> done{this, {.capacity_messages = 100'000}};
  understudy::Mailbox<"reached", understudy::Call<WhenReached, Reached>> reached{this};
  understudy::Mailbox<"finished", understudy::Call<WhenFinished, FloorReport>> finished{this};

 private:
  understudy::StartResult Start() override;
  void TurnIsDone(const TurnDone& done_turn);
  void AnswerReached(const WhenReached& when, understudy::Replier<Reached> replier);
  void AnswerFinished(const WhenFinished& when, understudy::Replier<FloorReport> replier);

  // Hands out the lot's next offer, now or when it is due.
  void NextOffer(const std::string& lot);
  void HandOut(size_t offer);
  // Hands out what is due, and sets the timer for what comes next.
  void HandOutDue();
  void AnswerWaiting();
  void Exited(const understudy::ExitEvent& exit);
  bool IsOver() const { return open_ == 0 || ended_early_; }

  const std::shared_ptr<const RunPlan> plan_;
  const Pace pace_;
  std::map<std::string, understudy::Ref<Bidder>> bidders_;
  std::map<std::string, std::deque<size_t>> offers_of_;  // by lot: what is still to be handed out
  std::set<std::pair<absl::Time, size_t>> due_;
  size_t open_ = 0;  // offers not done with
  bool ended_early_ = false;
  FloorReport report_;
  std::vector<std::pair<int64_t, understudy::Replier<Reached>>> reached_waiting_;
  std::vector<understudy::Replier<FloorReport>> finished_waiting_;

  understudy::Behavior open_floor_{"open", On(done, &BiddingFloor::TurnIsDone),
                                   On(reached, &BiddingFloor::AnswerReached),
                                   On(finished, &BiddingFloor::AnswerFinished)};
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_BIDDING_FLOOR_H_
