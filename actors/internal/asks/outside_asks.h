// OutsideAsks: how an actor awaits what completes outside of actors, such as a call of gRPC: as an ask of its own that
// another thread answers.
//
//   OutsideAsks outside_(context().core());                                   // in the actor's turn
//   …
//   const PendingId id = outside_->Begin(context().Now() + absl::Seconds(5)); // likewise
//   StartWork([outside = outside_, id] { outside->Answer(id, Result()); });   // later, on any thread
//   const Pending<Result> pending(id);
//   absl::StatusOr<Result> result = co_await pending;                         // or Expired, or Cancelled
//
// Guarantees: the ask ends with its deadline, and with Cancelled when the call that is being handled is cancelled; the
// work itself then goes on, so the actor has to end it. An answer that comes later is counted as a late reply.
// Threads: Begin and Close in the actor's turns, Answer on any thread. Lifetime: shared by the actor and the work. The
// actor calls Close before its object is gone, so that no later Answer uses the system.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_OUTSIDE_ASKS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_OUTSIDE_ASKS_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

class ActorCore;
class SystemCore;

class OutsideAsks {
 public:
  // `core` is the actor of this turn.
  explicit OutsideAsks(ActorCore& core);
  OutsideAsks(const OutsideAsks&) = delete;
  OutsideAsks& operator=(const OutsideAsks&) = delete;

  // Begins an ask with that deadline, or that of the call that is being handled if it is earlier. Full, as its answer,
  // if the actor has limits::kAsksPerActorMax asks.
  PendingId Begin(MonotonicTime deadline);
  // The deadline of the call that is being handled; infinite if it has none, or none is.
  static MonotonicTime DeadlineOfCall();
  // Answers the ask. Does nothing after Close.
  template <class T>
  void Answer(const PendingId& ask, T value) {
    Post(ask, Payload::Of<T>(std::move(value)));
  }
  void Close();

 private:
  void Post(const PendingId& ask, Payload answer);

  absl::Mutex mu_;
  SystemCore* system_ ABSL_GUARDED_BY(mu_);  // null after Close
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_OUTSIDE_ASKS_H_
