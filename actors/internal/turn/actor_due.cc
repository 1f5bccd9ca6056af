#include "understudy/actors/internal/turn/actor_due.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/optional.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_signals.h"

namespace understudy::internal {
namespace {

ActorTimers::Time ReadClocks(ActorCore& core) {
  return {.now = core.system().clock().Now(), .wall = core.system().clock().WallNow()};
}

}  // namespace

void Suspend(ActorCore& core, MonotonicTime end) {
  ActorParts& parts = core.parts();
  const bool was_suspended = parts.known_timers() != nullptr && parts.timers().is_suspended();
  const bool is_suspended = end > core.system().clock().Now();
  if (!was_suspended && !is_suspended) return;
  parts.timers().SetSuspension(is_suspended ? end : MonotonicTime::InfiniteFuture());
  if (was_suspended == is_suspended) return;
  for (size_t place = 0; place < core.layout().size(); ++place) {
    is_suspended ? parts.closed().Close(static_cast<int>(place)) : parts.closed().Reopen(static_cast<int>(place));
  }
}

void FireTimers(ActorCore& core) {
  ActorParts& parts = core.parts();
  parts.due().TimerFired();
  const ActorTimers::Time time = ReadClocks(core);
  ExpireAsks(core, time.now);
  if (parts.due().TakeExpiry(time.now)) ExpireOldestMessages(core);
  ActorTimers* const timers = parts.known_timers();
  if (timers == nullptr) return;
  if (timers->suspension_end() <= time.now) Suspend(core, time.now);
  while (absl::optional<Event> event = timers->NextDue(time, parts.behaviors().epoch(), parts.events())) {
    AddEvent(core, *std::move(event));
  }
}

bool RunsOn(ActorCore& core, const Event& event) {
  return event.at != absl::InfinitePast() &&
         core.parts().timers().RunsOn(event, core.parts().behaviors().epoch(), ReadClocks(core));
}

void ArmExecutor(ActorCore& core) {
  if (core.layout().has_expiring_calls()) WatchExpiry(core);
  ActorParts& parts = core.parts();
  if (parts.empty()) return;
  DueTimes& due = parts.due();
  MonotonicTime next = due.expiry();
  if (const ActorTimers* const timers = parts.known_timers(); timers != nullptr) next = std::min(next, timers->Next());
  if (AskTable* const asks = parts.known_asks(); asks != nullptr) next = std::min(next, asks->NextDeadline());
  if (!due.MustSetTimer(next)) return;
  SystemCore& system = core.system();
  if (const uint64_t earlier = due.TakeTimer(); earlier != 0) system.executor().Cancel(earlier);
  const auto post = [cell = &core.cell(), life = core.life(), system = &system] {
    PostOrDrop(*cell, *system, life, Envelope::Make(EnvelopeKind::kTick));
  };
  due.SetTimer(system.executor().RunAt(next, post), next);
}

void DisarmExecutor(ActorCore& core) {
  ActorParts& parts = core.parts();
  if (parts.empty()) return;
  Exits* const exits = parts.known_exits();
  const uint64_t parents = exits == nullptr ? 0 : exits->TakeParentsTimer();
  for (const uint64_t timer : {parts.due().TakeTimer(), parents, parts.spawn().TakeStartTimer()}) {
    if (timer != 0) core.system().executor().Cancel(timer);
  }
}

void EnterTimersOf(ActorCore& core, const BehaviorTable& table, std::shared_ptr<MessageHandler>* at_once) {
  if (table.extra() == nullptr || table.extra()->timers.empty()) return;
  core.parts().timers().Enter(table.extra()->timers, core.parts().behaviors().epoch(), ReadClocks(core), at_once);
}

bool IsStale(ActorCore& core, const Event& event) {
  return event.epoch != 0 && core.parts().known_timers()->IsStale(event, core.parts().behaviors().epoch());
}

}  // namespace understudy::internal
