// Behavior: which mailboxes are open, at what rank, under what guard, and what
// handles them. A mailbox that the current behaviour does not name waits.
//
//   Behavior bidding_{"bidding", On(make_offer, &EnglishAuction::Bid), On(inquire, &EnglishAuction::Report),
//                     On(watch, &EnglishAuction::AddWatcher).When(&EnglishAuction::HasRoom),
//                     At(closes_, &EnglishAuction::CloseBidding)};
//   Behavior closed_{"closed", Refuse(make_offer, absl::FailedPreconditionError("closed")), Drop(watch)};
//
// A small value that shares one immutable table; build it once, as a member
// after the members it uses, and becoming it allocates nothing. The clauses
// (On, Refuse, Drop, At, After, Idle) are made by Actor. Owner's turn only: CHECKed
// in debug builds where one is become, not where it is built.
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

// What Fail gives, so that any handler can say `return Fail(status);`. The
// actor's failure is recorded already. An OK status becomes what it does in
// ExitReason::Failed.
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

  // The clause holds only while `guard` does: a const member function of the
  // actor, or a captureless callable that takes `const Self&`. It reads nothing
  // but the actor, and runs on its turn only. Of several, as of several If, all
  // must hold.
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
  // The same for one mailbox of a MailboxArray, with its place.
  template <class A>
  MailboxClause WhenElement(bool (A::*guard)(size_t place) const, size_t place) && {
    draft_.MakeExtra().AddGuard(internal::Guard(guard, place));
    return std::move(*this);
  }
  // Only for messages of which `predicate(const Request&)` is true; the others
  // wait, in order.
  template <class F>
    requires std::is_invocable_r_v<bool, F, const Request&>
  MailboxClause If(F predicate) && {
    draft_.MakeExtra().template AddPredicate<Request>(std::move(predicate));
    return std::move(*this);
  }
  // Ranks take turns from the highest number; 0 unless given.
  MailboxClause Rank(int rank) && {
    draft_.MakeExtra().rank = rank;
    return std::move(*this);
  }
  // Messages of this rank before the next rank has its turn: 1 to 65,535, and
  // what lies outside is the nearer of these.
  MailboxClause Quota(int messages) && {
    draft_.MakeExtra().quota = static_cast<uint16_t>(std::clamp(messages, 1, int{UINT16_MAX}));
    return std::move(*this);
  }
  // While its handler awaits, other handlers of the actor run.
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

// A clause for a time, made by At, After or Idle.
class TimerClause {
 public:
  explicit TimerClause(internal::TimerEntry entry) : entry_(std::move(entry)) {}
  internal::TimerEntry TakeEntry() && { return std::move(entry_); }

 private:
  internal::TimerEntry entry_;
};

// A clause for an event, made by On<Event>: of Receive.
template <class Event>
class EventClause {
 public:
  explicit EventClause(internal::EventEntry entry) : entry_(std::move(entry)) {}

  // Only for events of which `predicate(const Event&)` is true; the others wait.
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
  // At least one clause; `name` is for people: 255 bytes of it are kept.
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
  // Says what is wrong with a behaviour that names nothing.
  template <class Name>
    requires std::is_convertible_v<Name, absl::string_view>
  explicit Behavior(Name&& /*name*/) {
    static_assert(!std::is_convertible_v<Name, absl::string_view>,
                  "a behavior has at least one clause: without any its actor would wait for ever");
  }
  // No change of behaviour: the actor has failed.
  Behavior(const Failure& /*failed*/) {}  // NOLINT: `return Fail(status);`

  // Hooks, for a behaviour that is being built:
  //   Behavior open_ = Behavior("open", On(…)).WhenEntered(&Door::Light).WhenLeft(&Door::Dark);
  // A hook is a member function or callable that takes nothing and returns void;
  // it is no coroutine. At each change of behaviour, before postponed messages
  // return, the old one's leave hook runs and then the new one's enter hook;
  // Start's behaviour is entered too. Becoming the current behaviour runs none,
  // and so does the actor's end (see Actor::OnExit). A hook may send, start
  // timers, and Become: in a leave hook it says what is entered instead (the one
  // that is left too, which is then entered anew), in an enter hook it is the
  // next change, and limits::kBehaviorChangesInARowMax
  // of them end the actor. One that fails or throws ends the actor at once.
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

  // The same table, not an equal one.
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

// What Start decides.
class StartResult {
 public:
  StartResult(Behavior behavior) : choice_(std::move(behavior)) {}     // NOLINT: implicit by design
  StartResult(absl::Status failed) : choice_(std::move(failed)) {}     // NOLINT: implicit by design
  StartResult(const Failure& failed) : choice_(failed.status()) {}     // NOLINT: implicit by design
  StartResult(Task<StartResult> later) : choice_(std::move(later)) {}  // NOLINT: implicit by design
  // The process style: the body receives, and the actor stops when it ends.
  StartResult(Task<void> body) : choice_(std::move(body)) {}  // NOLINT: implicit by design
  // The actor declines to run; it ends Normal, and its parent gets Ignored.
  static StartResult Ignore() { return StartResult(Ignored()); }
  // Start goes on under `behavior`: its mailboxes are open and events are
  // handled, but the actor is started only when it calls
  // context().FinishStart(). Exits before that are failures of the start, unless
  // it calls context().DeclineStart().
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
