// AskTable: the answers that one actor waits for: of calls, lookups,
// publications and room in mailboxes.
//
// A plain state machine: no clock, no sending, no resuming; its actor tells it
// what happened and does what it says. An entry is a slot, found by an id of
// index and serial, so an id that was freed is never mistaken for another.
// Deadlines lie in a heap whose entries of freed slots are left behind and
// cleaned when they are the most: nothing is searched for.
//
// Owner's turn only.
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

// One coroutine that waits for several answers: until one of the counts is
// zero. Lives in the coroutine's frame.
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

// What few asks have besides.
struct AskNotes {
  uint64_t name_watch = 0;  // of a lookup
  std::string looks_up;
  std::string publishes;    // of a publication under way
  Pid waits_for_room;       // in whose mailbox a message is to be sent
  std::vector<int> closes;  // mailboxes that stay closed until it is answered
};

class AskTable {
 public:
  AskTable() = default;
  AskTable(const AskTable&) = delete;
  AskTable& operator=(const AskTable&) = delete;

  // A new entry; 0 at limits::kAsksPerActorMax. `callee` is null where nobody
  // is to be told when the ask is given up.
  uint64_t Add(Pid callee, MonotonicTime deadline);
  // Requires Has(id).
  void SetDeadline(uint64_t id, MonotonicTime deadline);

  bool Has(uint64_t id) const { return Find(id) != nullptr; }
  bool IsAnswered(uint64_t id) const { return AnsweredAs(id) != 0; }
  // Its place in the order of the answers; 0 when there is none, or no entry.
  uint64_t AnsweredAs(uint64_t id) const;
  bool HasGoodAnswer(uint64_t id) const;
  bool IsAwaited(uint64_t id) const;
  // Null when there is no entry.
  Pid CalleeOf(uint64_t id) const;

  // Notes the answer and gives whom to resume: a null handle when nobody waits
  // yet. Nothing when it comes too late: the entry is gone or was answered; then
  // the answer is still the caller's.
  absl::optional<Waiter> Answered(uint64_t id, Answer&& answer);

  // Requires an entry without an answer; CHECKs that nobody awaits it.
  void Await(uint64_t id, Waiter waiter);
  // The same, for an entry that may have an answer, which `group` has counted.
  void Join(uint64_t id, GroupWait* group);
  // Ends Await or Join; nothing when there is no entry.
  void StopWaiting(uint64_t id);

  // Frees the entry and gives its answer; nothing when there is no entry.
  absl::optional<Answer> Take(uint64_t id);

  // The earliest deadline of an entry that nobody has an answer for or that
  // nobody awaits; InfiniteFuture when there is none.
  MonotonicTime NextDeadline();
  // An ask whose deadline is not after `now`, in the order of deadlines; 0 when
  // there is none. It is given once: the caller answers it or takes it.
  uint64_t PopDue(MonotonicTime now);

  // An ask made for a call in hand, which `asker` knows as `call`. Requires Has(id).
  void NoteForCall(uint64_t id, Pid asker, uint64_t call);
  // Those without an answer.
  std::vector<uint64_t> AsksForCall(Pid asker, uint64_t call) const;

  // Null when there are none, or no entry.
  AskNotes* FindNotes(uint64_t id);
  // Requires Has(id).
  AskNotes& NotesOf(uint64_t id);
  // Ends one close of `mailbox` that ask `id` keeps. Returns true if the mailbox is to be reopened for it, and false if
  // the ask keeps none, because it was answered or is gone.
  bool TakeClose(uint64_t id, int mailbox);

  // At the actor's end: all entries, in the order of slots.
  std::vector<uint64_t> All() const;
  // The answers that nobody has taken.
  std::vector<Answer> TakeAnswers();

  size_t size() const { return size_; }
  // For tests: how much is kept.
  size_t slots() const { return slots_.size(); }
  size_t deadlines() const { return deadlines_.size(); }

 private:
  struct Slot {
    uint64_t id = 0;        // 0 when free
    uint64_t answered = 0;  // place in the order of the answers
    Pid callee;
    MonotonicTime deadline;
    Answer answer;
    Waiter waiter;
    GroupWait* group = nullptr;  // instead of waiter
    std::unique_ptr<AskNotes> notes;
    uint32_t next_free = 0;
  };
  struct Deadline {
    MonotonicTime time;
    uint64_t id = 0;
    // Makes a heap's top the earliest.
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
  // It still says when something is to be done.
  bool IsLive(const Deadline& deadline) const;
  bool IsUnderWay(uint64_t id) const;
  void RemoveStaleFromTop();

  std::vector<Slot> slots_;
  uint32_t first_free_ = kNoSlot;
  size_t size_ = 0;
  uint64_t last_serial_ = 0;
  uint64_t last_answer_ = 0;
  std::vector<Deadline> deadlines_;    // a heap
  std::vector<AskForCall> for_calls_;  // and some that have been answered
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_
