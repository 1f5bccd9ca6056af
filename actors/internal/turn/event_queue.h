// EventQueue: the events that wait for an actor's handlers, in the order of their stamps.
//
// A plain state machine: it has no clock and runs no handler. Exits and requests to stop that were sent by Exit or
// RequestStop are bounded: of each sort at most limits::kExitsWaitingPerActorMax wait, and the last of that sort to be
// taken stands for those that came when the sort was full. Events of links, monitors, timers and names are bounded by
// what they come from: of each watched name two changes wait. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_EVENT_QUEUE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_EVENT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// An event that waits for its handler. It names its source (monitor, timer or link), so that it can be removed when
// that is cancelled.
struct Event {
  enum class Kind { kDown, kExit, kParentExit, kStopRequest, kTimer, kOutcome, kName };
  Kind kind = Kind::kTimer;
  uint64_t stamp = 0;
  uint64_t id = 0;                                             // of the monitor, the named timer or the watched name
  uint64_t epoch = 0;                                          // of the behavior, for its timers; 0 for others
  MonotonicTime idle_since = MonotonicTime::InfiniteFuture();  // for an Idle: when the last message had come
  absl::Time at = absl::InfinitePast();                        // for an At: when it is due on the wall clock
  size_t place = 0;                                            // for an At: its place among the behavior's timers
  bool is_sent = false;       // by Exit or RequestStop, so that it counts towards the bound above
  bool is_tied_exit = false;  // kParentExit: of SpawnLink::kOneWay
  Pid peer;
  ExitReason reason;  // for events that end the actor when it has no handler for them
  Payload payload;
  std::shared_ptr<MessageHandler> handler;  // null for exits and requests to stop: see HandlerOf in actor_choice.h
};

class EventQueue {
 public:
  using iterator = std::list<Event>::iterator;

  EventQueue();
  ~EventQueue();
  EventQueue(EventQueue&& other) noexcept;
  EventQueue& operator=(EventQueue&& other) noexcept;

  // Appends `event`, whose stamp must be later than that of each waiting event. Of each watched name the oldest and the
  // newest change wait, and those between are removed. Returns false if the event was merged instead, because
  // kExitsWaitingPerActorMax events of its sort wait already.
  bool Add(Event event);

  bool empty() const { return events_.empty(); }
  iterator begin() { return events_.begin(); }
  iterator end() { return events_.end(); }
  // Not when it is empty.
  Event& front() { return events_.front(); }

  // Removes and returns an event to be handled. If events were merged into it, it says how many.
  Event Take(iterator place);
  // Removes an event of a behavior's timer that is not to be handled. Returns the place of the event after it.
  iterator Drop(iterator place) { return events_.erase(place); }

  // The events that came along the link to `peer`, which is unlinked. True when exits of the parent were among them
  // and no other exit of the parent waits.
  bool RemoveExitsOfLink(Pid peer);
  // What waits of the monitor (kDown) or of the watched name (kName) `id`. In constant time, because a handler may end
  // the monitors of a whole node one by one.
  void Remove(Event::Kind kind, uint64_t id);
  // False when no event of the named timer `id` waits.
  bool RemoveNamedTimer(uint64_t id);
  // The events of the timers of all behaviors.
  void RemoveBehaviorTimers();
  // True if an event of a timer of the behavior of `epoch` waits for `handler`.
  bool HasBehaviorTimer(uint64_t epoch, const std::shared_ptr<MessageHandler>& handler) const;

 private:
  // The exits of one sort that were sent: those that wait, and those that were merged.
  struct Sent {
    size_t waiting = 0;
    int64_t merged = 0;
  };
  Sent& SentLike(const Event& event);

  std::list<Event> events_;
  // The waiting Downs by their monitors, and the waiting changes of names by their watches. Null until the first.
  struct BySource;
  std::unique_ptr<BySource> by_source_;
  Sent exits_;
  Sent parents_exits_;
  Sent stop_requests_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_EVENT_QUEUE_H_
