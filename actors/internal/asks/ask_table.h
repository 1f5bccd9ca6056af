// AskTable: the answers that one actor waits for: answers to calls, lookups, publications, and waits for room in a
// mailbox.
//
// AskTable is a plain state machine: it has no clock, sends nothing and resumes nothing. Its actor tells it what
// happened and does what it answers (AskAction, DueAsk; see turn/actor_asks.h). An entry is a slot. Its id consists of
// the slot's index and a serial number, so the id of a freed entry never finds a later one. Deadlines are in a heap.
// The deadline of a freed slot stays there as a stale one, so that freeing an entry searches nothing; stale deadlines
// are removed when they are most of the heap.
//
// For the owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/stream_table.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/trace.h"

namespace understudy::internal {

class Activation;

// Names an entry of the asker's table.
struct PendingId {
  Pid asker;
  uint64_t id = 0;
  MonotonicTime deadline;
};

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

// The actions that an AskTable returns when an ask is answered or given up. Its owner applies them.
struct TellCallee {  // that the asker no longer waits for its answer
  Pid callee;
  uint64_t ask = 0;
};
struct EndNameWatch {  // of the registry
  uint64_t watch = 0;
};
struct RemoveName {  // from this node's registry, because its publication has failed
  std::string name;
};
struct ReopenMailbox {  // ends one close of it
  int mailbox = 0;
};
struct TakeBackMessage {  // which waits for room in a mailbox of `receiver`, an actor of this node
  Pid receiver;
  uint64_t ask = 0;
};
struct StopWaitingForNode {  // for room in a mailbox of another node
  uint64_t ask = 0;
};
struct EndStreams {  // of the ask, which is answered: take the answer if it is the end of a stream
  uint64_t ask = 0;
};
struct EndSpan {  // of a call of a trace, now
  Span span;
};
using AskAction = std::variant<TellCallee, EndNameWatch, RemoveName, ReopenMailbox, TakeBackMessage, StopWaitingForNode,
                               EndStreams, EndSpan>;

// How the owner answers an ask whose deadline has passed.
struct NoAnswerCame {};  // Expired
struct NameHasNoOwner {  // NoOwner: the ask is a lookup of `name`
  std::string name;
};
struct NoRoomCame {  // Expired, with the message that waited for room in a mailbox of `receiver`
  // If not null, the message is to be taken back from there. If that fails, the message has been sent or cannot be
  // sent, and the answer is on its way.
  Pid receiver;
};
struct NobodyAwaits {  // not at all: the entry is freed
  Payload answer;      // of an answer that came and was never taken
};
struct DueAsk {
  uint64_t id = 0;
  std::vector<AskAction> actions;  // to be done before the ask is answered
  std::variant<NoAnswerCame, NameHasNoOwner, NoRoomCame, NobodyAwaits> answer;
};

class AskTable {
 public:
  AskTable() = default;
  AskTable(const AskTable&) = delete;
  AskTable& operator=(const AskTable&) = delete;

  // Returns the id of a new entry, or 0 if there are limits::kAsksPerActorMax already. A null `callee` means that no
  // actor is to be told when the ask is given up.
  uint64_t Add(Pid callee, MonotonicTime deadline);
  // Like Add, for a call whose answer or request comes in items: `kind` has kStreamAsk, kUploadAsk or both, and so has
  // the id. Adds what the asker reads and writes to streams(). Settle says EndStreams when the ask is answered.
  uint64_t AddWithItems(Pid callee, MonotonicTime deadline, uint64_t kind);
  // The id of an ask that needed no entry, because its answer is OK. It may be awaited any number of times.
  static constexpr uint64_t kDone = UINT64_MAX;
  // Requires Has(id).
  void SetDeadline(uint64_t id, MonotonicTime deadline);

