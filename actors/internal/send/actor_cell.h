// ActorCell: the part of an actor that senders use. Its memory is never freed and
// never changes its type, so a channel holds the cell's plain index.
//
// A cell serves many lives (actors), one after another. Its first cache line is
// for senders, the rest for the owner, whose object lies in the cell.
//
// Invariants:
// 1. `life_` is the life that has the cell, or had it last. A send to any other
//    life gets NoProcess. A sender that checked `life_` and pushes only after the
//    cell's next life has begun is detected by the life in its envelope.
// 2. A gate counts in `accepted` the messages that it accepted; the owner counts
//    those that left (Queue::left) and sets `limit` to left + room. A message whose
//    count exceeds `limit` is refused. In a dead actor `limit` is 0, and so is
//    `accepted`, except for senders that have counted a message and are about to
//    take the count back.
// 3. Gates and queues move to larger memory only, and the old memory is kept, so a
//    sender that still has the old pointer counts in memory that holds gates.
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

#include "absl/base/optimization.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
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

// The value of a kOverdue envelope, shared with the timer that posted the envelope. The actor sets it to true when it
// handles the envelope, if its start is over by then.
using HasStarted = std::shared_ptr<std::atomic<bool>>;

// The counts of one mailbox that senders use. They wrap around; only their differences have a meaning.
struct Gate {
  std::atomic<uint32_t> accepted{0};
  std::atomic<uint32_t> limit{0};
};

// A gate that counts bytes, for a mailbox with a bound in bytes.
struct ByteGate {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> limit{0};
};

// The part of one mailbox that its owner uses. Other threads read the counts for the ledger.
struct Queue {
  Envelope* newest = nullptr;  // circular list: newest->next is the oldest
  // The number of messages that left, of those that the gate counted. A direct hand-off
  // subtracts one: its message is added when it leaves, but the gate never counted it.
  std::atomic<uint32_t> left{0};
  std::atomic<uint32_t> handled{0};
};

// The mail of a closed mailbox.
struct ClosedMail {
  absl::string_view mailbox;  // its wire name
  int64_t waiting = 0;        // messages that wait
  uint32_t left = 0;          // messages that have left since the life began
};

// Adds to a counter that only the owner writes and others read; returns the sum.
template <class T>
T AddAsOwner(std::atomic<T>& counter, T n) {
  const T sum = counter.load(std::memory_order_relaxed) + n;
  counter.store(sum, std::memory_order_relaxed);
  return sum;
}

// The owner's object, which lies in the cell.
class CellOwner : public Runnable {
 public:
  // Ends the actor's life although its handler has not returned. Call under a seizure
  // of the worker that is in this actor's user code (Executor::WhileInUserCode).
  virtual void Fence(ExitReason reason) = 0;
  // True if the actor's start is not over. Call under a seizure, as Fence.
  virtual bool IsStarting() const = 0;
  // Called in the actor's own turn: the turn's DestructionQueue has values to destroy in user code.
  virtual void HasDeferred() = 0;
  // Called in the actor's own turn: the actor sent itself a signal, which has to act before the messages that wait.
  virtual void DrainSoon() = 0;

 protected:
  ~CellOwner() = default;
};

// The treatment of a message for which the mailbox has no room.
enum class WhenFull {
  kRefuses,  // the message is refused
  kWaits,    // the message is refused for now, and its sender waits for room (BlockedSenders)
  kIsBeside  // the message is accepted: it counts against a session's first allowance (RemoteRoom, "beside")
};

class alignas(64) ActorCell {
 public:
  static constexpr size_t kOwnerBytes = 80;  // so that a cell is three cache lines

  ActorCell() = default;
  ActorCell(const ActorCell&) = delete;
  ActorCell& operator=(const ActorCell&) = delete;

