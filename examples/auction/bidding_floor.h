// BiddingFloor: the clients' side of a run. It spawns a Bidder for each name in the
// bids, and gives the bidders their offers when they are due. The offers for one lot are
// made one after another, in file order; different lots do not wait for each other.
//
// The floor counts acknowledged offers. It answers `reached` when that many offers
// are acknowledged, and `finished` when every offer is acknowledged or given up; both
// immediately if this is so already. An abnormal exit ends the bidding early, whether
// a Bidder has crashed or RootWatch reports that the service has ended. Both calls are
// then answered with the results so far.
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
  std::vector<std::string> problems;        // one for each offer that was given up, and for an early end
  int64_t repeated = 0;                     // offers that the lot had recorded already
  int64_t tries = 0;
  int64_t prices_seen = 0;  // price changes that all bidders got as watchers
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

  // Gives the lot's next offer to its bidder, now or when it is due.
  void NextOffer(const std::string& lot);
  void HandOut(size_t offer);
  // Gives all offers that are due to their bidders, and sets the timer for the next one.
  void HandOutDue();
  void AnswerWaiting();
  void Exited(const understudy::ExitEvent& exit);
  bool IsOver() const { return open_ == 0 || ended_early_; }

  const std::shared_ptr<const RunPlan> plan_;
  const Pace pace_;
  std::map<std::string, understudy::Ref<Bidder>> bidders_;
  std::map<std::string, std::deque<size_t>> offers_of_;  // by lot: the offers that are not in due_ or given out yet
  std::set<std::pair<absl::Time, size_t>> due_;          // when to give out each lot's next offer
  size_t open_ = 0;                                      // offers without a TurnDone
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
