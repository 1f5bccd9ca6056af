// Actor: the base of every actor. It has mailboxes, one behaviour at a time,
// and handles one message at a time, on one thread at a time.
//
//   class Counter final : public Actor {
//    public:
//     Mailbox<"add", int> add{this};
//     Mailbox<"total", Call<TotalRequest, Total>> total{this};
//
//     StartResult Start() override { return counting_; }
//
//    private:
//     void Add(int n) { sum_ += n; }
//     Total Sum(const TotalRequest&) { return {sum_}; }
//
//     int sum_ = 0;
//     Behavior counting_{"counting", On(add, &Counter::Add), On(total, &Counter::Sum)};
//   };
//
// Made only by Spawn: the constructor, Start and all handlers run in the
// actor's own turns. A Status that a handler returns is about the message: a
// call's answer; a tell is counted rejected. The actor itself fails by
// `return Fail(status);` or by an exception. It ends in this order: suspended
// handlers newest first, OnExit, the object, its names, exits and Downs. Neither
// its destructor nor that of a message, answer, handler or capture may throw: as
// anywhere in C++ that ends the process (std::terminate), not the actor alone.
//
// Threads: owner's turn only, everything. Lifetime: the library's.
#ifndef UNDERSTUDY_ACTORS_ACTOR_H_
#define UNDERSTUDY_ACTORS_ACTOR_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/check.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/turn/array_clause.h"
#include "understudy/actors/internal/turn/handler.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_array.h"
#include "understudy/actors/named.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/task.h"

namespace understudy {

namespace internal {

void BeginReceive(const Behavior& receive, std::coroutine_handle<> waiter);

}  // namespace internal

// What Receive gives: awaits one message, event or timeout of its clauses.
class [[nodiscard]] Received {
 public:
  using UnderstudyAwaitable = void;
  explicit Received(Behavior clauses) : clauses_(std::move(clauses)) {}

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) { internal::BeginReceive(clauses_, waiter); }
  void await_resume() const {}

 private:
  Behavior clauses_;
};

class Actor {
 public:
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

 protected:
  Actor();

  // Decides how to begin: a Behavior; a Status or Fail (the start failed);
  // StartResult::Ignore(); a Task<StartResult>; or a Task<>, the process style.
  virtual StartResult Start() = 0;
  // The actor is ending; may send, and not await. Not called when killed. What it
  // throws is logged, and changes nothing.
  virtual void OnExit(const ExitReason& /*reason*/) {}