  // Accepts a message, or refuses it with NoProcess, Stopping, NoMailbox or
  // Full; only an accepted one is moved from. `system` is the cell's.
  absl::Status Accept(SystemCore& system, const OutboundMessage& message, TransferMode mode,
                      WhenFull when_full = WhenFull::kRefuses) {
    return Accept(system, message, mode, when_full, /*made=*/nullptr);
  }
  // Like Accept, for a tell whose envelope `made` exists already, with its bytes in the call part, so no user code
  // runs. `made` belongs to the caller until it is accepted.
  absl::Status AcceptMade(SystemCore& system, const OutboundMessage& message, Envelope* made) {
    return Accept(system, message, TransferMode::kMove, WhenFull::kWaits, made);
  }
  // Like Accept, for a message of another node. Credit covers the message, so it is not refused for lack of room, but
  // an actor that has not started yet refuses messages beyond a limit that its 16-bit count of early mail needs.
  absl::Status AcceptRemote(SystemCore& system, Message came);
  // True if the actor is idle and nothing has arrived. The value may be stale when the caller sees it.
  bool IsIdle() const { return inbound_.CanClaim(); }
  // The fastest path (plain_send.h): hands a tell of a small type to an actor for which IsIdle returned true. If it
  // returns false, the message was not accepted; try AcceptPlain.
  bool HandSmall(const CurrentTurn& turn, Pid to, uint32_t mailbox, const MessageType& type, const void* value);
  // Accept for a tell in the common case (plain_send.h). If it returns false, the
  // message was not accepted; Accept handles the other cases and says why.
  bool AcceptPlain(const CurrentTurn& turn, Pid to, uint32_t mailbox, const MessageType& type, const void* value,
                   TransferMode mode);
  // For a message that could not be pushed: moves its value back to the sender, takes back its count (unless `gates` is
  // null: no gate counted it), and frees the envelope.
  UNDERSTUDY_SLOW_PATH static void TakeBack(Gate* gates, const MessageType& type, const void* value, TransferMode mode,
                                            Envelope* envelope);
  // Pushes an envelope that is not a message, and wakes the actor. Returns kClosed if
  // that life has ended: the envelope is then still the caller's. Returns kMustSchedule
  // if the actor was idle: Post has scheduled it already.
  Pushed Post(SystemCore& system, uint64_t life, Envelope* envelope);

