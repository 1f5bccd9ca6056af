// AskTable: the answers that one actor waits for: answers to calls, lookups, publications, and waits for room in a
// mailbox.
//
// AskTable is a plain state machine: it has no clock, sends nothing and resumes nothing. Its actor tells it what
// happened and does what it answers. An entry is a slot. Its id consists of the slot's index and a serial number, so
// the id of a freed entry never finds a later one. Deadlines are in a heap. The deadline of a freed slot stays there as
// a stale one, so that freeing an entry searches nothing; stale deadlines are removed when they are most of the heap.
//
// For the owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class Activation;

struct Answer {
  absl::Status status;
  Payload payload;
};

// A coroutine that waits, and the handler that it belongs to.
struct Waiter {
  std::coroutine_handle<> handle;
  Activation* activation = nullptr;
};

// The state of one coroutine that waits for several answers, until one of the counts is zero. The object lives in the
// coroutine's frame.
struct GroupWait {
  size_t answers_left = 0;
  size_t good_left = 0;
  size_t bad_left = 0;
  Waiter waiter;

  bool has_begun = false;

  void Count(bool is_good) {
    --answers_left;
    --(is_good ? good_left : bad_left);
  }
  bool is_over() const { return answers_left == 0 || good_left == 0 || bad_left == 0; }
};

// The data that only few asks have.
struct AskNotes {
  uint64_t name_watch = 0;  // the registry's watch of the name that a lookup waits for; 0 if none
  std::string looks_up;     // the name that a lookup waits for; empty if the ask is no lookup
  std::string publishes;    // the name whose publication is under way; empty if none is
  Pid waits_for_room;       // the actor in whose mailbox a SendWhenRoom waits for room; null if none
  std::vector<int> closes;  // mailboxes that stay closed until the ask is answered
};

class AskTable {
 public:
  AskTable() = default;
  AskTable(const AskTable&) = delete;
  AskTable& operator=(const AskTable&) = delete;

  // Returns the id of a new entry, or 0 if there are limits::kAsksPerActorMax already. A null `callee` means that no
  // actor is to be told when the ask is given up.
  uint64_t Add(Pid callee, MonotonicTime deadline);
  // Requires Has(id).
  void SetDeadline(uint64_t id, MonotonicTime deadline);

  bool Has(uint64_t id) const { return Find(id) != nullptr; }
  bool IsAnswered(uint64_t id) const { return AnsweredAs(id) != 0; }
  // The position of the answer in the order in which this table got its answers, from 1; 0 if there is no answer or no
  // entry.
  uint64_t AnsweredAs(uint64_t id) const;
  bool HasGoodAnswer(uint64_t id) const;
  bool IsAwaited(uint64_t id) const;
  // The callee that Add was given; null if there is no entry.
  Pid CalleeOf(uint64_t id) const;

  // Stores the answer and returns the waiter to resume, whose handle is null if no coroutine waits yet. Returns nullopt
  // if the answer comes too late, because the entry is gone or has an answer; then `answer` is not moved from.
  absl::optional<Waiter> Answered(uint64_t id, Answer&& answer);

  // Requires an entry without an answer. CHECKs that no other coroutine awaits it.
  void Await(uint64_t id, Waiter waiter);
  // As Await, for a group. The entry may have an answer already, if `group` has counted it.
  void Join(uint64_t id, GroupWait* group);
  // Undoes Await or Join. Does nothing if there is no entry.
  void StopWaiting(uint64_t id);

  // Frees the entry and returns its answer; nullopt if there is no entry.
  absl::optional<Answer> Take(uint64_t id);

  // The earliest deadline among the entries that have no answer or that no coroutine awaits; InfiniteFuture if there
  // are none.
  MonotonicTime NextDeadline();
  // The ask with the earliest deadline that is not after `now`; 0 if there is none. Each is returned once, so the
  // caller must answer it or take it.
  uint64_t PopDue(MonotonicTime now);

  // Records that ask `id` was made while handling the call that `asker` knows as `call`. Requires Has(id).
  void NoteForCall(uint64_t id, Pid asker, uint64_t call);
  // The asks recorded by NoteForCall for that call that have no answer yet.
  std::vector<uint64_t> AsksForCall(Pid asker, uint64_t call) const;

  // Null if the entry has no notes, or there is no entry.
  AskNotes* FindNotes(uint64_t id);
  // The notes of ask `id`, made if it has none. Requires Has(id).
  AskNotes& NotesOf(uint64_t id);
  // Ends one close of `mailbox` that ask `id` keeps. Returns true if the mailbox is to be reopened for it, and false if
  // the ask keeps none, because it was answered or is gone.
  bool TakeClose(uint64_t id, int mailbox);

  // At the actor's end: all entries, in the order of slots.
  std::vector<uint64_t> All() const;
  // The answers that were never taken.
  std::vector<Answer> TakeAnswers();

  size_t size() const { return size_; }
  // For tests: how much is kept.
  size_t slots() const { return slots_.size(); }
  size_t deadlines() const { return deadlines_.size(); }

 private:
  struct Slot {
    uint64_t id = 0;        // 0 when free
    uint64_t answered = 0;  // position in the order of the answers; 0 without an answer
    Pid callee;
    MonotonicTime deadline;
    Answer answer;
    Waiter waiter;
    GroupWait* group = nullptr;  // not null if a group awaits the answer; `waiter` is then null
    std::unique_ptr<AskNotes> notes;
    uint32_t next_free = 0;
  };
  struct Deadline {
    MonotonicTime time;
    uint64_t id = 0;
    // Reversed, because the standard heap has the greatest element on top and this one needs the earliest.
    friend bool operator<(const Deadline& a, const Deadline& b) {
      return a.time != b.time ? b.time < a.time : b.id < a.id;
    }
  };
  struct AskForCall {
    Pid asker;
    uint64_t call = 0;
    uint64_t id = 0;
  };
  static constexpr int kIndexBits = 17;
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  static_assert(limits::kAsksPerActorMax <= size_t{1} << kIndexBits);

  const Slot* Find(uint64_t id) const;
  Slot* Find(uint64_t id) { return const_cast<Slot*>(static_cast<const AskTable*>(this)->Find(id)); }
  void Free(Slot& slot);
  void AddDeadline(MonotonicTime time, uint64_t id);
  // False for a stale deadline: the entry was freed, has another deadline by now, or has an answer that a coroutine
  // awaits and will take.
  bool IsLive(const Deadline& deadline) const;
  bool IsUnderWay(uint64_t id) const;
  void RemoveStaleFromTop();

  std::vector<Slot> slots_;
  uint32_t first_free_ = kNoSlot;
  size_t size_ = 0;
  uint64_t last_serial_ = 0;
  uint64_t last_answer_ = 0;
  std::vector<Deadline> deadlines_;    // a heap
  std::vector<AskForCall> for_calls_;  // may still contain asks that have been answered or freed
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_
