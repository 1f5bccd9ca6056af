// ActorCell: what a sender needs of an actor, in memory that is never given
// back and never changes its type, so that a channel may hold a plain index.
//
// A cell has many lives, one after another. One line of it is the senders', the
// rest the owner's; the owner's object lies in it.
//
// Invariants:
// 1. `life_` is that of the actor which has the cell, or had it last. Whoever
//    holds another finds NoProcess. A sender that looked before and pushes
//    after the cell's next life began is found out by the life in its envelope.
// 2. A gate counts what it accepted, and the owner what left (Queue::left). The
//    gate refuses what passes `limit`, which the owner sets to left + room; of a
//    dead actor both are 0, but for senders that are about to take theirs back.
// 3. Gates and queues only move to larger memory and never back, and the old
//    memory stays: a sender with an old layout counts in memory that is gates.
// Any thread, unless a method says "owner".
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_ACTOR_CELL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_ACTOR_CELL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/memory/free_list.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/inbound.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/router.h"

namespace understudy::internal {

class SystemCore;
struct CurrentTurn;

// A child has started, declined or failed to start.
struct SpawnReport {
  enum class Kind { kStarted, kIgnored, kFailed };
  Pid child;
  uint64_t id = 0;  // the parent's, of this child
  Kind kind = Kind::kStarted;
  ExitReason reason;
};

// The value of kOverdue: set by the actor that gets it, if its start is over by then.
using HasStarted = std::shared_ptr<std::atomic<bool>>;

// A watched name has an owner, or has none any more (a null pid).
struct NameReport {
  uint64_t watch = 0;
  std::string name;
  Pid pid;
};

// One mailbox as senders see it. Counts wrap; only their differences count.
struct Gate {
  std::atomic<uint32_t> accepted{0};
  std::atomic<uint32_t> limit{0};
};

// The same in bytes, where the mailbox has such a bound.
struct ByteGate {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> limit{0};
};

// One mailbox as its owner sees it. The counts are read by whoever reads the
// ledger.
struct Queue {
  Envelope* newest = nullptr;  // a ring: its next is the oldest
  // Of those that the gate has counted; one less for each that was handed over.
  std::atomic<uint32_t> left{0};
  std::atomic<uint32_t> handled{0};
};

// The mail of a closed mailbox.
struct ClosedMail {
  absl::string_view mailbox;
  int64_t waiting = 0;
  uint32_t left = 0;  // messages that it has let out, ever
};

// Adds to a counter that only the owner writes, and others read; the sum.
template <class T>
T AddAsOwner(std::atomic<T>& counter, T n) {
  const T sum = counter.load(std::memory_order_relaxed) + n;
  counter.store(sum, std::memory_order_relaxed);
  return sum;
}

// The owner's object, which lies in the cell.
class CellOwner : public Runnable {
 public:
  // Under a seizure of the thread that is in its user code (Executor::
  // WhileInUserCode): its life ends, though its handler has not returned.
  virtual void Fence(ExitReason reason) = 0;
  // The same: its start is not over.
  virtual bool IsStarting() const = 0;
  // Own turn: its kernel code has let something go that user code is to end.
  virtual void HasDeferred() = 0;
  // Own turn: it sent itself what acts before the messages that wait.
  virtual void DrainSoon() = 0;

 protected:
  ~CellOwner() = default;
};

// What no room means: a refusal, that the sender waits for some, or nothing, because the message needs none of the
// mailbox's own (RemoteRoom).
enum class WhenFull { kRefuses, kWaits, kIsBeside };

class alignas(64) ActorCell {
 public:
  static constexpr size_t kOwnerBytes = 80;  // so that a cell is three lines

  ActorCell() = default;
  ActorCell(const ActorCell&) = delete;
  ActorCell& operator=(const ActorCell&) = delete;

