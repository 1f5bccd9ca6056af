// An actor's timers: one queue of its own, and at most one timer of the
// executor for the earliest of them; and what ends it whatever its handler does.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

// In whole nanoseconds, as a MonotonicTime is; zero when it has passed.
absl::Duration Until(absl::Time wall, Clock& clock) {
  return std::max(absl::Ceil(wall - clock.WallNow(), absl::Nanoseconds(1)), absl::ZeroDuration());
}

}  // namespace

uint64_t ActorCore::AddTimer(MonotonicTime time, Timer timer) { return rare().timers.Add(time, std::move(timer)); }

// Before the actor goes idle: the executor calls when the earliest is due.
void ActorCore::ArmExecutor() {
  if (rare_ == nullptr) return;
  MonotonicTime next = rare().timers.Next();
  if (asks() != nullptr) next = std::min(next, asks()->NextDeadline());
  if (next.is_infinite() || next >= rare().executor_time) return;
  if (rare().executor_timer != 0) system().executor().Cancel(rare().executor_timer);
  rare().executor_time = next;
  rare().executor_timer = system().executor().RunAt(next, [cell = &cell(), life = life(), core = &system()] {
    PostOrDrop(*cell, *core, life, Envelope::Make(EnvelopeKind::kTick));
  });
}

// At the end of the life: nothing comes for it any more.
void ActorCore::DisarmExecutor() {
  if (rare_ == nullptr) return;
  for (uint64_t* const timer : {&rare_->executor_timer, &rare_->parent_exit_timer, &rare_->start_timer}) {
    if (*timer != 0) system().executor().Cancel(std::exchange(*timer, 0));
  }
}

void ActorCore::FireTimers() {
  rare().executor_timer = 0;
  rare().executor_time = MonotonicTime::InfiniteFuture();
  const MonotonicTime now = system().clock().Now();
  ExpireAsks(now);
  while (absl::optional<Timer> timer = rare().timers.PopDue(now)) {
    switch (timer->kind) {
      case Timer::Kind::kIdle: {
        if (timer->epoch != rare().epoch) break;
        const MonotonicTime due = std::max(rare().last_message, timer->since) + timer->period;
        const bool is_quiet = due <= now;
        if (is_quiet) {
          timer->since = now;
          AddPeriodicEvent(*timer, rare().last_message);
        }
        const size_t place = timer->place;
        rare().behavior_timers[place] = AddTimer(is_quiet ? now + timer->period : due, *std::move(timer));
        break;
      }
      case Timer::Kind::kEvery: {
        if (timer->epoch != rare().epoch) break;
        timer->since = timer->since + absl::Floor(now - timer->since, timer->period);
        AddPeriodicEvent(*timer, MonotonicTime::InfiniteFuture());
        const MonotonicTime next = timer->since + timer->period;
        const size_t place = timer->place;
        rare().behavior_timers[place] = AddTimer(next, *std::move(timer));
        break;
      }
      case Timer::Kind::kBehavior: {
        Event event{.kind = Event::Kind::kTimer,
                    .epoch = timer->epoch,
                    .at = timer->at,
                    .place = timer->place,
                    .payload = Payload::Of(TimerEvent{}),
                    .handler = std::move(timer->handler)};
        if (!RunsOn(event)) AddEvent(std::move(event));
        break;
      }
      case Timer::Kind::kNamed: {
        const auto named = rare().named_timers.find(timer->name);
        const uint64_t id = named == rare().named_timers.end() ? 0 : named->second;
        AddEvent({.kind = Event::Kind::kTimer,
                  .id = id,
                  .payload = Payload::Of(TimerEvent{.name = timer->name}),
                  .handler = std::move(timer->handler)});
        break;
      }
    }
  }
}

