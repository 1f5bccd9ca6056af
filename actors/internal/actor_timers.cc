// An actor's timers: one queue of its own, and at most one timer of the
// executor for the earliest of them.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

uint64_t ActorCore::AddTimer(MonotonicTime time, Timer timer) { return timers_.Add(time, std::move(timer)); }

// Before the actor goes idle: the executor calls when the earliest is due.
void ActorCore::ArmExecutor() {
  MonotonicTime next = timers_.Next();
  if (asks_ != nullptr) next = std::min(next, asks_->NextDeadline());
  if (next.is_infinite() || next >= executor_time_) return;
  if (executor_timer_ != 0) system_.executor().Cancel(executor_timer_);
  executor_time_ = next;
  executor_timer_ =
      system_.executor().RunAt(next, [cell = cell_, life = LifeOf(self_)] { cell->Post(life, Envelope(Tick{})); });
}

void ActorCore::FireTimers() {
  executor_timer_ = 0;
  executor_time_ = MonotonicTime::InfiniteFuture();
  const MonotonicTime now = system_.clock().Now();
  ExpireAsks(now);
  while (absl::optional<Timer> timer = timers_.PopDue(now)) {
    switch (timer->kind) {
      case Timer::Kind::kIdle: {
        if (timer->epoch != epoch_) break;
        const MonotonicTime due = std::max(last_message_, timer->since) + timer->quiet;
        const bool is_quiet = due <= now;
        if (is_quiet) {
          timer->since = now;
          AddEvent({.kind = Event::Kind::kTimer,
                    .epoch = epoch_,
                    .payload = Payload::Of(TimerEvent{}),
                    .handler = timer->handler});
        }
        const size_t place = timer->place;
        behavior_timers_[place] = AddTimer(is_quiet ? now + timer->quiet : due, *std::move(timer));
        break;
      }
      case Timer::Kind::kBehavior:
        AddEvent({.kind = Event::Kind::kTimer,
                  .epoch = timer->epoch,
                  .payload = Payload::Of(TimerEvent{}),
                  .handler = std::move(timer->handler)});
        break;
      case Timer::Kind::kNamed: {
        const auto named = named_timers_.find(timer->name);
        const uint64_t id = named == named_timers_.end() ? 0 : named->second;
        AddEvent({.kind = Event::Kind::kTimer,
                  .id = id,
                  .payload = Payload::Of(TimerEvent{.name = timer->name}),
                  .handler = std::move(timer->handler)});
        break;
      }
      case Timer::Kind::kStartTimeout:
        if (stage_ != Stage::kRunning) SetExit(ExitReason::StartTimeout(), /*is_kill=*/false);
        break;
      case Timer::Kind::kParentExit:
        parent_exit_timer_ = 0;
        SetExit(ExitReason::Killed(), /*is_kill=*/true);
        break;
    }
  }
}

void ActorCore::AddBehaviorTimers(const BehaviorTable& table) {
  const MonotonicTime now = system_.clock().Now();
  for (const TimerEntry& entry : table.timers) {
    switch (entry.kind) {
      case TimerEntry::Kind::kAt: {
        const absl::Duration left = std::max(entry.at - system_.clock().WallNow(), absl::ZeroDuration());
        behavior_timers_.push_back(
            AddTimer(now + left, {.kind = Timer::Kind::kBehavior, .epoch = epoch_, .handler = entry.handler}));
        break;
      }
      case TimerEntry::Kind::kAfter:
        if (!receives_.empty() && entry.after <= absl::ZeroDuration()) {
          receives_.back().timeout_now = entry.handler;
          break;
        }
        behavior_timers_.push_back(
            AddTimer(now + entry.after, {.kind = Timer::Kind::kBehavior, .epoch = epoch_, .handler = entry.handler}));
        break;
      case TimerEntry::Kind::kIdle:
        behavior_timers_.push_back(AddTimer(now + entry.after, {.kind = Timer::Kind::kIdle,
                                                                .epoch = epoch_,
                                                                .quiet = entry.after,
                                                                .since = now,
                                                                .place = behavior_timers_.size(),
                                                                .handler = entry.handler}));
        break;
    }
  }
}

void ActorCore::RemoveBehaviorTimers() {
  for (const uint64_t id : behavior_timers_) timers_.Remove(id);
  behavior_timers_.clear();
}

absl::Status ActorCore::StartTimer(absl::string_view name, absl::Duration delay,
                                   std::shared_ptr<MessageHandler> handler) {
  CancelTimer(name);
  if (named_timers_.size() >= limits::kTimersPerActorMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("an actor has at most ", limits::kTimersPerActorMax, " named timers"));
  }
  named_timers_[std::string(name)] =
      AddTimer(system_.clock().Now() + delay,
               {.kind = Timer::Kind::kNamed, .name = std::string(name), .handler = std::move(handler)});
  return absl::OkStatus();
}

// An event of the timer that waits already is taken back too.
bool ActorCore::CancelTimer(absl::string_view name) {
  const auto named = named_timers_.find(name);
  if (named == named_timers_.end()) return false;
  const uint64_t id = named->second;
  named_timers_.erase(named);
  if (timers_.Remove(id)) return true;
  const auto waits = [id](const Event& event) { return event.kind == Event::Kind::kTimer && event.id == id; };
  const auto place = std::find_if(events_.begin(), events_.end(), waits);
  if (place == events_.end()) return false;
  events_.erase(place);
  return true;
}

}  // namespace understudy::internal