  // Accepts a message, or refuses it with NoProcess, Stopping, NoMailbox or
  // Full; only an accepted one is moved from. `system` is the cell's.
  absl::Status Accept(SystemCore& system, const OutboundMessage& message, TransferMode mode,
                      WhenFull when_full = WhenFull::kRefuses) {
    return Accept(system, message, mode, when_full, /*made=*/nullptr);
  }
  // The same for a tell that lies in `made` already, with its bytes in the call part: no user code runs. It is
  // the caller's until it is accepted.
  absl::Status AcceptMade(SystemCore& system, const OutboundMessage& message, Envelope* made) {
    return Accept(system, message, TransferMode::kMove, WhenFull::kWaits, made);
  }
  // The same for a message of another node, which its admission covers. Not refused for lack of room.
  absl::Status AcceptRemote(SystemCore& system, Message came);
  // No turn runs or is bound to, and nothing has come since the last. Old at once.
  bool IsIdle() const { return inbound_.CanClaim(); }
  // The quickest, after IsIdle: a tell of a small type, to an actor that handles such (plain_send.h). False: it was not
  // accepted, and AcceptPlain may do it.
  bool HandSmall(const CurrentTurn& turn, Pid to, uint32_t mailbox, const MessageType& type, const void* value);
  // Accept, for a tell in the common case (plain_send.h). False: it was not
  // accepted, and Accept says why, or does more.
  bool AcceptPlain(const CurrentTurn& turn, Pid to, uint32_t mailbox, const MessageType& type, const void* value,
                   TransferMode mode);
  // The message could not be pushed: gives its value back to the sender, and takes its acceptance back, which no gate
  // counted if null. Frees the envelope.
  UNDERSTUDY_SLOW_PATH static void TakeBack(Gate* gates, const MessageType& type, const void* value, TransferMode mode,
                                            Envelope* envelope);
  // Pushes what is not a message, and wakes the actor. kClosed, and the envelope
  // is still the caller's, when that life has ended; kMustSchedule when it was
  // idle, and has been scheduled.
  Pushed Post(SystemCore& system, uint64_t life, Envelope* envelope);

  bool IsAlive(uint64_t life) const { return life_.load(std::memory_order_acquire) == life && inbound_.IsLive(); }
  // The opposite, for whoever is to see what the life has written.
  bool HasEnded(uint64_t life) const {
    // acquire: pairs with the release of Open, whose life is another one.
    return life_.load(std::memory_order_acquire) != life || inbound_.HasEnded();
  }
  // The actor with that life lives, and its start is over.
  bool HasStarted(uint64_t life) const {
    // seq_cst: pairs with SetStarted. First: the cell's next life begins with false, so what is read before this life
    // is seen alive is its own.
    return has_started_.load(std::memory_order_seq_cst) && IsAlive(life);
  }
  // The life that the cell has now, or 0.
  uint64_t life() const { return inbound_.IsLive() ? life_.load(std::memory_order_acquire) : 0; }
  // Its place in its arena. Constant while it is used.
  uint32_t index() const { return index_; }
  // Messages of one mailbox that were accepted, have left, and were handled, for
  // the ledger. Exact whenever no turn runs.
  struct Counts {
    int64_t accepted = 0;
    int64_t left = 0;
    int64_t handled = 0;
  };
  // Calls `look(layout, place, counts)` for each. What other nodes reserved counts as accepted here, and what waits
  // beside does not: RemoteRoom::Excess says how much that is.
  template <class F>
  void ForEachMailbox(F&& look) const {
    // acquire: pairs with SetLayout's release, for the gates and queues.
    const MailboxLayout* layout = layout_.load(std::memory_order_acquire);
    if (layout == nullptr) return;
    const Gate* gates = gates_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < layout->size(); ++i) {
      const Queue& queue = QueueOf(gates, i);
      const uint32_t handed = HandedOf(gates, i).load(std::memory_order_relaxed);
      look(*layout, i,
           Counts{.accepted = gates[i].accepted.load(std::memory_order_relaxed) + handed,
                  .left = queue.left.load(std::memory_order_relaxed) + handed,
                  .handled = queue.handled.load(std::memory_order_relaxed)});
    }
  }
  // Messages that came before the mailboxes were known, and wait to be sorted.
  int64_t early() const { return early_.load(std::memory_order_relaxed); }

  // Calls `look` for each mailbox that was closed when the actor went idle last,
  // and has mail, or may have some that came from other nodes (RemoteRoom::Excess).
  void ForEachClosed(absl::FunctionRef<void(uint64_t life, size_t place, const ClosedMail& mail)> look) const;

  // Null until the constructor has run.
  const MailboxLayout* layout() const { return layout_.load(std::memory_order_relaxed); }

