// ActorTimers: the named timers of one actor, the timers of its behavior (At, After, Every, Idle), and the end of its
// suspension.
//
// A plain state machine: it has no clock and runs no handler. It is told what time it is, and answers with the events
// that are due. A behavior's timers carry its epoch, which grows with each behavior that the actor enters: timers and
// events of an earlier epoch are stale and come to nothing. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_TIMERS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_TIMERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/scheduling/timer_queue.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/message_handler.h"

namespace understudy::internal {

class ActorTimers {
 public:
  // The readings of both clocks. Only At uses the wall clock.
  struct Time {
    MonotonicTime now;
    absl::Time wall;
  };

  // Starts a named timer in place of one of that name, whose event is taken out of `events`, the actor's. Full when
  // limits::kTimersPerActorMax run already.
  absl::Status Start(absl::string_view name, MonotonicTime due, std::shared_ptr<MessageHandler> handler,
                     EventQueue& events);
  // Ends a named timer. False when it neither ran nor has an event in `events`.
  bool Cancel(absl::string_view name, EventQueue& events);
  // A named timer's event has been taken from the queue: the name is free.
  void Taken(Event& event);

  // A behavior with these timers is entered, or a Receive begins: then `at_once` is not null, and the handler of its
  // first After that does not wait is put there, without a timer.
  void Enter(absl::Span<const TimerEntry> entries, uint64_t epoch, Time time,
             std::shared_ptr<MessageHandler>* at_once = nullptr);
  // The behavior, or the Receive, is left.
  void Leave();
  // A message is handled at `now`, in a behavior that has an Idle.
  void NoteMessage(MonotonicTime now) { last_message_ = now; }

  // When the actor's suspension ends; infinite if it is not suspended.
  void SetSuspension(MonotonicTime end) { suspension_end_ = end; }
  MonotonicTime suspension_end() const { return suspension_end_; }
  bool is_suspended() const { return !suspension_end_.is_infinite(); }

  // The timers that run, without those whose event waits, and when the first of them is due; infinite if there is none.
  size_t count() const { return timers_.size(); }
  MonotonicTime NextTimer() const { return timers_.Next(); }
  // When NextDue is to be called, or the suspension ends.
  MonotonicTime Next() const { return std::min(timers_.Next(), suspension_end_); }
  // The next event that is due and is to be added to `events`; none when nothing more is due. Every and Idle run on,
  // and have at most one event in `events`.
  absl::optional<Event> NextDue(Time time, uint64_t epoch, const EventQueue& events);

  // True if `event`, which is of a behavior's timer, must not be handled any more: its behavior has been left, or it is
  // of an Idle and a message has been handled since.
  bool IsStale(const Event& event, uint64_t epoch) const {
    return event.epoch != epoch || event.idle_since < last_message_;
  }
  // Returns true if `event`, which is of an At, is early because the wall clock was set back. The caller then drops the
  // event; its timer has been started again, unless the event is stale.
  bool RunsOn(const Event& event, uint64_t epoch, Time time);

 private:
  struct Timer {
    enum class Kind { kBehavior, kEvery, kIdle, kNamed };
    Kind kind = Kind::kBehavior;
    uint64_t epoch = 0;                    // all but kNamed
    std::string name;                      // kNamed
    absl::Duration period;                 // kEvery, kIdle
    MonotonicTime since;                   // kIdle: armed or fired last; kEvery: was due last
    absl::Time at = absl::InfinitePast();  // kBehavior: not before it on the wall clock
    size_t place = 0;                      // all but kNamed: in of_behavior_
    std::shared_ptr<MessageHandler> handler;
  };

  void Add(MonotonicTime due, Timer timer);
  void RunAgain(MonotonicTime due, Timer timer);
  // The event of a timer that is due; none when there is none to be added. The timer runs again if it is periodic.
  absl::optional<Event> Fire(Timer timer, Time time, uint64_t epoch, const EventQueue& events);

  TimerQueue<Timer> timers_;
  std::map<std::string, uint64_t, std::less<>> named_;
  std::vector<uint64_t> of_behavior_;  // ids in timers_
  MonotonicTime last_message_;
  MonotonicTime suspension_end_ = MonotonicTime::InfiniteFuture();
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_TIMERS_H_
