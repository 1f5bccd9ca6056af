// BehaviorTable: the clauses of a behaviour, in one block of memory: the object itself (24 bytes), the clauses'
// handlers, the clauses' marks (three bytes each), the first clause of each mailbox (left out if clause i is the first
// of mailbox i), and the name. The parts that few behaviours have (guards, predicates, ranks, timers, hooks) are in
// BehaviorExtra, which is allocated only if there are any.
//
// A table is made from a BehaviorDraft, which On, Refuse, Drop, At, After and Idle fill. After that only its hooks are
// changed. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_BEHAVIOR_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_BEHAVIOR_TABLE_H_

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/guard.h"
#include "understudy/actors/internal/turn/hook.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

// How many messages of one rank are handled before the next rank has its turn, unless a clause sets a quota.
inline constexpr uint16_t kQuotaDefault = 16;

// The optional parts of a clause, which few clauses have.
struct ClauseExtra {
  bool Holds(const Actor& actor) const {
    const auto holds = [&](const Guard& one) { return one.Holds(actor); };
    return guard.Holds(actor) && std::all_of(more_guards.begin(), more_guards.end(), holds);
  }
  void AddGuard(Guard added) {
    if (guard.is_always()) {
      guard = added;
    } else {
      more_guards.push_back(added);
    }
  }
  template <class Message, class F>
  void AddPredicate(F added) {
    predicate = [before = std::move(predicate), added = std::move(added)](const void* message) {
      return (before == nullptr || before(message)) && added(*static_cast<const Message*>(message));
    };
  }

  Guard guard;
  std::vector<Guard> more_guards;
  std::function<bool(const void*)> predicate;  // null: every message
  int rank = 0;
  uint16_t quota = kQuotaDefault;
};

// A clause for a mailbox, before it is in a table.
struct ClauseDraft {
  ClauseDraft(MessageHandler its_handler, int its_mailbox)
      : handler(std::move(its_handler)), mailbox(static_cast<uint8_t>(its_mailbox)) {
    UNDERSTUDY_CHECK(its_mailbox >= 0 && its_mailbox < limits::kMailboxesPerActorMax,
                     "a clause for a mailbox that is not made yet: declare behaviors after the mailboxes they use");
  }
  ClauseExtra& MakeExtra() {
    if (extra == nullptr) extra = std::make_unique<ClauseExtra>();
    return *extra;
  }

  MessageHandler handler;
  uint8_t mailbox;
  bool is_interleaved = false;
  std::unique_ptr<ClauseExtra> extra;
};

struct TimerEntry {
  enum class Kind { kAt, kAfter, kEvery, kIdle };
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

struct BehaviorExtra {
  std::vector<ClauseExtra> clauses;  // of all clauses, or empty
  std::vector<int> ranks;            // from the top, each once; empty when there is but one
  std::vector<uint8_t> guarded;      // the clauses that have guards
  std::vector<TimerEntry> timers;
  std::vector<EventEntry> events;  // of a Receive only
  BehaviorHooks hooks;
};

// The clauses, timers and hooks from which a BehaviorTable is made, in the order in which they are written.
struct BehaviorDraft {
  void Add(ClauseDraft clause) { clauses.push_back(std::move(clause)); }
  void Add(std::vector<ClauseDraft> several) {
    for (ClauseDraft& clause : several) Add(std::move(clause));
  }
  void Add(TimerEntry timer) { timers.push_back(std::move(timer)); }
  void Add(EventEntry event) { events.push_back(std::move(event)); }

  absl::InlinedVector<ClauseDraft, 6> clauses;
  std::vector<TimerEntry> timers;
  std::vector<EventEntry> events;
};

class BehaviorTable {
 public:
  static constexpr size_t kClausesMax = 255;
  static constexpr size_t kNameBytesMax = 255;

  // CHECKs that `draft` has at most kClausesMax clauses. Keeps only the first kNameBytesMax bytes of a longer name.
  static BehaviorTable* Make(absl::string_view name, BehaviorDraft draft);
  BehaviorTable(const BehaviorTable&) = delete;
  BehaviorTable& operator=(const BehaviorTable&) = delete;