  // For RemoteRoom. The mailboxes of that life, while it takes messages; else null.
  const MailboxLayout* LayoutOf(uint64_t life) const;
  // From now on the end of the life looks for what other nodes have here (EndRemote). False if it has ended.
  bool MarkRemote(uint64_t life);
  // MarkRemote has been called for this life.
  bool is_remote() const { return (remote_.load(std::memory_order_relaxed) & kIsRemote) != 0; }
  // After Close, by the owner: the same, and MarkRemote is false from now on.
  bool EndRemote();
  // Counts as many messages as there is room for, up to `most`; none, if that is less than `least`. Without counting
  // one too many for a moment.
  int64_t TakeRoom(const MailboxLayout& layout, size_t place, int64_t least, int64_t most);
  // The same of a mailbox that is bounded in bytes, where `least` is that of one message: where nothing is held it is
  // counted though it is larger than the room.
  int64_t TakeByteRoom(const MailboxDeclaration& declaration, size_t place, int64_t least, int64_t most);
  // The counts are taken back; then AdmitInstead is due.
  void ReturnRoom(const MailboxDeclaration& declaration, size_t place, const RoomAmount& amount);
  // A count has been taken back, which a sender that waits for room may have been refused for meanwhile.
  void AdmitInstead(SystemCore& system);
  // Asks the owner to look for messages that have expired: somebody wants their room.
  void AskExpiry(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration, size_t place);
  // By the owner: a message leaves that no gate has counted; now its gate does.
  void CountBeside(size_t place, uint64_t bytes);

  // Messages wait outside its mailboxes for room (BlockedSenders). A mark: it may
  // stay when there are none any more.
  bool has_blocked_senders() const { return has_blocked_senders_.load(std::memory_order_relaxed); }
  void set_has_blocked_senders(bool has) { has_blocked_senders_.store(has, std::memory_order_relaxed); }

  // Where the owner's object is to be made, before Open.
  void* owner_memory() { return owner_memory_.data(); }
  CellOwner* owner() { return std::launder(reinterpret_cast<CellOwner*>(owner_memory_.data())); }
  static ActorCell* Of(CellOwner* owner) {
    return reinterpret_cast<ActorCell*>(reinterpret_cast<unsigned char*>(owner) - offsetof(ActorCell, owner_memory_));
  }

  // The rest is the owner's.

  uint64_t owners_life() const { return life_.load(std::memory_order_relaxed); }
  Pid pid() const { return Pid::OfLife(owners_life(), index_); }
  // Begins a life, not idle: the caller schedules its first turn.
  void Open(uint64_t life);
  // The constructor has run: these are the mailboxes. What others send is early
  // until OpenGates.
  void SetLayout(const MailboxLayout& layout);
  // From now on the gates decide.
  void OpenGates() { stage_.store(Stage::kOpen, std::memory_order_relaxed); }
  // Oldest first, or null.
  Envelope* TakeInbound() {
    Envelope* const newest = inbound_.TakeAll();
    return newest == nullptr || newest->next == nullptr ? newest : Inbound<Envelope>::Reverse(newest);
  }
  bool HasInbound() const { return inbound_.HasNodes(); }
  Gate* gates() { return gates_.load(std::memory_order_relaxed); }
  Queue& queue(size_t place) { return queue(gates(), place); }
  // The same, where the gates are at hand.
  Queue& queue(const Gate* gates, size_t place) { return const_cast<Queue&>(QueueOf(gates, place)); }
  // Messages handed over past the gate (Hand).
  std::atomic<uint32_t>& handed(size_t place) { return const_cast<std::atomic<uint32_t>&>(HandedOf(gates(), place)); }
  Gate& gate(size_t place) { return gates()[place]; }
  ByteGate& byte_gate(size_t place) { return ByteGateOf(gates(), place); }
  // A message that came early goes to that mailbox: it is counted there, unless it
  // is Full.
  absl::Status AdmitEarly(size_t place, const MailboxDeclaration& declaration, uint64_t bytes);
  // It has looked for calls that have expired: it may be asked again.
  void ForgetExpiry() { expiry_asked_.store(false, std::memory_order_relaxed); }
  // An early message has left what held it.
  void ReleaseEarly() { early_.fetch_sub(1, std::memory_order_relaxed); }
  // Publishes the mailboxes whose mail wakes the actor, and goes idle. False
  // when something has come: then it has not.
  bool TryIdle(uint64_t open) {
    if (open_.load(std::memory_order_relaxed) != open) open_.store(open, std::memory_order_relaxed);
    return inbound_.TryIdle();
  }
  // Senders get Stopping. Any thread; it may be seen late.
  bool is_stopping() const { return stage_.load(std::memory_order_relaxed) == Stage::kStopping; }
  // seq_cst: it comes before the look for threads that wait for it (SystemCore::awaited_starts), or they see it.
  void SetStarted() { has_started_.store(true, std::memory_order_seq_cst); }
  // From now on senders get Stopping.
  void BeginStop() { stage_.store(Stage::kStopping, std::memory_order_relaxed); }
  // Ends the life. Senders get NoProcess from now on. Gives what arrived and
  // was not taken, oldest first.
  Envelope* Close() { return Inbound<Envelope>::Reverse(inbound_.Close()); }
  // After Close: the counts of this life are over.
  void ResetCounts();
  // The acceptance of a message for an earlier life of the cell is taken back.
  void ForgetStale(Envelope* envelope);

