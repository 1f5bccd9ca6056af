#include "understudy/actors/internal/turn/actor_timers.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

// In whole nanoseconds, as a MonotonicTime is; zero when it has passed.
absl::Duration Until(absl::Time at, absl::Time wall) {
  return std::max(absl::Ceil(at - wall, absl::Nanoseconds(1)), absl::ZeroDuration());
}

}  // namespace

absl::Status ActorTimers::Start(absl::string_view name, MonotonicTime due, std::shared_ptr<MessageHandler> handler,
                                EventQueue& events) {
  Cancel(name, events);
  if (named_.size() >= limits::kTimersPerActorMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("an actor has at most ", limits::kTimersPerActorMax, " named timers"));
  }
  named_[std::string(name)] =
      timers_.Add(due, {.kind = Timer::Kind::kNamed, .name = std::string(name), .handler = std::move(handler)});
  return absl::OkStatus();
}

bool ActorTimers::Cancel(absl::string_view name, EventQueue& events) {
  const auto named = named_.find(name);
  if (named == named_.end()) return false;
  const uint64_t id = named->second;
  named_.erase(named);
  return timers_.Remove(id) || events.RemoveNamedTimer(id);
}

void ActorTimers::Taken(Event& event) {
  const auto named = named_.find(event.payload.As<TimerEvent>().name);
  if (named != named_.end() && named->second == event.id) named_.erase(named);
}

void ActorTimers::Add(MonotonicTime due, Timer timer) {
  timer.place = of_behavior_.size();
  of_behavior_.push_back(timers_.Add(due, std::move(timer)));
}

void ActorTimers::RunAgain(MonotonicTime due, Timer timer) {
  const size_t place = timer.place;
  of_behavior_[place] = timers_.Add(due, std::move(timer));
}

void ActorTimers::Enter(absl::Span<const TimerEntry> entries, uint64_t epoch, Time time,
                        std::shared_ptr<MessageHandler>* at_once) {
  for (const TimerEntry& entry : entries) {
    Timer timer{.epoch = epoch, .handler = entry.handler};
    MonotonicTime due = time.now + entry.after;
    switch (entry.kind) {
      case TimerEntry::Kind::kAt:
        timer.at = entry.at;
        due = time.now + Until(entry.at, time.wall);
        break;
      case TimerEntry::Kind::kAfter:
        if (at_once != nullptr && entry.after <= absl::ZeroDuration()) {
          if (*at_once == nullptr) *at_once = entry.handler;  // the first of several
          continue;
        }
        break;
      case TimerEntry::Kind::kEvery:
      case TimerEntry::Kind::kIdle:
        timer.kind = entry.kind == TimerEntry::Kind::kIdle ? Timer::Kind::kIdle : Timer::Kind::kEvery;
        timer.period = entry.after;
        timer.since = time.now;
        break;
    }
    Add(due, std::move(timer));
  }
}

void ActorTimers::Leave() {
  for (const uint64_t id : of_behavior_) timers_.Remove(id);
  of_behavior_.clear();
}

absl::optional<Event> ActorTimers::NextDue(Time time, uint64_t epoch, const EventQueue& events) {
  while (absl::optional<Timer> timer = timers_.PopDue(time.now)) {
    if (absl::optional<Event> event = Fire(*std::move(timer), time, epoch, events)) return event;
  }
  return absl::nullopt;
}

absl::optional<Event> ActorTimers::Fire(Timer timer, Time time, uint64_t epoch, const EventQueue& events) {
  Event event{.epoch = timer.epoch, .handler = timer.handler};
  MonotonicTime due;  // the next time, of a timer that runs on
  switch (timer.kind) {
    case Timer::Kind::kNamed: {
      const auto named = named_.find(timer.name);
      event.id = named == named_.end() ? 0 : named->second;
      event.payload = Payload::Of(TimerEvent{.name = std::move(timer.name)});
      return event;
    }
    case Timer::Kind::kBehavior:
      event.at = timer.at;
      event.place = timer.place;
      if (RunsOn(event, epoch, time)) return absl::nullopt;
      break;
    case Timer::Kind::kEvery:
      if (timer.epoch != epoch) return absl::nullopt;
      // The beats that were missed are left out.
      timer.since = timer.since + absl::Floor(time.now - timer.since, timer.period);
      due = timer.since + timer.period;
      RunAgain(due, std::move(timer));
      if (events.HasBehaviorTimer(event.epoch, event.handler)) return absl::nullopt;
      break;
    case Timer::Kind::kIdle: {
      if (timer.epoch != epoch) return absl::nullopt;
      due = std::max(last_message_, timer.since) + timer.period;
      const bool is_quiet = due <= time.now;
      if (is_quiet) {
        timer.since = time.now;
        due = time.now + timer.period;
      }
      RunAgain(due, std::move(timer));
      if (!is_quiet || events.HasBehaviorTimer(event.epoch, event.handler)) return absl::nullopt;
      event.idle_since = last_message_;
      break;
    }
  }
  event.payload = Payload::Of(TimerEvent{});
  return event;
}

bool ActorTimers::RunsOn(const Event& event, uint64_t epoch, Time time) {
  if (event.at == absl::InfinitePast()) return false;
  const absl::Duration early = Until(event.at, time.wall);
  if (early <= absl::ZeroDuration()) return false;
  if (event.epoch != epoch) return true;
  RunAgain(time.now + early, {.epoch = event.epoch, .at = event.at, .place = event.place, .handler = event.handler});
  return true;
}

}  // namespace understudy::internal