  // A clause: messages of `mailbox` go to `handler`, a member function or a
  // callable, of the forms that internal/turn/handler.h lists.
  template <class M, class F>
  static auto On(const internal::TypedMailbox<M>& mailbox, F handler) {
    return MakeClause<M>(internal::MakeHandler<M>(std::move(handler)), internal::IndexForClause(mailbox));
  }
  // The same for each mailbox of the array; the handler may take after its
  // message (and Replier) which one it is: a size_t, or its label.
  template <internal::FixedString kName, class M, class F>
  static auto On(const MailboxArray<kName, M>& mailboxes, F handler) {
    static_assert(std::is_copy_constructible_v<F>, "each mailbox of an array gets a copy of the handler");
    return ForEach<M>(mailboxes, [&](size_t place) {
      return MakeClause<M>(internal::MakeElementHandler<M>(handler, place, mailboxes.label(place)),
                           mailboxes.IndexOf(place));
    });
  }
  // A clause: calls are answered with `status`, which is not OK; tells are
  // counted rejected.
  template <class M>
  static auto Refuse(const internal::TypedMailbox<M>& mailbox, absl::Status status) {
    UNDERSTUDY_CHECK(!status.ok(), "Refuse wants a status that is not OK: it is what the asker gets");
    return MakeClause<M>(internal::MessageHandler::Refusing(std::move(status)), internal::IndexForClause(mailbox));
  }
  template <internal::FixedString kName, class M>
  static auto Refuse(const MailboxArray<kName, M>& mailboxes, const absl::Status& status) {
    return ForEach<M>(mailboxes, [&](size_t place) { return Refuse(mailboxes[place], status); });
  }
  // A clause: tells are dropped, and counted.
  template <internal::FixedString kName, class M>
  static auto Drop(const MailboxArray<kName, M>& mailboxes) {
    return ForEach<M>(mailboxes, [&](size_t place) { return Drop(mailboxes[place]); });
  }
  template <class M>
  static auto Drop(const internal::TypedMailbox<M>& mailbox) {
    static_assert(!internal::MessageTraits<M>::kIsCall, "a call wants an answer: Refuse it");
    return MakeClause<M>(internal::MessageHandler::Dropping(), internal::IndexForClause(mailbox));
  }
  // At the given wall time (at once when it has passed). Never before it, also
  // when the wall clock is set back meanwhile; when it is set forward, late by
  // that much.
  template <class F>
  static TimerClause At(absl::Time time, F handler) {
    return MakeTimer({.kind = internal::TimerEntry::Kind::kAt, .at = time}, std::move(handler));
  }
  // `delay` after the behaviour was entered, once: to give the present behaviour
  // again, from a handler or by Become, enters nothing.
  template <class F>
  static TimerClause After(absl::Duration delay, F handler) {
    return MakeTimer({.kind = internal::TimerEntry::Kind::kAfter, .after = delay}, std::move(handler));
  }
  // `period` after the behaviour was entered, and again each `period`; more than
  // zero. What falls due while the actor is held up comes once, and the next at
  // its own time.
  template <class F>
  static TimerClause Every(absl::Duration period, F handler) {
    UNDERSTUDY_CHECK(period > absl::ZeroDuration(), "Every(", absl::FormatDuration(period),
                     ") would come without end; a period is more than zero");
    return MakeTimer({.kind = internal::TimerEntry::Kind::kEvery, .after = period}, std::move(handler));
  }
  // `quiet` after the last message, again and again; more than zero.
  template <class F>
  static TimerClause Idle(absl::Duration quiet, F handler) {
    UNDERSTUDY_CHECK(quiet > absl::ZeroDuration(), "Idle(", absl::FormatDuration(quiet),
                     ") would come for ever; what is to come at once is After(0)");
    return MakeTimer({.kind = internal::TimerEntry::Kind::kIdle, .after = quiet}, std::move(handler));
  }
  // In the process style: a behaviour for one message, event or timeout; what it
  // does not name waits. Write `auto received = Receive(…); co_await received;`.
  // Its timeout is the last choice: `After(absl::ZeroDuration(), …)` takes what
  // is there, or goes on. A handler may Receive in its turn. CHECKs in handlers
  // of behaviours.
  //
  // An event waits too until a Receive names it, but a parent's exit and a
  // RequestStop, which then end the actor. (One that was given a handler, as by
  // Monitor(target, handler), has that called while any Receive waits, which
  // waits on.)
  template <class... Clauses>
  static Received Receive(Clauses&&... clauses) {
    return Received(Behavior(internal::ForReceive(), std::forward<Clauses>(clauses)...));
  }
  // A clause of Receive: an event, one of Down, ExitEvent, StopRequest,
  // TimerEvent (of a named timer) and NameChange:
  //
  //   On<ExitEvent>([&](const ExitEvent& exit) { … }).If([&](const ExitEvent& exit) { return exit.peer == worker; })
  template <class Event, class F>
    requires internal::kIsEvent<Event>
  static EventClause<Event> On(F handler) {
    return EventClause<Event>(
        {.type = &internal::TypeOf<Event>(), .handler = internal::MakeSharedHandler<Event>(std::move(handler))});
  }
  // The Down of that monitor.
  template <class F>
  static EventClause<Down> On(const MonitorHandle& monitor, F handler) {
    return On<Down>(std::move(handler)).If([id = monitor.id()](const Down& down) { return down.monitor == id; });
  }

  // Takes effect when the handler returns or awaits. Becoming the current
  // behaviour changes nothing.
  void Become(const Behavior& behavior);
  // The actor ends with Failed(status) when the handler returns or awaits; a
  // call in hand is answered with that exit reason.
  Failure Fail(absl::Status status);

  Context& context() { return context_; }

 private:
  friend class internal::ActorCore;

  template <class M>
  static auto MakeClause(internal::MessageHandler handler, int mailbox) {
    return MailboxClause<typename internal::MessageTraits<M>::Request>(
        internal::ClauseDraft(std::move(handler), mailbox));
  }
  // One clause for each mailbox of the array.
  template <class M, class Make>
  static auto ForEach(const internal::MailboxArrayBase& mailboxes, Make make) {
    std::vector<MailboxClause<typename internal::MessageTraits<M>::Request>> clauses;
    clauses.reserve(mailboxes.size());
    for (size_t place = 0; place < mailboxes.size(); ++place) clauses.push_back(make(place));
    return ArrayClause<typename internal::MessageTraits<M>::Request>(std::move(clauses));
  }

  // `auto`: see MakeHandler.
  template <class F>
  static auto MakeTimer(internal::TimerEntry entry, F handler) {
    entry.handler = internal::MakeSharedHandler<TimerEvent>(std::move(handler));
    return TimerClause(std::move(entry));
  }

  Context context_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ACTOR_H_