 private:
  friend class CellArena;
  enum class Stage : uint8_t { kStarting, kOpen, kStopping };
  static constexpr uint8_t kIsRemote = 1;
  static constexpr uint8_t kRemoteHasEnded = 2;
  static constexpr size_t kGatesInside = 2;
  static constexpr size_t kGatesOutsideMin = 4;  // a line of gates

  // What a mailbox has besides its gate, where gates lie outside the cell: before them, from the last.
  struct Outside {
    ByteGate bytes;
    Queue queue;
    std::atomic<uint32_t> handed{0};
  };
  static const Outside& OutsideOf(const Gate* gates, size_t place) {
    return *(reinterpret_cast<const Outside*>(gates) - 1 - place);
  }
  // Only of gates outside the cell.
  static ByteGate& ByteGateOf(Gate* gates, size_t place) { return const_cast<Outside&>(OutsideOf(gates, place)).bytes; }
  bool IsInside(const Gate* gates) const { return gates == gates_inside_.data(); }
  const Queue& QueueOf(const Gate* gates, size_t place) const {
    return ABSL_PREDICT_TRUE(IsInside(gates)) ? queues_inside_[place] : OutsideOf(gates, place).queue;
  }
  const std::atomic<uint32_t>& HandedOf(const Gate* gates, size_t place) const {
    return ABSL_PREDICT_TRUE(IsInside(gates)) ? handed_inside_[place] : OutsideOf(gates, place).handed;
  }

  absl::Status AcceptEarly(SystemCore& system, const OutboundMessage& message, TransferMode mode, WhenFull when_full);
  // What a message found in its mailbox, whose bytes were counted there if they fit.
  struct CountedBytes {
    bool fit = false;
    uint64_t held = 0;
  };
  // A message larger than the capacity fits where nothing is held: reserved room of other nodes is.
  static CountedBytes CountBytes(const MailboxDeclaration& declaration, ByteGate& gate, uint64_t bytes);
  // Counts `bytes`; `wakes` when the mailbox has something to drop.
  absl::Status AcceptBytes(const MailboxDeclaration& declaration, Gate* gates, size_t place, uint64_t bytes,
                           uint32_t accepted, bool& wakes);
  // The message that was counted as the `accepted`th has a place. `is_handed`: the mailbox is one of
  // MailboxLayout::handed.
  static bool HasPlace(const Gate& gate, uint32_t accepted, bool is_handed) {
    const auto beyond = static_cast<int32_t>(accepted - gate.limit.load(std::memory_order_relaxed));
    if (ABSL_PREDICT_TRUE(beyond < 0)) return true;
    return beyond == 0 && (!is_handed || HasLastPlace(gate, accepted));
  }
  UNDERSTUDY_SLOW_PATH static bool HasLastPlace(const Gate& gate, uint32_t accepted);
  absl::Status Accept(SystemCore& system, const OutboundMessage& message, TransferMode mode, WhenFull when_full,
                      Envelope* made);
  // Takes the acceptance of a message back.
  static void Uncount(Gate* gates, size_t place, uint64_t bytes);
  const MailboxLayout::PlainTell* FindPlainTell(uint64_t life, uint32_t mailbox, const MessageType& type,
                                                uint32_t& place) const;
  bool TakesHanded(const MailboxLayout::PlainTell& mailbox) const;
  bool TryHand(const CurrentTurn& turn, uint32_t place, Envelope* envelope);
  bool Hand(size_t place, Envelope* envelope);
  void OnFull(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration, size_t place);
  UNDERSTUDY_SLOW_PATH void Schedule(SystemCore& system, uint64_t life);
  bool PushAndWake(SystemCore& system, Envelope* envelope, uint64_t bits);
  // A message was pushed to that mailbox. If it may expire there while somebody waits for room, its owner is to see it,
  // and looks when that is so (ActorCore::WatchExpiry).
  void WakeForExpiry(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration);
  void Grow(size_t mailboxes);

  // The senders' line.
  Inbound<Envelope> inbound_;
  std::atomic<uint64_t> life_{0};
  std::atomic<uint64_t> open_{0};
  std::atomic<const MailboxLayout*> layout_{nullptr};  // null until the constructor has run
  std::array<Gate, kGatesInside> gates_inside_;
  std::atomic<Gate*> gates_{gates_inside_.data()};
  uint32_t index_ = 0;
  std::atomic<uint16_t> early_{0};  // accepted early, and not sorted yet
  std::atomic<Stage> stage_{Stage::kStarting};
  std::atomic<bool> overflowed_{false};