// Of an At before its time, because the wall clock was set back: its timer runs again.
bool ActorCore::RunsOn(const Event& event) {
  if (event.at == absl::InfinitePast()) return false;
  const absl::Duration early = Until(event.at, system().clock());
  if (early <= absl::ZeroDuration()) return false;
  if (event.epoch != rare().epoch) return true;
  rare().behavior_timers[event.place] = AddTimer(system().clock().Now() + early, {.kind = Timer::Kind::kBehavior,
                                                                                  .epoch = event.epoch,
                                                                                  .at = event.at,
                                                                                  .place = event.place,
                                                                                  .handler = event.handler});
  return true;
}

// One at a time: while a handler that awaits holds the actor they do not pile up.
void ActorCore::AddPeriodicEvent(const Timer& timer, MonotonicTime idle_since) {
  if (rare().events.HasBehaviorTimer(timer.epoch, timer.handler)) return;
  AddEvent({.kind = Event::Kind::kTimer,
            .epoch = timer.epoch,
            .idle_since = idle_since,
            .payload = Payload::Of(TimerEvent{}),
            .handler = timer.handler});
}

void ActorCore::AddBehaviorTimers(const BehaviorTable& table) {
  if (table.extra() == nullptr || table.extra()->timers.empty()) return;
  const MonotonicTime now = system().clock().Now();
  for (const TimerEntry& entry : table.extra()->timers) {
    switch (entry.kind) {
      case TimerEntry::Kind::kAt: {
        const absl::Duration left = Until(entry.at, system().clock());
        rare().behavior_timers.push_back(AddTimer(now + left, {.kind = Timer::Kind::kBehavior,
                                                               .epoch = rare().epoch,
                                                               .at = entry.at,
                                                               .place = rare().behavior_timers.size(),
                                                               .handler = entry.handler}));
        break;
      }
      case TimerEntry::Kind::kAfter:
        if (IsReceiving() && entry.after <= absl::ZeroDuration()) {
          std::shared_ptr<MessageHandler>& timeout_now = rare().receives.back().timeout_now;
          if (timeout_now == nullptr) timeout_now = entry.handler;  // the first of several
          break;
        }
        rare().behavior_timers.push_back(AddTimer(
            now + entry.after, {.kind = Timer::Kind::kBehavior, .epoch = rare().epoch, .handler = entry.handler}));
        break;
      case TimerEntry::Kind::kEvery:
      case TimerEntry::Kind::kIdle:
        const bool is_idle = entry.kind == TimerEntry::Kind::kIdle;
        rare().behavior_timers.push_back(
            AddTimer(now + entry.after, {.kind = is_idle ? Timer::Kind::kIdle : Timer::Kind::kEvery,
                                         .epoch = rare().epoch,
                                         .period = entry.after,
                                         .since = now,
                                         .place = rare().behavior_timers.size(),
                                         .handler = entry.handler}));
        break;
    }
  }
}

void ActorCore::RemoveBehaviorTimers() {
  if (rare_ == nullptr) return;
  for (const uint64_t id : rare().behavior_timers) rare().timers.Remove(id);
  rare().behavior_timers.clear();
}

absl::Status ActorCore::StartTimer(absl::string_view name, absl::Duration delay,
                                   std::shared_ptr<MessageHandler> handler) {
  CancelTimer(name);
  if (rare().named_timers.size() >= limits::kTimersPerActorMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("an actor has at most ", limits::kTimersPerActorMax, " named timers"));
  }
  rare().named_timers[std::string(name)] =
      AddTimer(system().clock().Now() + delay,
               {.kind = Timer::Kind::kNamed, .name = std::string(name), .handler = std::move(handler)});
  return absl::OkStatus();
}

// An event of the timer that waits already is taken back too.
bool ActorCore::CancelTimer(absl::string_view name) {
  const auto named = rare().named_timers.find(name);
  if (named == rare().named_timers.end()) return false;
  const uint64_t id = named->second;
  rare().named_timers.erase(named);
  return rare().timers.Remove(id) || rare().events.RemoveNamedTimer(id);
}

}  // namespace understudy::internal