  bool IsAlive(uint64_t life) const { return life_.load(std::memory_order_acquire) == life && inbound_.IsLive(); }
  // If true, that life has ended, and the caller sees what its turns wrote.
  bool HasEnded(uint64_t life) const {
    // acquire: pairs with the release store in a later life's Open.
    return life_.load(std::memory_order_acquire) != life || inbound_.HasEnded();
  }
  // True if the actor with that life lives and its start is over.
  bool HasStarted(uint64_t life) const {
    // seq_cst: pairs with SetStarted. Loaded before IsAlive: the caller has the pid, so the value is that of this life
    // or of a later one; if this life is still alive after the load, the value is its own.
    return has_started_.load(std::memory_order_seq_cst) && IsAlive(life);
  }
  // The life that the cell has now, or 0.
  uint64_t life() const { return inbound_.IsLive() ? life_.load(std::memory_order_acquire) : 0; }
  // The cell's index in its arena. Constant while the cell is in use.
  uint32_t index() const { return index_; }
  // The messages of one mailbox so far, for the ledger. Exact while no turn runs and no thread sends.
  struct Counts {
    int64_t accepted = 0;
    int64_t left = 0;
    int64_t handled = 0;
  };
  // Calls `look(layout, place, counts)` for each mailbox. The counts include room that other nodes reserved, and do not
  // include messages that wait beside: RemoteRoom::Excess gives the difference.
  template <class F>
  void ForEachMailbox(F&& look) const {
    // acquire: pairs with SetLayout's release store of layout_, for the gates and queues.
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

  // Bit i: messages for mailbox i woke the actor when it went idle last.
  uint64_t open_mailboxes() const { return open_.load(std::memory_order_relaxed); }
  // Bytes in a mailbox bounded in bytes, and room there that other nodes reserved.
  int64_t BytesHeld(const MailboxLayout& layout, size_t place) const;
  // If the actor with that life is idle, calls `look` and returns true. No turn begins meanwhile, so `look` may read
  // what is the owner's. It must be short, and must neither wait nor send.
  bool WhileIdle(SystemCore& system, uint64_t life, absl::FunctionRef<void()> look);

  // Calls `look` for the newest `at_most` envelopes that are not sorted, newest first. Owner, and in WhileIdle.
  void ForEachArrived(int at_most, absl::FunctionRef<void(const Envelope&)> look) const;

  // Null until the constructor has run.
  const MailboxLayout* layout() const { return layout_.load(std::memory_order_relaxed); }

  // For RemoteRoom. The mailboxes of that life if it accepts messages through its gates now; else null.
  const MailboxLayout* LayoutOf(uint64_t life) const;
  // Marks that other nodes may have room or messages here, so that the end of the life looks for them (EndRemote).
  // False if that life has ended.
  bool MarkRemote(uint64_t life);
  // MarkRemote has been called for this life.
  bool is_remote() const { return (remote_.load(std::memory_order_relaxed) & kIsRemote) != 0; }
  // Owner, after Close. Returns is_remote(); MarkRemote returns false from now on.
  bool EndRemote();
  // Counts as many messages as there is room for, up to `most`, or none if that is less than `least`; returns how many.
  // Unlike Accept it never counts beyond the limit, not even for a moment.
  int64_t TakeRoom(const MailboxLayout& layout, size_t place, int64_t least, int64_t most);
  // Like TakeRoom, in bytes, for a mailbox bounded in bytes. `least` is the size of one message: an empty mailbox
  // counts it even if it is larger than the room.
  int64_t TakeByteRoom(const MailboxDeclaration& declaration, size_t place, int64_t least, int64_t most);
  // Takes counts of TakeRoom and TakeByteRoom back. Call AdmitInstead afterwards.
  void ReturnRoom(const MailboxDeclaration& declaration, size_t place, const RoomAmount& amount);
  // Admits waiting senders. Call after a count was taken back: meanwhile it may have kept a waiting sender from being
  // admitted.
  void AdmitInstead(SystemCore& system);
  // Asks the owner to look for messages that have expired, because a sender needs the room that they occupy.
  void AskExpiry(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration, size_t place);
  // Owner. Counts in the gates a message beside that leaves its mailbox, because they did not count it before.
  void CountBeside(size_t place, uint64_t bytes);

  // True if senders may be waiting for room (BlockedSenders). It may stay true when
  // none waits any more.
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
  // Sets the mailboxes that the constructor declared. Messages are early mail until OpenGates.
  void SetLayout(const MailboxLayout& layout);
  // From now on messages are accepted through the gates.
  void OpenGates() { stage_.store(Stage::kOpen, std::memory_order_relaxed); }
  // Takes all envelopes that have arrived, oldest first; null if there are none.
  Envelope* TakeInbound() {
    Envelope* const newest = inbound_.TakeAll();
    return newest == nullptr || newest->next == nullptr ? newest : Inbound<Envelope>::Reverse(newest);
  }
  bool HasInbound() const { return inbound_.HasNodes(); }
  Gate* gates() { return gates_.load(std::memory_order_relaxed); }
  Queue& queue(size_t place) { return queue(gates(), place); }
  // Like queue(place), for a caller that has loaded gates() already.
  Queue& queue(const Gate* gates, size_t place) { return const_cast<Queue&>(QueueOf(gates, place)); }
  // Counts direct hand-offs (Hand).
  std::atomic<uint32_t>& handed(size_t place) { return const_cast<std::atomic<uint32_t>&>(HandedOf(gates(), place)); }
  Gate& gate(size_t place) { return gates()[place]; }
  ByteGate& byte_gate(size_t place) { return ByteGateOf(gates(), place); }
  // Counts an early message in the gate of that mailbox, or returns Full.
  absl::Status AdmitEarly(size_t place, const MailboxDeclaration& declaration, uint64_t bytes);
  // Call before the actor looks for expired messages: from then on OnFull may ask it again.
  void ForgetExpiry() { expiry_asked_.store(false, std::memory_order_relaxed); }
  // Takes back the count of an early message, which was sorted into a mailbox or could not be pushed.
  void ReleaseEarly() { early_.fetch_sub(1, std::memory_order_relaxed); }
  // Publishes the mask of mailboxes whose messages wake the actor, and goes idle.
  // Returns false, and does not go idle, if an envelope has arrived.
  bool TryIdle(uint64_t open) {
    if (open_.load(std::memory_order_relaxed) != open) open_.store(open, std::memory_order_relaxed);
    return inbound_.TryIdle();
  }
  // True after BeginStop: senders get Stopping. Any thread; the value may be stale.
  bool is_stopping() const { return stage_.load(std::memory_order_relaxed) == Stage::kStopping; }
  // seq_cst: the actor stores has_started_, then loads Population::awaited_starts; a thread that waits for the start
  // raises awaited_starts, then loads has_started_. At least one sees the other's write.
  void SetStarted() { has_started_.store(true, std::memory_order_seq_cst); }
  // From now on senders get Stopping.
  void BeginStop() { stage_.store(Stage::kStopping, std::memory_order_relaxed); }
  // Ends the life: senders get NoProcess from now on. Returns the envelopes that
  // arrived and were not taken, oldest first.
  Envelope* Close() { return Inbound<Envelope>::Reverse(inbound_.Close()); }
  // After Close: subtracts the counts of this life.
  void ResetCounts();
  // Takes back the count of a message that was pushed for an earlier life of the cell.
  void ForgetStale(Envelope* envelope);

 private:
  friend class CellArena;
  enum class Stage : uint8_t { kStarting, kOpen, kStopping };
  static constexpr uint8_t kIsRemote = 1;
  static constexpr uint8_t kRemoteHasEnded = 2;
  static constexpr size_t kGatesInside = 2;
  static constexpr size_t kGatesOutsideMin = 4;  // half a cache line of gates

  // The data that a mailbox has besides its gate, if the gates lie outside the cell. The array of these ends where the
  // array of gates begins and is in reverse order, so that the address of the gates is enough to find both.
  struct Outside {
    ByteGate bytes;
    Queue queue;
    std::atomic<uint32_t> handed{0};
  };
  static const Outside& OutsideOf(const Gate* gates, size_t place) {
    return *(reinterpret_cast<const Outside*>(gates) - 1 - place);
  }
  // Requires gates outside the cell.
  static ByteGate& ByteGateOf(Gate* gates, size_t place) { return const_cast<Outside&>(OutsideOf(gates, place)).bytes; }
  bool IsInside(const Gate* gates) const { return gates == gates_inside_.data(); }
  const Queue& QueueOf(const Gate* gates, size_t place) const {
    return ABSL_PREDICT_TRUE(IsInside(gates)) ? queues_inside_[place] : OutsideOf(gates, place).queue;
  }
  const std::atomic<uint32_t>& HandedOf(const Gate* gates, size_t place) const {
    return ABSL_PREDICT_TRUE(IsInside(gates)) ? handed_inside_[place] : OutsideOf(gates, place).handed;
  }

  absl::Status AcceptEarly(SystemCore& system, const OutboundMessage& message, TransferMode mode, WhenFull when_full);
  // `fit`: the bytes of the message fit, and were counted. `held`: the bytes that the mailbox held before.
  struct CountedBytes {
    bool fit = false;
    uint64_t held = 0;
  };
  // A message larger than the capacity fits if the mailbox holds nothing, not even room reserved by other nodes.
  static CountedBytes CountBytes(const MailboxDeclaration& declaration, ByteGate& gate, uint64_t bytes);
  // Counts `bytes`, or returns Full after taking back the count of the message. `accepted` is that count. Sets `wakes`
  // if the mailbox drops its oldest messages and now holds some that the owner must drop.
  absl::Status AcceptBytes(const MailboxDeclaration& declaration, Gate* gates, size_t place, uint64_t bytes,
                           uint32_t accepted, bool& wakes);
  // True if there is room for the message whose fetch_add made the count `accepted`. `is_handed`: the mailbox is one of
  // MailboxLayout::handed.
  static bool HasPlace(const Gate& gate, uint32_t accepted, bool is_handed) {
    const auto beyond = static_cast<int32_t>(accepted - gate.limit.load(std::memory_order_relaxed));
    if (ABSL_PREDICT_TRUE(beyond < 0)) return true;
    return beyond == 0 && (!is_handed || HasLastPlace(gate, accepted));
  }
  UNDERSTUDY_SLOW_PATH static bool HasLastPlace(const Gate& gate, uint32_t accepted);
  absl::Status Accept(SystemCore& system, const OutboundMessage& message, TransferMode mode, WhenFull when_full,
                      Envelope* made);
  // Takes back the count of a message and of its bytes.
  static void Uncount(Gate* gates, size_t place, uint64_t bytes);
  const MailboxLayout::PlainTell* FindPlainTell(uint64_t life, uint32_t mailbox, const MessageType& type,
                                                uint32_t& place) const;
  bool TakesHanded(const MailboxLayout::PlainTell& mailbox) const;
  bool TryHand(const CurrentTurn& turn, uint32_t place, Envelope* envelope);
  bool Hand(size_t place, Envelope* envelope);
  void OnFull(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration, size_t place);
  bool MayStayIdle(const Envelope* newest) const;
  UNDERSTUDY_SLOW_PATH void Schedule(SystemCore& system, uint64_t life);
  bool PushAndWake(SystemCore& system, Envelope* envelope, uint64_t bits);
  // Call after a message was pushed to that mailbox. Wakes the owner if it has to watch the expiry of the message
  // (WatchExpiry in turn/actor_queues.h): that of a call, or of a tell while senders wait for its room.
  void WakeForExpiry(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration);
  void Grow(size_t mailboxes);

  // The cache line that senders use.
  Inbound<Envelope> inbound_;
  std::atomic<uint64_t> life_{0};
  std::atomic<uint64_t> open_{0};
  std::atomic<const MailboxLayout*> layout_{nullptr};  // null until the constructor has run
  std::array<Gate, kGatesInside> gates_inside_;
  std::atomic<Gate*> gates_{gates_inside_.data()};
  uint32_t index_ = 0;
  std::atomic<uint16_t> early_{0};  // number of messages that were accepted early and are not sorted yet
  std::atomic<Stage> stage_{Stage::kStarting};
  std::atomic<bool> overflowed_{false};  // a sender has told the actor of an overflow that fails it

  // The cache lines that the owner uses.
  std::array<Queue, kGatesInside> queues_inside_;
  std::array<std::atomic<uint32_t>, kGatesInside> handed_inside_{};
  uint16_t room_for_ = kGatesInside;       // the number of mailboxes for which gates_ has memory
  std::atomic<uint8_t> in_use_{0};         // the number of mailboxes whose counts ResetCounts has to clear
  std::atomic<bool> expiry_asked_{false};  // a sender that found a mailbox full has asked to look for expired messages
  // Written under the lock of BlockedSenders; a turn reads it when it has published its room.
  std::atomic<bool> has_blocked_senders_{false};
  std::atomic<uint8_t> remote_{0};  // kIsRemote, kRemoteHasEnded
  std::atomic<bool> has_started_{false};
  alignas(8) std::array<unsigned char, kOwnerBytes> owner_memory_;
};
static_assert(sizeof(ActorCell) == 192);

// Copies the sender's message into `envelope`, which is freed if the copy throws. Not inline, so that a send that moves
// does not pay for the exception handling.
void CopyValue(Envelope* envelope, const MessageType& type, const void* value);
// Makes an envelope for a tell, with the sender's message, whose type must be one that moves safely.
Envelope* MakeLargeTell(const MessageType& type, const void* value, TransferMode mode);
// Moves the value into `envelope`, which is freed if the move throws.
void MoveBrittleValue(Envelope* envelope, const MessageType& type, void* value);
// Moves or copies the sender's message, whose type must be one that moves safely, into `envelope`.
inline void MakeValue(Envelope* envelope, const MessageType& type, const void* value, TransferMode mode) {
  envelope->SetMade();
  if (mode == TransferMode::kMove) {
    type.move(envelope->value(), const_cast<void*>(value));
  } else {
    CopyValue(envelope, type, value);
  }
}

// Makes an envelope with the message in it.
Envelope* Fill(const OutboundMessage& message, TransferMode mode, bool has_call_part);
absl::Status NoMailboxError(const OutboundMessage& message);
absl::Status StoppingError();

// Makes an envelope that is not a message, with its value.
template <class T>
Envelope* MakeEnvelope(EnvelopeKind kind, T value) {
  return Payload::With(Envelope::Make(kind, TypeOf<T>(), /*has_call_part=*/false), std::move(value)).Release();
}
// Posts the envelope, or destroys it (DestroyLater) if that life has ended.
inline void PostOrDrop(ActorCell& cell, SystemCore& system, uint64_t life, Envelope* envelope) {
  if (cell.Post(system, life, envelope) == Pushed::kClosed) DestroyLater(envelope);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_ACTOR_CELL_H_