  // The owner's.
  std::array<Queue, kGatesInside> queues_inside_;
  std::array<std::atomic<uint32_t>, kGatesInside> handed_inside_{};
  uint16_t room_for_ = kGatesInside;       // mailboxes, outside the cell if more
  std::atomic<uint8_t> in_use_{0};         // of the queues, for whoever reads counts
  std::atomic<bool> expiry_asked_{false};  // by a sender that found a mailbox of calls full
  // Written under the lock of BlockedSenders; a turn reads it when it has published its room.
  std::atomic<bool> has_blocked_senders_{false};
  std::atomic<uint8_t> remote_{0};  // kIsRemote, kRemoteHasEnded
  std::atomic<bool> has_started_{false};
  alignas(8) std::array<unsigned char, kOwnerBytes> owner_memory_;
};
static_assert(sizeof(ActorCell) == 192);

// A copy of the sender's message into the envelope made for it, which is freed when the copy throws. Not inline: a send
// that moves would pay for what that needs.
void CopyValue(Envelope* envelope, const MessageType& type, const void* value);
// A tell with the sender's message, of a type that moves safely.
Envelope* MakeLargeTell(const MessageType& type, const void* value, TransferMode mode);
// The same by a move that may throw.
void MoveBrittleValue(Envelope* envelope, const MessageType& type, void* value);
// The sender's message, of a type that moves safely, moved or copied.
inline void MakeValue(Envelope* envelope, const MessageType& type, const void* value, TransferMode mode) {
  envelope->SetMade();
  if (mode == TransferMode::kMove) {
    type.move(envelope->value(), const_cast<void*>(value));
  } else {
    CopyValue(envelope, type, value);
  }
}

// An envelope with the message in it.
Envelope* Fill(const OutboundMessage& message, TransferMode mode, bool has_call_part);
absl::Status NoMailboxError(const OutboundMessage& message);
absl::Status StoppingError();

// What is not a message, with its value.
template <class T>
Envelope* MakeEnvelope(EnvelopeKind kind, T value) {
  return Payload::With(Envelope::Make(kind, TypeOf<T>(), /*has_call_part=*/false), std::move(value)).Release();
}
// Posts it, or lets it go when that life has ended.
inline void PostOrDrop(ActorCell& cell, SystemCore& system, uint64_t life, Envelope* envelope) {
  if (cell.Post(system, life, envelope) == Pushed::kClosed) DestroyLater(envelope);
}

// One system's cells. Memory comes from a process-wide pool and goes back to
// it, closed, with the system; it is never unmapped. Any thread.
class CellArena {
 public:
  // The index of no cell: in the pids of actors whose start was refused because there are as many as there may be.
  static constexpr uint32_t kNoCell = (uint32_t{1} << 24) - 1;

  CellArena();
  ~CellArena();
  CellArena(const CellArena&) = delete;
  CellArena& operator=(const CellArena&) = delete;

  ActorCell* Allocate();
  void Free(ActorCell* cell);
  // The cell at `index`, or null when there never was one. The index may come
  // from a peer.
  ActorCell* Find(uint32_t index) const {
    const size_t chunk = index / kChunkCells;
    if (chunk >= kChunksMax) return nullptr;
    // acquire: pairs with Allocate's release, for the chunk.
    Chunk* found = chunks_[chunk].load(std::memory_order_acquire);
    return found == nullptr ? nullptr : &found->cells[index % kChunkCells];
  }
  // Cells of living actors, in order of index.
  std::vector<ActorCell*> Used() const;

 private:
  static constexpr size_t kChunkCells = 256;
  static constexpr size_t kChunksMax = kNoCell / kChunkCells;
  struct Chunk {
    std::array<ActorCell, kChunkCells> cells;
    std::array<std::atomic<uint32_t>, kChunkCells> next_free;
  };
  // For FreeList.
  std::atomic<uint32_t>& NextFree(uint32_t index) const {
    // relaxed: it was found in free_, whose order passes the chunk on.
    Chunk* chunk = chunks_[index / kChunkCells].load(std::memory_order_relaxed);
    return chunk->next_free[index % kChunkCells];
  }
  // Under mu_: the first cell of a new chunk.
  uint32_t Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  struct Pool;
  static Pool& GetPool();

  const std::unique_ptr<std::atomic<Chunk*>[]> chunks_;
  mutable absl::Mutex mu_;
  size_t chunk_count_ ABSL_GUARDED_BY(mu_) = 0;
  FreeList<> free_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_ACTOR_CELL_H_
