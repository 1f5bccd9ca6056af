// Behavior: which mailboxes of an actor are open, at which rank, under which guards, and
// which handlers take their messages. Messages in a mailbox that the current behavior does
// not name wait.
//
//   Behavior bidding_{"bidding", On(make_offer, &EnglishAuction::Bid), On(inquire, &EnglishAuction::Report),
//                     On(watch, &EnglishAuction::AddWatcher).When(&EnglishAuction::HasRoom),
//                     At(closes_, &EnglishAuction::CloseBidding)};
//   Behavior closed_{"closed", Refuse(make_offer, absl::FailedPreconditionError("closed")), Drop(watch)};
//
// A Behavior is a small value; its copies share one immutable table. Build it once, as a
// member of the actor that is declared after the members that it uses: then becoming it
// allocates nothing. The functions of Actor make the clauses (On, Refuse, Drop, At, After,
// Every, Idle).
// Threads: only in its actor's turns. Debug builds CHECK that where the actor becomes the
// behavior, not where the behavior is built.
#ifndef UNDERSTUDY_ACTORS_BEHAVIOR_H_
#define UNDERSTUDY_ACTORS_BEHAVIOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/variant.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/guard.h"
#include "understudy/actors/internal/turn/hook.h"
#include "understudy/actors/task.h"

