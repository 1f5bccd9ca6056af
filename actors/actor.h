// Actor: the base class of every actor. An actor has mailboxes and one behavior at
// a time, and handles one message at a time, on one thread at a time.
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
// Creation: only Spawn makes actors. The constructor, Start and all handlers run in
// the actor's own turns.
// Failure: a Status that a handler returns is about the message. If it is not OK, it
// is the answer to a call, and a tell is counted as rejected. The actor itself fails
// by `return Fail(status);` or by an exception that leaves a handler.
// End: the steps are, in this order: suspended handlers are destroyed, newest first;
// OnExit runs; the object is destroyed; the actor's names are released; exits and
// Downs are sent. The destructors of an actor, message, answer, handler or capture
// must not throw: that ends the process (std::terminate), not only the actor.
//
// Threads: all members are for the actor's own turns only. Lifetime: the library
// owns the object.
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

// Returns mailbox.index(), for a clause. During the construction of an actor, CHECKs that the constructor of `mailbox`
// has run, because a behavior may be declared before a mailbox that it uses. Until the actor has started, notes that a
// clause names the mailbox.
int IndexForClause(const MailboxBase& mailbox);

}  // namespace internal

// The result of Actor::Receive. Awaiting it waits until one message, event or timeout
// that its clauses name has been handled.
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

  // The actor's first function. Returns the first behavior; a Status or Fail(…) if the
  // start failed; StartResult::Ignore() to decline; StartResult::Starting(behavior) to
  // handle messages while it starts; a Task<StartResult> to await first; or a Task<> for
  // the process style, in which the task receives messages itself.
  virtual StartResult Start() = 0;
  // Called when the actor ends, unless it was killed. It may send messages but cannot
  // await. An exception that it throws is logged and does not change the exit reason.
  virtual void OnExit(const ExitReason& /*reason*/) {}

  // Clause: `handler`, a member function of the actor or a callable, handles the messages
  // of `mailbox`.
  //   a tell:    takes const M&, M, M&& or nothing. Returns void (the behavior stays),
  //              absl::Status (an error: the message counts as rejected), Behavior (which the
  //              actor becomes), absl::StatusOr<Behavior>, or a Task of one of these.
  //   a call:    takes const M& or M. Returns Reply, absl::StatusOr<Reply>, or a Task of one.
  //              Or it takes a Replier<Reply> second, and returns what a tell's handler does.
  //   a stream:  takes a StreamWriter<Item> second, and returns what a tell's handler does.
  // Anything else does not compile, and the error says what is allowed.
  template <class M, class F>
  static auto On(const internal::TypedMailbox<M>& mailbox, F handler) {
    return MakeClause<M>(internal::MakeHandler<M>(std::move(handler)), internal::IndexForClause(mailbox));
  }
  // Like On above, with the mailbox as a template argument, so that the compiler's errors
  // about the handler name the mailbox.
  template <internal::FixedString kName, class M, class F>
  static auto On(const Mailbox<kName, M>& mailbox, F handler) {
    return On(static_cast<const internal::TypedMailbox<M>&>(mailbox), std::move(handler));
  }
  // Like On, for every mailbox of an array. The handler may have one more parameter,
  // after the message (and the Replier), that says which mailbox it is: a size_t for its
  // place in the array, or a string_view for its label.
  template <internal::FixedString kName, class M, class F>
  static auto On(const MailboxArray<kName, M>& mailboxes, F handler) {
    static_assert(std::is_copy_constructible_v<F>, "each mailbox of an array gets a copy of the handler");
    return ForEach<M>(mailboxes, [&](size_t place) {
      return MakeClause<M>(internal::MakeElementHandler<M>(handler, place, mailboxes.label(place)),
                           mailboxes.IndexOf(place));
    });
  }
  // Clause: answers the calls of `mailbox` with `status`, or discards its tells and counts
  // them as rejected. CHECKs that `status` is not OK.
  template <class M>
  static auto Refuse(const internal::TypedMailbox<M>& mailbox, absl::Status status) {
    UNDERSTUDY_CHECK(!status.ok(), "Refuse wants a status that is not OK: it is what the asker gets");
    return MakeClause<M>(internal::MessageHandler::Refusing(std::move(status)), internal::IndexForClause(mailbox));
  }
  template <internal::FixedString kName, class M>
  static auto Refuse(const MailboxArray<kName, M>& mailboxes, const absl::Status& status) {
    return ForEach<M>(mailboxes, [&](size_t place) { return Refuse(mailboxes[place], status); });
  }
  // Clause: discards the tells of the mailboxes and counts them as dropped.
  template <internal::FixedString kName, class M>
  static auto Drop(const MailboxArray<kName, M>& mailboxes) {
    return ForEach<M>(mailboxes, [&](size_t place) { return Drop(mailboxes[place]); });
  }
  template <class M>
  static auto Drop(const internal::TypedMailbox<M>& mailbox) {
    static_assert(!internal::MessageTraits<M>::kIsCall, "a call wants an answer: Refuse it");
    return MakeClause<M>(internal::MessageHandler::Dropping(), internal::IndexForClause(mailbox));
  }
  // Clause: calls `handler` at the wall time `time`, or at once if `time` has passed. The
  // call never comes before `time` on the wall clock, even if that clock is set back
  // meanwhile. If the clock is set forward, the call is late by that much.
  template <class F>
  static TimerClause At(absl::Time time, F handler) {
    return MakeTimer({.kind = internal::TimerEntry::Kind::kAt, .at = time}, std::move(handler));
  }
  // Clause: calls `handler` once, `delay` after the behavior was entered. Becoming the
  // current behavior does not enter it again, so it does not restart the delay.
  template <class F>
  static TimerClause After(absl::Duration delay, F handler) {
    return MakeTimer({.kind = internal::TimerEntry::Kind::kAfter, .after = delay}, std::move(handler));
  }
  // Clause: calls `handler` `period` after the behavior was entered, and then once in each
  // `period`. If several calls fall due while the actor cannot run them, it runs one of
  // them, and the next call comes at its regular time. CHECKs that `period` is positive.
  template <class F>
  static TimerClause Every(absl::Duration period, F handler) {
    UNDERSTUDY_CHECK(period > absl::ZeroDuration(), "Every(", absl::FormatDuration(period),
                     ") would come without end; a period is more than zero");
    return MakeTimer({.kind = internal::TimerEntry::Kind::kEvery, .after = period}, std::move(handler));
  }
  // Clause: calls `handler` when the actor has had no message for `quiet`, counted from its
  // last message or from when the behavior was entered, whichever is later; and then again
  // after each `quiet` without a message. CHECKs that `quiet` is positive.
  template <class F>
  static TimerClause Idle(absl::Duration quiet, F handler) {
    UNDERSTUDY_CHECK(quiet > absl::ZeroDuration(), "Idle(", absl::FormatDuration(quiet),
                     ") would come for ever; what is to come at once is After(0)");
    return MakeTimer({.kind = internal::TimerEntry::Kind::kIdle, .after = quiet}, std::move(handler));
  }
  // For the process style: a behavior for one message, event or timeout. Messages and
  // events that no clause names wait. Write it as two statements:
  // `auto received = Receive(…); co_await received;`.
  //
  // A timeout is taken only if no message or event that a clause names is waiting, so
  // `After(absl::ZeroDuration(), …)` takes what has arrived already and otherwise goes on
  // at once. A handler of a Receive may itself Receive. CHECKs that the actor is in the
  // process style.
  //
  // Two events do not wait for a Receive that names them: the parent's exit and a
  // RequestStop end the actor at its next Receive if that does not name them. An event
  // that has a handler of its own, such as the Down of Monitor(target, handler), is given
  // to that handler while any Receive waits; the Receive then goes on waiting.
  template <class... Clauses>
  static Received Receive(Clauses&&... clauses) {
    return Received(Behavior(internal::ForReceive(), std::forward<Clauses>(clauses)...));
  }
  // Clause of Receive: `handler` takes an event of type Event, which is Down, ExitEvent,
  // StopRequest, TimerEvent (of a named timer) or NameChange. For example:
  //
  //   On<ExitEvent>([&](const ExitEvent& exit) { … }).If([&](const ExitEvent& exit) { return exit.peer == worker; })
  template <class Event, class F>
    requires internal::kIsEvent<Event>
  static EventClause<Event> On(F handler) {
    return EventClause<Event>(
        {.type = &internal::TypeOf<Event>(), .handler = internal::MakeSharedHandler<Event>(std::move(handler))});
  }
  // Clause of Receive: `handler` takes the Down of `monitor`.
  template <class F>
  static EventClause<Down> On(const MonitorHandle& monitor, F handler) {
    return On<Down>(std::move(handler)).If([id = monitor.id()](const Down& down) { return down.monitor == id; });
  }

  // Replaces the current behavior when the handler returns or awaits. Becoming the
  // current behavior changes nothing. CHECKs in the process style, which has no behaviors.
  void Become(const Behavior& behavior);
  // Ends the actor with reason Failed(status) when the handler returns or awaits. If the
  // current message is a call, it is answered with CalleeExited and that reason.
  // Returns a value that the handler may return in place of its result.
  Failure Fail(absl::Status status);

  Context& context() { return context_; }

 private:
  friend class internal::ActorCore;

  template <class M>
  static auto MakeClause(internal::MessageHandler handler, int mailbox) {
    return MailboxClause<typename internal::MessageTraits<M>::Request>(
        internal::ClauseDraft(std::move(handler), mailbox));
  }
  // Makes one clause for each mailbox of the array.
  template <class M, class Make>
  static auto ForEach(const internal::MailboxArrayBase& mailboxes, Make make) {
    std::vector<MailboxClause<typename internal::MessageTraits<M>::Request>> clauses;
    clauses.reserve(mailboxes.size());
    for (size_t place = 0; place < mailboxes.size(); ++place) clauses.push_back(make(place));
    return ArrayClause<typename internal::MessageTraits<M>::Request>(std::move(clauses));
  }

  // Returns `auto` for better compiler errors; see MakeHandler.
  template <class F>
  static auto MakeTimer(internal::TimerEntry entry, F handler) {
    entry.handler = internal::MakeSharedHandler<TimerEvent>(std::move(handler));
    return TimerClause(std::move(entry));
  }

  Context context_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ACTOR_H_