  bool Has(uint64_t id) const { return Find(id) != nullptr; }
  // True if there is an entry without an answer. If false, awaiting the ask need not suspend.
  bool IsUnderWay(uint64_t id) const;
  // The position of the answer in the order in which this table got its answers, from 1; 0 if there is no answer or no
  // entry.
  uint64_t AnsweredAs(uint64_t id) const;
  bool HasGoodAnswer(uint64_t id) const;
  // The status of the answer; Expired if there is none, because the ask was freed at its deadline.
  absl::Status StatusOf(uint64_t id) const;
  // The callee that Add was given; null if there is no entry.
  Pid CalleeOf(uint64_t id) const;
  // The callees of calls that have no answer, at most `at_most` of them; one of two calls is told twice.
  std::vector<Pid> OpenCallees(size_t at_most) const;

  // The next three functions say that ask `id` is neither a call nor a sleep. Each requires IsUnderWay(id).
  //
  // Ask `id` is a lookup of `name`, which the registry watches for it under the id `watch`.
  void LooksUp(uint64_t id, std::string name, uint64_t watch);
  // Ask `id` is a publication of `name`, which this node's registry has already.
  void Publishes(uint64_t id, std::string name);
  // Ask `id` is a message that waits for room in a mailbox of `receiver`, an actor of this node or of another one.
  enum class RoomIn { kThisNode, kOtherNode };
  void WaitsForRoom(uint64_t id, Pid receiver, RoomIn where);

  // Ask `id` is a call with that span, which Settle and End say to end. Requires Has(id).
  void NoteSpan(uint64_t id, const Span& span);
  // Keeps `mailbox` closed until the ask is answered. Returns false if the ask is not under way: then the mailbox is
  // not to be closed.
  [[nodiscard]] bool CloseUntilAnswered(uint64_t id, int mailbox);
  // Ends one close of `mailbox` that ask `id` keeps. Returns true if the mailbox is to be reopened for it, and false if
  // the ask keeps none, because it was answered or is gone.
  [[nodiscard]] bool TakeClose(uint64_t id, int mailbox);

  // Stores the answer and returns the waiter to resume, whose handle is null if no coroutine waits yet. Returns nullopt
  // if the answer comes too late, because the entry is gone or has an answer; then `answer` is not moved from.
  absl::optional<Waiter> Answered(uint64_t id, Answer&& answer);
  // Ends what ask `id` kept up until it was answered: the watch of a name, the closes of mailboxes, and, if it was to
  // publish a name and has no good answer, the name. To be called once, after Answered has stored the answer.
  std::vector<AskAction> Settle(uint64_t id);
  // The asker gives the ask up. What this answers is to be done before Answered is called with that outcome.
  std::vector<AskAction> GiveUp(uint64_t id) const;

  // Requires an entry without an answer. CHECKs that no other coroutine awaits it.
  void Await(uint64_t id, Waiter waiter);
  // Like Await, for each of `pendings`. A pending may be answered already, and then `group` has counted its answer; or
  // it may have no entry. Returns true if the group needs every answer that has not come.
  bool Join(absl::Span<const PendingId> pendings, GroupWait& group);
  // Undoes Await or Join. Does nothing if there is no entry.
  void StopWaiting(uint64_t id);

  // Frees the entry and returns its answer; nullopt if there is no entry.
  absl::optional<Answer> Take(uint64_t id);
  // The answer to an ask that is awaited although it has no entry: it was refused because the table was full, or it has
  // expired. CHECKs that it was not taken before.
  static Answer AnswerWithoutEntry(const PendingId& pending, MonotonicTime now);

  // The earliest deadline among the entries that have no answer or that no coroutine awaits; InfiniteFuture if there
  // are none.
  MonotonicTime NextDeadline();
  // The ask with the earliest deadline that is not after `now`; none if there is none. Each is returned once, and its
  // owner must answer it as that says.
  absl::optional<DueAsk> NextDue(MonotonicTime now);

