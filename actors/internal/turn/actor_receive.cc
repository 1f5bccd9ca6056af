// The process style: one coroutine that receives (semantics 3.8).
#include <algorithm>
#include <memory>
#include <utility>

#include "understudy/actors/check.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/exceptions.h"

namespace understudy::internal {

void ActorCore::BeginReceive(BehaviorPtr table, std::coroutine_handle<> waiter) {
  UNDERSTUDY_CHECK(start_.is_process(),
                   "Receive is for the process style, where Start returns the Task<> that receives; ",
                   self().ToString(), " has behaviours: Become one that names what it waits for");
  Activations& activations = rare().activations;
  UNDERSTUDY_CHECK(activations.BeginReceive(std::move(table), {.handle = waiter, .activation = current()}),
                   "a Receive of ", self().ToString(),
                   " waits already; only the handler of what it has taken may Receive meanwhile");
  if (start_.is_starting()) FinishStart();
  rare_->behaviors.BeginEpoch();
  if (has_postponed()) ReturnPostponed();
  EnterTimersOf(*activations.receive().table, &activations.receive().timeout_now);
}

// The first clause that takes the event, or null.
const EventEntry* ActorCore::ClauseFor(const BehaviorTable& table, const Event& event) {
  if (table.extra() == nullptr) return nullptr;
  for (const EventEntry& entry : table.extra()->events) {
    if (entry.type != event.payload.type()) continue;
    bool takes = entry.predicate == nullptr;
    if (!takes) {
      const std::exception_ptr thrown = CaughtInUserCode([&] { takes = entry.predicate(event.payload.value()); });
      if (is_fenced()) return nullptr;
      if (thrown != nullptr) SetExit(DescribeException(thrown), ExitCause::kOwn);
    }
    if (takes || has_exit()) return &entry;
  }
  return nullptr;
}

// Handles the first event with a stamp below `before` for which the Receive has a clause or the actor has a handler, or
// that ends the actor. Returns true if there was one. The Receive's own timeouts are not handled: `has_timeout` is set
// if one is due.
bool ActorCore::TakeEvents(BehaviorTable& table, uint64_t before, bool& has_timeout) {
  EventQueue& events = rare().events;
  for (auto place = events.begin(); place != events.end() && place->stamp < before;) {
    if (place->epoch != 0) {
      if (RunsOn(*place)) {
        place = events.Drop(place);
        continue;
      }
      has_timeout = has_timeout || !IsStale(*place);
      ++place;
      continue;
    }
    const EventEntry* clause = ClauseFor(table, *place);
    if (ends()) return true;
    const bool may_end_actor = place->kind == Event::Kind::kParentExit || place->kind == Event::Kind::kStopRequest;
    if (clause == nullptr && !may_end_actor && HandlerOf(*place) == nullptr) {
      ++place;
      continue;
    }
    Event taken = events.Take(place);
    std::shared_ptr<MessageHandler> handler = clause != nullptr ? clause->handler : HandlerOf(taken);
    RunEvent(std::move(taken), std::move(handler), /*ends_receive=*/clause != nullptr);
    return true;
  }
  return false;
}

// Handles an event that is older than all messages that the Receive takes, else one of these messages, else the
// Receive's timeout if it is due. Returns false if there was none of them.
bool ActorCore::ReceiveOne(BehaviorTable& table) {
  const Choices candidates = Candidates(table);
  if (ends()) return false;
  uint64_t earliest = UINT64_MAX;
  for (const Choice& candidate : candidates) earliest = std::min(earliest, candidate.envelope->stamp);
  bool has_timeout = false;
  if (TakeEvents(table, earliest, has_timeout)) return true;
  if (!candidates.empty()) {
    HandleMessage(table, ChooseByRank(table, candidates));
    return true;
  }
  ReceiveUnderWay& receive = rare().activations.receive();
  if (!has_timeout && receive.timeout_now == nullptr) return false;
  if (cell().HasInbound() && !std::exchange(receive.looks_again, true)) return false;  // at what has come; once
  TakeTimeout();
  return true;
}

void ActorCore::TakeTimeout() {
  Event timeout{.kind = Event::Kind::kTimer,
                .epoch = rare().behaviors.epoch(),
                .payload = Payload::Of(TimerEvent{}),
                .handler = rare().activations.receive().timeout_now};
  const auto fired = std::find_if(rare().events.begin(), rare().events.end(),
                                  [&](const Event& event) { return event.epoch != 0 && !IsStale(event); });
  if (fired != rare().events.end()) timeout.handler = fired->handler;
  std::shared_ptr<MessageHandler> handler = timeout.handler;
  RunEvent(std::move(timeout), std::move(handler), /*ends_receive=*/true);
}

// Called when the message or event that the Receive waited for is in hand: the Receive takes nothing more.
void ActorCore::BeginRound(Activation& activation) {
  ReceiveUnderWay& receive = rare().activations.receive();
  receive.is_taken = true;
  activation.Hold().behavior = receive.table;
  activation.ends_receive = true;
  activation.is_interleaved = false;  // nothing else is taken meanwhile
  if (rare_->timers != nullptr) rare_->timers->Leave();
  rare().behaviors.BeginEpoch();
  rare().events.RemoveBehaviorTimers();
}

}  // namespace understudy::internal
