// Envelope: the block of memory in which a message, a reply or a signal travels:
// a header of 48 bytes, followed by the value.
//
// The size and the address of a block are multiples of 64 bytes, so that the low
// bits of its address are free for other uses (Inbound). Blocks come from lists of
// the allocating thread (block_pool.h) and may be freed by any thread. An envelope
// has one owner at a time: the sender until it is pushed, then the receiver.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_ENVELOPE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_ENVELOPE_H_

#include <cstddef>
#include <cstdint>

#include "understudy/actors/clock.h"
#include "understudy/actors/internal/memory/block_pool.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/trace.h"

namespace understudy::internal {

struct Gate;
struct MessageType;

// How a sender's value gets into an envelope.
enum class TransferMode { kMove, kCopy };

// The bits of an ask's id that say what of the call comes in items: the answer (a stream), the request (an upload).
inline constexpr uint64_t kStreamAsk = uint64_t{1} << 63;
inline constexpr uint64_t kUploadAsk = uint64_t{1} << 62;
constexpr bool IsStreamAsk(uint64_t ask) { return (ask & kStreamAsk) != 0; }
constexpr bool IsUploadAsk(uint64_t ask) { return (ask & kUploadAsk) != 0; }
// Both bits, as a small number. 0 for a call with neither, and for no call.
constexpr uint8_t ItemBits(uint64_t ask) { return static_cast<uint8_t>(ask >> 62U); }

// The part of an envelope that calls have besides the value. Early mail, and tells to mailboxes that are not plain
// (MailboxLayout::plain), have it too.
struct CallPart {
  uint64_t ask = 0;  // the asker's id of this call; 0 for a tell
  // The asker's deadline; the call expires then. Infinite for a tell.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // The time at which the message was accepted. Set for early mail, and if the mailbox has a time to live.
  MonotonicTime accepted;
  uint64_t bytes = 0;  // the size that a mailbox bounded in bytes counts
};

enum class EnvelopeKind : uint8_t {
  kMessage,
  kReply,           // an answer to an ask, often in the call's own block
  kSignal,          // the value is a Signal
  kTick,            // a timer of the actor is due; no value
  kWake,            // only gives the actor a turn; no value
  kOverdue,         // the time limit of the start is over; the value is a HasStarted
  kOverflow,        // a mailbox is full that fails its actor then; no value
  kLookForExpired,  // a mailbox is full whose messages may have expired; no value
  kOutcome,         // the value is a SpawnReport
  kNameChange,      // the value is a std::shared_ptr<NameNews>
  kBox,             // only for a DestructionQueue, which destroys the value
  kDeadLetter,      // only for a DestructionQueue, which publishes the value, a DeadLetter
  kSuspend,         // the value is a Suspension
  kTrace,           // a trace of the actor's messages has begun or ended; no value
};

// The actor keeps its mailboxes closed until `end`, in place of an earlier end. One that has passed ends a suspension.
struct Suspension {
  MonotonicTime end;
};

struct Envelope {
  static constexpr uint8_t kHasCallPart = 1;
  static constexpr uint8_t kIsBoxed = 2;  // the value lies elsewhere: it is large or over-aligned
  static constexpr uint8_t kIsEarly = 4;  // accepted before the mailboxes were known
  // A message of a trace: it has a TracePart at the end of its block, and a call part too, so that the fast paths of
  // tells pass it by.
  static constexpr uint8_t kIsTraced = 8;
  // A remote sender has had its credit back: the message has left a mailbox before, because it was postponed or
  // forwarded, or is unhandled mail.
  static constexpr uint8_t kCreditReturned = 16;
  static constexpr uint8_t kHasValue = 32;
  static constexpr uint8_t kIsSmall = 64;  // a tell of a small type (SmallBytes)
  // From another node, under its first allowance: no gate counts the message while it waits (RemoteRoom).
  static constexpr uint8_t kIsBeside = 128;

  Envelope* next = nullptr;
  uint64_t life = 0;         // the receiver's
  uint64_t sender_life = 0;  // 0 if a plain thread sent the message
  uint32_t sender_cell = 0;
  EnvelopeKind kind = EnvelopeKind::kMessage;
  uint8_t flags = 0;
  uint8_t units = 1;    // size of the block, in kBlockUnit
  uint8_t mailbox = 0;  // the mailbox's place in the actor's MailboxLayout
  union {
    // Once the message is in its mailbox: when it came (ActorCore::NextStamp). 0 for a direct hand-off, which is not
    // sorted.
    uint64_t stamp = 0;
    // Before that: the address of the gates that counted it, or, if it is early or beside, the hash of its mailbox; and
    // its WaitingMark.
    uint64_t arriving;
  };
  const MessageType* type = nullptr;  // the type of the value

