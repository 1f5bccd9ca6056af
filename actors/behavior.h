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
// (On, Refuse, Drop, At, After, Idle) are made by Actor. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_BEHAVIOR_H_
#define UNDERSTUDY_ACTORS_BEHAVIOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/variant.h"
#include "understudy/actors/internal/activation.h"
#include "understudy/actors/internal/hook.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/task.h"

namespace understudy {

class Actor;

// What Fail gives, so that any handler can say `return Fail(status);`. The
// actor's failure is recorded already.
class Failure {
 public:
  explicit Failure(absl::Status status) : status_(std::move(status)) {}
  operator absl::Status() const { return status_; }  // NOLINT: it stands for one
  template <class T>
  operator absl::StatusOr<T>() const {  // NOLINT: it stands for one
    return status_;
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

namespace internal {

// Messages a rank is served before the next rank has its turn.
inline constexpr int kQuotaDefault = 16;

struct ClauseEntry {
  enum class Kind { kHandle, kRefuse, kDrop };
  Kind kind = Kind::kHandle;
  int mailbox = -1;
  int rank = 0;
  int quota = kQuotaDefault;
  bool is_interleaved = false;
  std::unique_ptr<MessageHandler> handler;
  std::function<bool(const Actor&)> guard;     // null: always
  std::function<bool(const void*)> predicate;  // null: every message
  absl::Status refusal;

  // It handles, at once.
  bool is_plain() const { return kind == Kind::kHandle && !handler->awaits(); }
};

struct TimerEntry {
  enum class Kind { kAt, kAfter, kIdle };
  Kind kind = Kind::kAfter;
  absl::Time at;
  absl::Duration after;
  std::shared_ptr<MessageHandler> handler;
};

// An event that a Receive takes.
struct EventEntry {
  const MessageType* type = nullptr;
  std::function<bool(const void*)> predicate;  // null: every one
  std::shared_ptr<MessageHandler> handler;
};

class BehaviorTable {
 public:
  std::string name;
  std::vector<ClauseEntry> clauses;
  std::vector<TimerEntry> timers;
  std::vector<EventEntry> events;  // of a Receive only
  std::vector<int> ranks;          // from the top, each once
  BehaviorHooks hooks;

  // What follows from the clauses.
  uint64_t mailboxes = 0;  // that they name
  bool has_guards = false;
  bool is_simple = false;  // one rank, no guards, no predicates
  bool has_idle = false;

  // The first clause of that mailbox; there is one.
  ClauseEntry* ClauseFor(int mailbox) {
    ClauseEntry* clause = clauses.data();
    while (clause->mailbox != mailbox) ++clause;
    return clause;
  }

 private:
  friend class BehaviorPtr;
  uint32_t users_ = 0;
};

inline void BehaviorPtr::Share() {
  if (table_ != nullptr) ++table_->users_;
}
inline void BehaviorPtr::Drop() {
  if (--table_->users_ == 0) delete table_;
}

}  // namespace internal

// A clause for one mailbox, made by On, Refuse or Drop.
template <class Request>
class MailboxClause {
 public:
  explicit MailboxClause(internal::ClauseEntry entry) : entry_(std::move(entry)) {}

  // The clause holds only while `guard` does: a const member function of the
  // actor, or a captureless callable that takes `const Self&`. It reads nothing
  // but the actor, and runs on its turn only.
  template <class A>
  MailboxClause&& When(bool (A::*guard)() const) && {
    entry_.guard = [guard](const Actor& actor) { return (static_cast<const A&>(actor).*guard)(); };
    return std::move(*this);
  }
  template <class F>
  MailboxClause&& When(F guard) && {
    static_assert(std::is_empty_v<F>,
                  "a guard is a const member function that returns bool, or a captureless callable of const Self&: it "
                  "reads its actor, and changes nothing");
    if constexpr (std::is_empty_v<F>) {
      return std::move(*this).WhenFunction(+guard);
    } else {
      return std::move(*this);
    }
  }
  // The same for one mailbox of a MailboxArray, with its place.
  template <class A>
  MailboxClause&& WhenElement(bool (A::*guard)(size_t place) const, size_t place) && {
    entry_.guard = [guard, place](const Actor& actor) { return (static_cast<const A&>(actor).*guard)(place); };
    return std::move(*this);
  }
  // Only for messages of which `predicate(const Request&)` is true; the others
  // wait, in order.
  template <class F>
    requires std::is_invocable_r_v<bool, F, const Request&>
  MailboxClause&& If(F predicate) && {
    entry_.predicate = [predicate = std::move(predicate)](const void* message) {
      return predicate(*static_cast<const Request*>(message));
    };
    return std::move(*this);
  }
  // Ranks take turns from the highest number; 0 unless given.
  MailboxClause&& Rank(int rank) && {
    entry_.rank = rank;
    return std::move(*this);
  }
  // Messages of this rank before the next rank has its turn; at least 1.
  MailboxClause&& Quota(int messages) && {
    entry_.quota = messages < 1 ? 1 : messages;
    return std::move(*this);
  }
  // While its handler awaits, other handlers of the actor run.
  MailboxClause&& Interleaved() && {
    entry_.is_interleaved = true;
    return std::move(*this);
  }

  internal::ClauseEntry TakeEntry() && { return std::move(entry_); }

 private:
  template <class R, class A>
  MailboxClause&& WhenFunction(R (* /*guard*/)(A&)) && {
    static_assert(std::is_const_v<A> && std::is_same_v<R, bool>,
                  "a captureless guard takes const Self& and returns bool: it reads its actor, and changes nothing");
    return std::move(*this);
  }
  template <class A>
  MailboxClause&& WhenFunction(bool (*guard)(const A&)) && {
    entry_.guard = [guard](const Actor& actor) { return guard(static_cast<const A&>(actor)); };
    return std::move(*this);
  }

  internal::ClauseEntry entry_;
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
  EventClause&& If(F predicate) && {
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
  // At least one clause; `name` is for people.
  template <class... Clauses>
    requires(sizeof...(Clauses) > 0)
  explicit Behavior(absl::string_view name, Clauses&&... clauses) : table_(new internal::BehaviorTable) {
    static_assert(!(internal::kIsEventClause<std::remove_cvref_t<Clauses>> || ...),
                  "a clause for an event is for Receive; a behaviour's events have handlers of their own (context())");
    Build(name, std::forward<Clauses>(clauses)...);
  }
  // For Receive.
  template <class... Clauses>
    requires(sizeof...(Clauses) > 0)
  explicit Behavior(internal::ForReceive /*tag*/, Clauses&&... clauses) : table_(new internal::BehaviorTable) {
    Build("receive", std::forward<Clauses>(clauses)...);
  }
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
  // timers, and Become: in a leave hook it says what is entered instead, in an
  // enter hook it is the next change, and limits::kBehaviorChangesInARowMax
  // of them end the actor. One that fails or throws ends the actor at once.
  template <class F>
  Behavior WhenEntered(F hook) && {
    table_->hooks.entered = internal::MakeHook(std::move(hook));
    return std::move(*this);
  }
  template <class F>
  Behavior WhenLeft(F hook) && {
    table_->hooks.left = internal::MakeHook(std::move(hook));
    return std::move(*this);
  }

  absl::string_view name() const { return table_ == nullptr ? absl::string_view() : absl::string_view(table_->name); }
  const internal::BehaviorPtr& table() const { return table_; }

  // The same table, not an equal one.
  friend bool operator==(const Behavior&, const Behavior&) = default;

 private:
  template <class... Clauses>
  void Build(absl::string_view name, Clauses&&... clauses) {
    table_->name = std::string(name);
    (Add(std::forward<Clauses>(clauses).TakeEntry()), ...);
    Finish();
  }
  void Add(internal::ClauseEntry entry) { table_->clauses.push_back(std::move(entry)); }
  void Add(std::vector<internal::ClauseEntry> entries) {
    for (internal::ClauseEntry& entry : entries) Add(std::move(entry));
  }
  void Add(internal::TimerEntry entry) { table_->timers.push_back(std::move(entry)); }
  void Add(internal::EventEntry entry) { table_->events.push_back(std::move(entry)); }
  void Finish();

  internal::BehaviorPtr table_;
};

// What Start decides.
class Next {
 public:
  Next(Behavior behavior) : choice_(std::move(behavior)) {}  // NOLINT: implicit by design
  Next(absl::Status failed) : choice_(std::move(failed)) {}  // NOLINT: implicit by design
  Next(const Failure& failed) : choice_(failed.status()) {}  // NOLINT: implicit by design
  Next(Task<Next> later) : choice_(std::move(later)) {}      // NOLINT: implicit by design
  // The process style: the body receives, and the actor stops when it ends.
  Next(Task<void> body) : choice_(std::move(body)) {}  // NOLINT: implicit by design
  // The actor declines to run; it ends Normal, and its parent gets Ignored.
  static Next Ignore() { return Next(Ignored()); }
  // Start goes on under `behavior`: its mailboxes are open and events are
  // handled, but the actor is started only when it calls
  // context().FinishStart(). Exits before that are failures of the start.
  static Next Starting(Behavior behavior) { return Next(StartsLater{std::move(behavior)}); }

 private:
  friend class internal::ActorCore;
  struct Ignored {};
  struct StartsLater {
    Behavior behavior;
  };
  explicit Next(Ignored ignored) : choice_(ignored) {}
  explicit Next(StartsLater later) : choice_(std::move(later)) {}

  absl::variant<Behavior, absl::Status, Ignored, StartsLater, Task<Next>, Task<void>> choice_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_BEHAVIOR_H_
