#include "understudy/examples/auction/bidding_floor.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/context.h"

namespace auction {

understudy::StartResult BiddingFloor::Start() {
  context().TrapExits(&BiddingFloor::Exited);
  const understudy::Channel<TurnDone> mine = context().ChannelTo(done);
  for (size_t i = 0; i < plan_->offers.size(); ++i) {
    const Offer& offer = plan_->offers[i];
    offers_of_[offer.lot()].push_back(i);
    if (bidders_.find(offer.bidder()) == bidders_.end()) {
      bidders_[offer.bidder()] = understudy::Ref<Bidder>(context().Spawn<Bidder>(plan_, mine).pid());
    }
  }
  open_ = plan_->offers.size();
  for (const auto& [lot, offers] : offers_of_) NextOffer(lot);
  HandOutDue();
  return open_floor_;
}

void BiddingFloor::NextOffer(const std::string& lot) {
  std::deque<size_t>& offers = offers_of_[lot];
  if (offers.empty()) return;
  const size_t next = offers.front();
  offers.pop_front();
  if (!pace_.bidders_wait) {
    HandOut(next);
  } else {
    due_.emplace(pace_.WallTime(absl::FromUnixMillis(plan_->offers[next].time_ms())), next);
  }
}

void BiddingFloor::HandOut(size_t offer) { bidders_[plan_->offers[offer].bidder()][&Bidder::turn].Tell(Turn{offer}); }

void BiddingFloor::HandOutDue() {
  const absl::Time now = context().WallNow();
  while (!due_.empty() && due_.begin()->first <= now) {
    HandOut(due_.begin()->second);
    due_.erase(due_.begin());
  }
  if (due_.empty()) return;
  absl::Status started = context().StartTimer("due", due_.begin()->first - now, &BiddingFloor::HandOutDue);
  if (!started.ok()) Fail(started);
}

void BiddingFloor::TurnIsDone(const TurnDone& done_turn) {
  const Offer& offer = plan_->offers[done_turn.offer];
  report_.tries += done_turn.tries;
  report_.prices_seen += done_turn.prices_seen;
  if (done_turn.status.ok()) {
    RecordedOffer& acknowledged = report_.acknowledged.emplace_back();
    *acknowledged.mutable_offer() = offer;
    acknowledged.set_verdict(done_turn.verdict);
    report_.repeated += done_turn.repeated ? 1 : 0;
  } else {
    report_.problems.push_back(absl::StrCat("offer ", offer.offer_id(), " of ", offer.bidder(), " for ", offer.lot(),
                                            ": ", done_turn.status.ToString()));
  }
  --open_;
  NextOffer(offer.lot());
  HandOutDue();
  AnswerWaiting();
}

void BiddingFloor::AnswerReached(const WhenReached& when, understudy::Replier<Reached> replier) {
  reached_waiting_.emplace_back(when.acknowledged, std::move(replier));
  AnswerWaiting();
}

void BiddingFloor::AnswerFinished(const WhenFinished&, understudy::Replier<FloorReport> replier) {
  finished_waiting_.push_back(std::move(replier));
  AnswerWaiting();
}

void BiddingFloor::AnswerWaiting() {
  const auto acknowledged = static_cast<int64_t>(report_.acknowledged.size());
  for (auto it = reached_waiting_.begin(); it != reached_waiting_.end();) {
    if (acknowledged < it->first && !IsOver()) {
      ++it;
      continue;
    }
    it->second.Reply(Reached{acknowledged});
    it = reached_waiting_.erase(it);
  }
  if (!IsOver()) return;
  for (understudy::Replier<FloorReport>& replier : finished_waiting_) replier.Reply(report_);
  finished_waiting_.clear();
}

void BiddingFloor::Exited(const understudy::ExitEvent& exit) {
  if (!exit.reason.is_abnormal()) return;
  report_.problems.push_back(absl::StrCat("the bidding ended early: ", exit.reason.ToString()));
  ended_early_ = true;
  AnswerWaiting();
}

}  // namespace auction