  absl::string_view name() const { return {const_cast<BehaviorTable*>(this)->name_bytes(), name_size_}; }
  // Bit i: a clause names mailbox i.
  uint64_t mailboxes() const { return mailboxes_; }
  // True if there is only one rank, and neither guards nor predicates.
  bool is_simple() const { return (marks_ & kIsSimple) != 0; }
  bool has_guards() const { return (marks_ & kHasGuards) != 0; }
  // True if there is more than one rank.
  bool has_ranks() const { return (marks_ & kHasRanks) != 0; }
  bool has_idle() const { return (marks_ & kHasIdle) != 0; }
  // Null if the behavior has none of the parts that BehaviorExtra holds.
  const BehaviorExtra* extra() const { return extra_.get(); }
  BehaviorExtra& MakeExtra() {
    if (extra_ == nullptr) extra_ = std::make_unique<BehaviorExtra>();
    return *extra_;
  }

  // Clauses are numbered as they are written, below size().
  size_t size() const { return clause_count_; }
  MessageHandler& handler(size_t clause) { return handlers()[clause]; }
  size_t mailbox(size_t clause) { return clause_marks()[clause].mailbox; }
  bool is_interleaved(size_t clause) { return clause_marks()[clause].is_interleaved; }
  // The optional parts of `clause`. Null if no clause of this behavior has any.
  const ClauseExtra* extra(size_t clause) const {
    return extra_ == nullptr || extra_->clauses.empty() ? nullptr : &extra_->clauses[clause];
  }
  // The next clause of the same mailbox, or kNone.
  static constexpr size_t kNone = 255;
  size_t Next(size_t clause) { return clause_marks()[clause].next; }
  // The first clause of `mailbox`, which must be in mailboxes().
  size_t ClauseFor(size_t mailbox) { return (marks_ & kIsInOrder) != 0 ? mailbox : places()[mailbox]; }

 private:
  friend class BehaviorPtr;
  struct ClauseMark {
    uint8_t mailbox;
    uint8_t next;
    bool is_interleaved;
  };
  static constexpr uint8_t kIsSimple = 1;
  static constexpr uint8_t kHasGuards = 2;
  static constexpr uint8_t kHasRanks = 4;
  static constexpr uint8_t kHasIdle = 8;
  static constexpr uint8_t kIsInOrder = 16;  // clause i is the first of mailbox i

  BehaviorTable() = default;
  ~BehaviorTable() = default;
  // Destroys `table` at once, or, while a DestructionQueue gathers, adds it to that: handlers hold users' objects,
  // whose destructors must run as user code.
  static void Delete(BehaviorTable* table);
  struct Deleter {
    void operator()(BehaviorTable* table) const;
  };

  void PlaceClauses(BehaviorDraft& draft);
  void MakeClauseExtras(BehaviorDraft& draft);

  MessageHandler* handlers() { return reinterpret_cast<MessageHandler*>(this + 1); }
  ClauseMark* clause_marks() { return reinterpret_cast<ClauseMark*>(handlers() + clause_count_); }
  // By mailbox.
  uint8_t* places() { return reinterpret_cast<uint8_t*>(clause_marks() + clause_count_); }
  char* name_bytes() { return reinterpret_cast<char*>(places() + place_count_); }

  uint64_t mailboxes_ = 0;
  std::unique_ptr<BehaviorExtra> extra_;
  uint32_t users_ = 0;
  uint8_t clause_count_ = 0;
  uint8_t place_count_ = 0;  // 0 when they are in order
  uint8_t name_size_ = 0;
  uint8_t marks_ = 0;
};
static_assert(sizeof(BehaviorTable) == 24);

// Bit i: clause i.
using ClauseSet = std::bitset<BehaviorTable::kClausesMax>;

inline void BehaviorPtr::Share() {
  if (table_ != nullptr) ++table_->users_;
}
inline void BehaviorPtr::Drop() {
  if (--table_->users_ == 0) BehaviorTable::Delete(table_);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_BEHAVIOR_TABLE_H_
