// The process style: one coroutine that receives (semantics 3.8).
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "understudy/actors/check.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/exceptions.h"

namespace understudy::internal {

void ActorCore::BeginReceive(std::shared_ptr<BehaviorTable> table, std::coroutine_handle<> waiter) {
  UNDERSTUDY_CHECK(is_process_, "Receive is for the process style, where Start returns the Task<> that receives; ",
                   self_.ToString(), " has behaviours: Become one that names what it waits for");
  UNDERSTUDY_CHECK(receives_.empty() || receives_.back().is_taken, "a Receive of ", self_.ToString(),
                   " waits already; only the handler of what it has taken may Receive meanwhile");
  if (stage_ == Stage::kStarting) FinishStart();
  receives_.push_back({.table = std::move(table), .receiver = {.handle = waiter, .activation = current_}});
  ++epoch_;
  ReturnPostponed();
  AddBehaviorTimers(*receives_.back().table);
}

bool ActorCore::IsReceiver(const Activation& activation) const {
  return std::any_of(receives_.begin(), receives_.end(),
                     [&](const ReceiveUnderWay& receive) { return receive.receiver.activation == &activation; });
}

// The first clause that takes the event, or null.
const EventEntry* ActorCore::ClauseFor(const BehaviorTable& table, const Event& event) {
  for (const EventEntry& entry : table.events) {
    if (entry.type != event.payload.type()) continue;
    bool takes = entry.predicate == nullptr;
    if (!takes) {
      absl::optional<ExitReason> thrown = CatchExceptions([&] { takes = entry.predicate(event.payload.value()); });
      if (thrown) SetExit(*std::move(thrown), /*is_kill=*/false);
    }
    if (takes || exit_) return &entry;
  }
  return nullptr;
}

// Takes the first event that came before stamp `before` and does not wait. True
// when there was one. The Receive's own timeouts are only noted.
bool ActorCore::TakeEvents(BehaviorTable& table, uint64_t before, bool& has_timeout) {
  for (size_t i = 0; i < events_.size() && events_[i].stamp < before; ++i) {
    const Event& event = events_[i];
    if (event.epoch != 0) {
      has_timeout = has_timeout || !IsStale(event);
      continue;
    }
    const EventEntry* clause = ClauseFor(table, event);
    if (exit_) return true;
    const bool ends_actor =
        event.handler == nullptr && (event.kind == Event::Kind::kParentExit || event.kind == Event::Kind::kStopRequest);
    if (clause == nullptr && event.handler == nullptr && !ends_actor) continue;
    Event taken = std::move(events_[i]);
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
    std::shared_ptr<MessageHandler> handler = clause != nullptr ? clause->handler : taken.handler;
    RunEvent(std::move(taken), std::move(handler), /*ends_receive=*/clause != nullptr);
    return true;
  }
  return false;
}

// What waits is taken in the order of arrival; a timeout when nothing is there.
bool ActorCore::ReceiveOne(BehaviorTable& table) {
  const std::vector<Choice> candidates = Candidates(table);
  if (exit_) return false;
  uint64_t earliest = UINT64_MAX;
  for (const Choice& candidate : candidates) earliest = std::min(earliest, candidate.stamp);
  bool has_timeout = false;
  if (TakeEvents(table, earliest, has_timeout)) return true;
  if (!candidates.empty()) {
    HandleMessage(ChooseByRank(table, candidates));
    return true;
  }
  if (!has_timeout && receives_.back().timeout_now == nullptr) return false;
  TakeTimeout();
  return true;
}

void ActorCore::TakeTimeout() {
  Event timeout{.kind = Event::Kind::kTimer,
                .epoch = epoch_,
                .payload = Payload::Of(TimerEvent{}),
                .handler = receives_.back().timeout_now};
  const auto fired = std::find_if(events_.begin(), events_.end(),
                                  [&](const Event& event) { return event.epoch != 0 && !IsStale(event); });
  if (fired != events_.end()) timeout.handler = fired->handler;
  std::shared_ptr<MessageHandler> handler = timeout.handler;
  RunEvent(std::move(timeout), std::move(handler), /*ends_receive=*/true);
}

// What the Receive waited for is in hand: it takes nothing more.
void ActorCore::BeginRound(Activation& activation) {
  ReceiveUnderWay& receive = receives_.back();
  receive.is_taken = true;
  activation.behavior = receive.table;
  activation.ends_receive = true;
  activation.is_interleaved = false;  // nothing else is taken meanwhile
  RemoveBehaviorTimers();
  ++epoch_;
  const auto is_timeout = [](const Event& event) { return event.epoch != 0; };
  events_.erase(std::remove_if(events_.begin(), events_.end(), is_timeout), events_.end());
}

// It has been handled: the Receive is over.
void ActorCore::SettleRound(const Activation& activation) {
  if (!activation.ends_receive) return;
  resumable_.push_back(receives_.back().receiver);
  receives_.pop_back();
}

}  // namespace understudy::internal