  // Records that ask `id` was made while handling the call that `asker` knows as `call`. Requires Has(id).
  void NoteForCall(uint64_t id, Pid asker, uint64_t call);
  // The asks recorded by NoteForCall for any of `calls` that have no answer yet, in the order in which they were
  // recorded. Each call is given by its asker and the asker's id of it. Requires that `calls` are sorted. This walks
  // through all asks that were recorded.
  std::vector<uint64_t> AsksForCalls(absl::Span<const std::pair<Pid, uint64_t>> calls) const;

  // Returns the actions for all open asks at the actor's end. Frees no entry.
  std::vector<AskAction> End() const;
  // At the actor's end: the answers and items that were never taken.
  std::vector<Answer> TakeAnswers();

  // The streams of this actor's asks, and the streams that this actor writes. They are kept here so that an actor that
  // has neither asks nor streams is no larger.
  StreamTable& streams();
  // Null if the actor has never had a stream.
  StreamTable* known_streams() const { return streams_.get(); }

  size_t size() const { return size_; }
  // For tests: how much is kept.
  size_t slots() const { return slots_.size(); }
  size_t deadlines() const { return deadlines_.size(); }

 private:
  // The data that only few asks have.
  struct Notes {
    uint64_t name_watch = 0;         // the registry's watch of the name that a lookup waits for; 0 if none
    std::string looks_up;            // the name that a lookup waits for; empty if the ask is no lookup
    std::string publishes;           // the name whose publication is under way; empty if none is
    Pid waits_for_room;              // the actor in whose mailbox a SendWhenRoom waits for room; null if none
    bool is_room_elsewhere = false;  // that actor is on another node
    bool has_items = false;          // its answer or its request is a stream
    std::unique_ptr<Span> span;      // of a call of a trace, until it ends
    std::vector<int> closes;         // mailboxes that stay closed until the ask is answered
  };
  struct Slot {
    uint64_t id = 0;        // 0 when free
    uint64_t answered = 0;  // position in the order of the answers; 0 without an answer
    Pid callee;
    MonotonicTime deadline;
    Answer answer;
    Waiter waiter;
    GroupWait* group = nullptr;  // not null if a group awaits the answer; `waiter` is then null
    std::unique_ptr<Notes> notes;
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

  // Takes a free slot, or a new one. Its id is made of its index, a new serial number and `kind`. Null if there are
  // limits::kAsksPerActorMax asks.
  Slot* NewSlot(Pid callee, MonotonicTime deadline, uint64_t kind);
  // Null if there is no entry.
  const Slot* Find(uint64_t id) const;
  Slot* Find(uint64_t id) { return const_cast<Slot*>(static_cast<const AskTable*>(this)->Find(id)); }
  void Free(Slot& slot);
  void AddDeadline(MonotonicTime time, uint64_t id);
  // False for a stale deadline: the entry was freed, has another deadline by now, or has an answer that a coroutine
  // awaits and will take.
  bool IsLive(const Deadline& deadline) const;
  void RemoveStaleFromTop();
  // The id of the ask with the earliest deadline that is not after `now`, which is removed; 0 if there is none.
  uint64_t PopDue(MonotonicTime now);
  static bool IsAwaited(const Slot& slot) { return slot.waiter.handle != nullptr || slot.group != nullptr; }
  // The notes of ask `id`, made if it has none. Requires Has(id).
  Notes& NotesOf(uint64_t id);
  static void AddTellCallee(const Slot& slot, std::vector<AskAction>& actions);

  std::vector<Slot> slots_;
  uint32_t first_free_ = kNoSlot;
  size_t size_ = 0;
  uint64_t last_serial_ = 0;
  uint64_t last_answer_ = 0;
  std::vector<Deadline> deadlines_;  // a heap
  std::unique_ptr<StreamTable> streams_;
  std::vector<AskForCall> for_calls_;  // may still contain asks that have been answered or freed
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_ASK_TABLE_H_