  // Makes an envelope without a value.
  static Envelope* Make(EnvelopeKind kind);
  // Makes an envelope with memory for a value of `type`. The caller constructs the value, then calls SetMade.
  static Envelope* Make(EnvelopeKind kind, const MessageType& type, bool has_call_part);
  // Like Make above, in a block of `units`, which must be enough for the type.
  static Envelope* Make(EnvelopeKind kind, const MessageType& type, bool has_call_part, uint8_t units);
  // Like Make, for a message of a trace, with a call part. `bytes_behind` is how many bytes lie behind the value.
  static Envelope* MakeTraced(const MessageType& type, const TracePart& trace, size_t bytes_behind = 0);
  // Destroys the value, if any, and frees the block.
  static void Delete(Envelope* envelope);

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  void set(uint8_t flag) { flags = static_cast<uint8_t>(flags | flag); }
  void clear(uint8_t flag) { flags = static_cast<uint8_t>(flags & ~flag); }

  // An address of gates has 47 bits, of which the lowest three are zero; the others are free for a WaitingMark.
  static constexpr int kAddressBits = 47;
  static constexpr int kFreeLowBits = 3;
  static constexpr uint64_t kAddressMask = ((uint64_t{1} << kAddressBits) - 1) >> kFreeLowBits << kFreeLowBits;
  Pid sender() const { return Pid::OfLife(sender_life, sender_cell); }
  void set_sender(Pid pid) {
    sender_life = pid.life();
    sender_cell = pid.cell();
  }

  CallPart& call() { return *reinterpret_cast<CallPart*>(this + 1); }
  const CallPart& call() const { return *reinterpret_cast<const CallPart*>(this + 1); }
  // For a message that is not in its mailbox yet: the gates that counted it. A message that is early, or beside
  // the capacity, has the hash of its mailbox instead.
  Gate* gates() const {
    return reinterpret_cast<Gate*>(arriving & kAddressMask);  // NOLINT(performance-no-int-to-ptr): set_gates stored it
  }
  void set_gates(Gate* counted_by) { arriving = reinterpret_cast<uintptr_t>(counted_by); }
  uint32_t mailbox_hash() const { return static_cast<uint32_t>(arriving >> kFreeLowBits); }
  void set_mailbox_hash(uint32_t hash) { arriving = uint64_t{hash} << kFreeLowBits; }

  // Requires kIsTraced.
  TracePart& trace() {
    return *reinterpret_cast<TracePart*>(reinterpret_cast<unsigned char*>(this) + units * kBlockUnit -
                                         sizeof(TracePart));
  }
  // 0 for a tell.
  uint64_t ask() const { return has(kHasCallPart) ? call().ask : 0; }

  // The asker's deadline, or infinity.
  MonotonicTime deadline() const { return has(kHasCallPart) ? call().deadline : MonotonicTime::InfiniteFuture(); }
  // The size that a mailbox bounded in bytes has counted; 0 without a call part.
  uint64_t counted_bytes() const { return has(kHasCallPart) ? call().bytes : 0; }

  // The memory of the value, whether or not it is constructed.
  void* value() {
    void* const place = reinterpret_cast<unsigned char*>(this + 1) + (has(kHasCallPart) ? sizeof(CallPart) : 0);
    return has(kIsBoxed) ? *static_cast<void**>(place) : place;
  }
  const void* value() const { return const_cast<Envelope*>(this)->value(); }
  void SetMade() { set(kHasValue); }
  // Destroys the value, if any.
  void DropValue();
  // Prepares the block for a value of another type. Requires DropValue before. Returns
  // false, and changes nothing, if the block is too small.
  bool Retype(const MessageType& other);

 private:
  // Allocates memory outside the block for a value of that type.
  void Box(const MessageType& boxed);
};
static_assert(sizeof(Envelope) == 48 && sizeof(CallPart) == 32 && sizeof(TracePart) % alignof(TracePart) == 0);

// True if a value of that size and alignment is allocated outside the block, which then contains a pointer to it.
constexpr bool IsBoxed(size_t size, size_t alignment) { return alignment > 16 || size > (size_t{8} << 10); }
constexpr uint8_t BlockUnits(size_t size, size_t alignment, bool has_call_part) {
  const size_t value = IsBoxed(size, alignment) ? sizeof(void*) : size;
  const size_t bytes = sizeof(Envelope) + (has_call_part ? sizeof(CallPart) : 0) + value;
  return static_cast<uint8_t>(UnitsFor(bytes));
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_ENVELOPE_H_
