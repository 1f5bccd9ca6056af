#include "understudy/actors/internal/turn/actor_receive.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "understudy/actors/check.h"
#include "understudy/actors/internal/turn/actor_choice.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_due.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/in_user_code.h"

namespace understudy::internal {
namespace {

// The first clause that takes the event, or null.
const EventEntry* ClauseFor(ActorCore& core, const BehaviorTable& table, const Event& event) {
  if (table.extra() == nullptr) return nullptr;
  for (const EventEntry& entry : table.extra()->events) {
    if (entry.type != event.payload.type()) continue;
    bool takes = entry.predicate == nullptr;
    if (!takes) {
      const std::exception_ptr thrown = CaughtInUserCode([&] { takes = entry.predicate(event.payload.value()); });
      if (core.stage().is_fenced()) return nullptr;
      if (thrown != nullptr) core.SetExit(DescribeException(thrown), ExitCause::kOwn);
    }
    if (takes || core.stage().has_exit()) return &entry;
  }
  return nullptr;
}

// Handles the first event with a stamp below `before` for which the Receive has a clause or the actor has a handler, or
// that ends the actor. Returns true if there was one. The Receive's own timeouts are not handled: `has_timeout` is set
// if one is due.
bool TakeEvents(ActorCore& core, BehaviorTable& table, uint64_t before, bool& has_timeout) {
  EventQueue& events = core.parts().events();
  for (auto place = events.begin(); place != events.end() && place->stamp < before;) {
    if (place->epoch != 0) {
      if (RunsOn(core, *place)) {
        place = events.Drop(place);
        continue;
      }
      has_timeout = has_timeout || !IsStale(core, *place);
      ++place;
      continue;
    }
    const EventEntry* clause = ClauseFor(core, table, *place);
    if (core.stage().has_exit()) return true;
    const bool may_end_actor = place->kind == Event::Kind::kParentExit || place->kind == Event::Kind::kStopRequest;
    if (clause == nullptr && !may_end_actor && HandlerOf(core, *place) == nullptr) {
      ++place;
      continue;
    }
    Event taken = events.Take(place);
    std::shared_ptr<MessageHandler> handler = clause != nullptr ? clause->handler : HandlerOf(core, taken);
    core.RunEvent(std::move(taken), std::move(handler), /*ends_receive=*/clause != nullptr);
    return true;
  }
  return false;
}

void TakeTimeout(ActorCore& core) {
  Event timeout{.kind = Event::Kind::kTimer,
                .epoch = core.parts().behaviors().epoch(),
                .payload = Payload::Of(TimerEvent{}),
                .handler = core.parts().activations().receive().timeout_now};
  const auto fired = std::find_if(core.parts().events().begin(), core.parts().events().end(),
                                  [&](const Event& event) { return event.epoch != 0 && !IsStale(core, event); });
  if (fired != core.parts().events().end()) timeout.handler = fired->handler;
  std::shared_ptr<MessageHandler> handler = timeout.handler;
  core.RunEvent(std::move(timeout), std::move(handler), /*ends_receive=*/true);
}

}  // namespace

void BeginReceive(ActorCore& core, BehaviorPtr table, std::coroutine_handle<> waiter) {
  UNDERSTUDY_CHECK(core.stage().start().is_process(),
                   "Receive is for the process style, where Start returns the Task<> that receives; ",
                   core.self().ToString(), " has behaviours: Become one that names what it waits for");
  Activations& activations = core.parts().activations();
  UNDERSTUDY_CHECK(activations.BeginReceive(std::move(table), {.handle = waiter, .activation = core.current()}),
                   "a Receive of ", core.self().ToString(),
                   " waits already; only the handler of what it has taken may Receive meanwhile");
  if (core.stage().start().is_starting()) core.FinishStart();
  core.parts().behaviors().BeginEpoch();
  if (HasPostponed(core)) ReturnPostponed(core);
  EnterTimersOf(core, *activations.receive().table, &activations.receive().timeout_now);
}

bool ReceiveOne(ActorCore& core, BehaviorTable& table) {
  const MailChoice choice = Candidates(core, table);
  if (core.stage().has_exit()) return false;
  bool has_timeout = false;
  if (TakeEvents(core, table, choice.oldest(), has_timeout)) return true;
  if (!choice.empty()) {
    HandleMessage(core, table, choice.Choose(core.rank_turns()));
    return true;
  }
  ReceiveUnderWay& receive = core.parts().activations().receive();
  if (!has_timeout && receive.timeout_now == nullptr) return false;
  if (core.cell().HasInbound() && !std::exchange(receive.looks_again, true)) return false;  // at what has come; once
  TakeTimeout(core);
  return true;
}

void BeginRound(ActorCore& core, Activation& activation) {
  ReceiveUnderWay& receive = core.parts().activations().receive();
  receive.is_taken = true;
  activation.Hold().behavior = receive.table;
  activation.ends_receive = true;
  activation.is_interleaved = false;  // nothing else is taken meanwhile
  if (core.parts().known_timers() != nullptr) core.parts().known_timers()->Leave();
  core.parts().behaviors().BeginEpoch();
  core.parts().events().RemoveBehaviorTimers();
}

}  // namespace understudy::internal