namespace understudy {

class Actor;

// The result of Actor::Fail. It converts to what handlers return, so that they can say
// `return Fail(status);`. The failure was recorded by Fail. An OK status is replaced by an
// error, as in ExitReason::Failed.
class Failure {
 public:
  explicit Failure(absl::Status status)
      : status_(status.ok() ? ExitReason::Failed(status).status() : std::move(status)) {}
  operator absl::Status() const { return status_; }  // NOLINT: it stands for one
  template <class T>
  operator absl::StatusOr<T>() const {  // NOLINT: it stands for one
    return status_;
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// A clause for one mailbox, made by On, Refuse or Drop. Each setter returns the changed clause by value.
template <class Request>
class MailboxClause {
 public:
  explicit MailboxClause(internal::ClauseDraft draft) : draft_(std::move(draft)) {}

  // The clause holds only while `guard` returns true. A guard is a const member function of
  // the actor, or a captureless callable that takes `const Self&`. It must read only the
  // actor, and runs only in the actor's turns. If a clause has several guards and predicates
  // (If), all must hold.
  template <class A>
  MailboxClause When(bool (A::*guard)() const) && {
    draft_.MakeExtra().AddGuard(internal::Guard(guard));
    return std::move(*this);
  }
  template <class A>
  MailboxClause When(bool (A::*guard)() const noexcept) && {
    return std::move(*this).When(static_cast<bool (A::*)() const>(guard));
  }
  template <class F>
  MailboxClause When(F guard) && {
    static_assert(internal::IsGuardFunction<F>,
                  "a guard is a const member function that returns bool, or a captureless callable of const Self&: it "
                  "reads its actor, and changes nothing");
    if constexpr (internal::IsGuardFunction<F>) {
      return std::move(*this).WhenFunction(+guard);
    } else {
      return std::move(*this);
    }
  }
  // Like When, for one mailbox of a MailboxArray: `guard` gets its place in the array.
  template <class A>
  MailboxClause WhenElement(bool (A::*guard)(size_t place) const, size_t place) && {
    draft_.MakeExtra().AddGuard(internal::Guard(guard, place));
    return std::move(*this);
  }
  // The clause takes only messages for which `predicate(const Request&)` returns true. Other
  // messages wait, in order, unless another clause takes them.
  template <class F>
    requires std::is_invocable_r_v<bool, F, const Request&>
  MailboxClause If(F predicate) && {
    draft_.MakeExtra().template AddPredicate<Request>(std::move(predicate));
    return std::move(*this);
  }
  // Sets the rank, which is 0 by default. Higher ranks go first; see Quota.
  MailboxClause Rank(int rank) && {
    draft_.MakeExtra().rank = rank;
    return std::move(*this);
  }
  // Sets how many messages of this clause's rank are handled before the next lower rank has
  // its turn; after the lowest, the highest rank is next. Clamped to 1 to 65,535.
  MailboxClause Quota(int messages) && {
    draft_.MakeExtra().quota = static_cast<uint16_t>(std::clamp(messages, 1, int{UINT16_MAX}));
    return std::move(*this);
  }
  // While the clause's handler awaits, other handlers of the actor may run.
  MailboxClause Interleaved() && {
    draft_.is_interleaved = true;
    return std::move(*this);
  }

  internal::ClauseDraft TakeEntry() && { return std::move(draft_); }

 private:
  template <class R, class A>
  MailboxClause WhenFunction(R (* /*guard*/)(A&)) && {
    static_assert(std::is_const_v<A> && std::is_same_v<R, bool>,
                  "a captureless guard takes const Self& and returns bool: it reads its actor, and changes nothing");
    return std::move(*this);
  }
  template <class A>
  MailboxClause WhenFunction(bool (*guard)(const A&)) && {
    draft_.MakeExtra().AddGuard(internal::Guard(guard));
    return std::move(*this);
  }

  internal::ClauseDraft draft_;
};

// A clause that calls a handler at a time, made by At, After, Every or Idle.
class TimerClause {
 public:
  explicit TimerClause(internal::TimerEntry entry) : entry_(std::move(entry)) {}
  internal::TimerEntry TakeEntry() && { return std::move(entry_); }

 private:
  internal::TimerEntry entry_;
};

// A clause of Receive for an event, made by On<Event>.
template <class Event>
class EventClause {
 public:
  explicit EventClause(internal::EventEntry entry) : entry_(std::move(entry)) {}

  // The clause takes only events for which `predicate(const Event&)` returns true. Other
  // events wait.
  template <class F>
    requires std::is_invocable_r_v<bool, F, const Event&>
  EventClause If(F predicate) && {
    entry_.predicate = [predicate = std::move(predicate)](const void* event) {
      return predicate(*static_cast<const Event*>(event));
    };
    return std::move(*this);
  }

  internal::EventEntry TakeEntry() && { return std::move(entry_); }

 private:
  internal::EventEntry entry_;
};

namespace internal {

template <class T>
inline constexpr bool kIsEventClause = false;
template <class Event>
inline constexpr bool kIsEventClause<EventClause<Event>> = true;
struct ForReceive {};

}  // namespace internal

class Behavior {
 public:
  // Builds a behavior of at least one clause. `name` is shown to people, in logs and
  // introspection; its first 255 bytes are kept.
  template <class... Clauses>
    requires(sizeof...(Clauses) > 0)
  explicit Behavior(absl::string_view name, Clauses&&... clauses)
      : table_(MakeTable(name, std::forward<Clauses>(clauses)...)) {
    static_assert(!(internal::kIsEventClause<std::remove_cvref_t<Clauses>> || ...),
                  "a clause for an event is for Receive; a behaviour's events have handlers of their own (context())");
  }
  // For Receive.
  template <class... Clauses>
    requires(sizeof...(Clauses) > 0)
  explicit Behavior(internal::ForReceive /*tag*/, Clauses&&... clauses)
      : table_(MakeTable("receive", std::forward<Clauses>(clauses)...)) {}
  // Does not compile, and says why: a behavior needs a clause.
  template <class Name>
    requires std::is_convertible_v<Name, absl::string_view>
  explicit Behavior(Name&& /*name*/) {
    static_assert(!std::is_convertible_v<Name, absl::string_view>,
                  "a behavior has at least one clause: without any its actor would wait for ever");
  }
  // For `return Fail(status);` in a handler that returns a Behavior. It is no behavior and
  // changes nothing.
  Behavior(const Failure& /*failed*/) {}  // NOLINT: `return Fail(status);`

  // Adds a hook to a behavior that is being built:
  //   Behavior open_ = Behavior("open", On(…)).WhenEntered(&Door::Light).WhenLeft(&Door::Dark);
  // A hook is a member function or callable that takes nothing and returns void; it cannot be
  // a coroutine. At each change of behavior the leave hook of the old behavior runs, then the
  // enter hook of the new one, then postponed messages become eligible again. Start's behavior
  // is entered too. Becoming the current behavior, and the end of the actor (see
  // Actor::OnExit), run no hooks.
  //
  // A hook may send, start timers and Become. Become in a leave hook replaces the behavior that
  // is about to be entered; if it names the behavior that is being left, that is entered again.
  // Become in an enter hook is the next change; more than limits::kBehaviorChangesInARowMax
  // changes in a row end the actor. A hook that fails or throws ends the actor at once.
  template <class F>
  Behavior WhenEntered(F hook) && {
    table_->MakeExtra().hooks.entered = internal::MakeHook(std::move(hook));
    return std::move(*this);
  }
  template <class F>
  Behavior WhenLeft(F hook) && {
    table_->MakeExtra().hooks.left = internal::MakeHook(std::move(hook));
    return std::move(*this);
  }

  absl::string_view name() const { return table_ == nullptr ? absl::string_view() : table_->name(); }
  const internal::BehaviorPtr& table() const { return table_; }

  // True for copies of one behavior; false for two that were built alike.
  friend bool operator==(const Behavior&, const Behavior&) = default;

 private:
  template <class... Clauses>
  static internal::BehaviorPtr MakeTable(absl::string_view name, Clauses&&... clauses) {
    internal::BehaviorDraft draft;
    (draft.Add(std::forward<Clauses>(clauses).TakeEntry()), ...);
    return internal::BehaviorPtr(internal::BehaviorTable::Make(name, std::move(draft)));
  }

  internal::BehaviorPtr table_;
};

// The decision of Actor::Start: a first behavior, a failure, or to decline.
class StartResult {
 public:
  StartResult(Behavior behavior) : choice_(std::move(behavior)) {}     // NOLINT: implicit by design
  StartResult(absl::Status failed) : choice_(std::move(failed)) {}     // NOLINT: implicit by design
  StartResult(const Failure& failed) : choice_(failed.status()) {}     // NOLINT: implicit by design
  StartResult(Task<StartResult> later) : choice_(std::move(later)) {}  // NOLINT: implicit by design
  // The process style: `body` receives messages itself, and the actor ends, with reason
  // Normal, when it returns.
  StartResult(Task<void> body) : choice_(std::move(body)) {}  // NOLINT: implicit by design
  // The actor declines to run: it ends with reason Normal, and its SpawnOutcome is kIgnored.
  static StartResult Ignore() { return StartResult(Ignored()); }
  // The start continues under `behavior`: messages and events are handled, but the actor
  // counts as started only when it calls context().FinishStart(). If it ends before that, its
  // start has failed, unless it ended by context().DeclineStart().
  static StartResult Starting(Behavior behavior) { return StartResult(StartsLater{std::move(behavior)}); }

 private:
  friend class internal::ActorCore;
  struct Ignored {};
  struct StartsLater {
    Behavior behavior;
  };
  explicit StartResult(Ignored ignored) : choice_(ignored) {}
  explicit StartResult(StartsLater later) : choice_(std::move(later)) {}

  absl::variant<Behavior, absl::Status, Ignored, StartsLater, Task<StartResult>, Task<void>> choice_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_BEHAVIOR_H_
