// Envelope: the block in which a message, a reply or a signal travels: a
// header of 48 bytes and the value behind it.
//
// Blocks come in multiples of 64 bytes, from lists of the thread that asks
// (block_pool.h), and may be freed by any thread. They lie at multiples of
// 64, so that the low bits of an address are free for the word of a cell.
// One owner at a time: the sender until it is pushed, then the receiver.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_ENVELOPE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_ENVELOPE_H_

#include <cstddef>
#include <cstdint>

#include "understudy/actors/clock.h"
#include "understudy/actors/internal/memory/block_pool.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

struct MessageType;

// How a sender's value gets into an envelope.
enum class TransferMode { kMove, kCopy };

// The part of an envelope that calls have besides the value. Early mail, and tells to mailboxes that are not plain
// (MailboxLayout::plain), have it too.
struct CallPart {
  uint64_t ask = 0;  // the asker's id of this call; 0 for a tell
  // The asker's deadline; the call expires then. Infinite for a tell.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // When it was accepted. Set if its mailbox has a time to live.
  MonotonicTime accepted;
  uint64_t bytes = 0;  // counted by a mailbox that is bounded in bytes
};

enum class EnvelopeKind : uint8_t {
  kMessage,
  kReply,       // to an ask, often in the call's own block
  kSignal,      // the value is a Signal
  kTick,        // a time of the actor's own timers has come; no value
  kWake,        // nothing: the actor has a turn
  kOverdue,     // the start has taken too long, unless it is over by now; the value is a HasStarted
  kOverflow,    // a mailbox overflowed that fails its actor, or one of calls; no value
  kOutcome,     // the value is a SpawnReport
  kNameChange,  // the value is a NameReport
};

struct Envelope {
  static constexpr uint8_t kHasCallPart = 1;
  static constexpr uint8_t kIsBoxed = 2;     // the value lies elsewhere: it is large or over-aligned
  static constexpr uint8_t kIsEarly = 4;     // accepted before the mailboxes were known
  static constexpr uint8_t kWasInHand = 16;  // and was put back
  static constexpr uint8_t kHasValue = 32;
  static constexpr uint8_t kIsSmall = 64;  // a tell of a small type (SmallBytes)
  // From another node, under its first allowance: no gate counts the message while it waits (RemoteRoom).
  static constexpr uint8_t kIsBeside = 128;

  Envelope* next = nullptr;
  uint64_t life = 0;         // of the receiver
  uint64_t sender_life = 0;  // 0 when a plain thread sent it
  uint32_t sender_cell = 0;
  EnvelopeKind kind = EnvelopeKind::kMessage;
  uint8_t flags = 0;
  uint8_t units = 1;    // of the block
  uint8_t mailbox = 0;  // its place among those of its actor
  // Until the message is sorted into its mailbox: the gates (an address) that counted
  // it, or, for early messages and messages beside, the hash of its mailbox. From then
  // on: its number in the order of arrival.
  uint64_t stamp = 0;
  const MessageType* type = nullptr;  // of the value

  // Makes an envelope without a value.
  static Envelope* Make(EnvelopeKind kind);
  // Makes an envelope with memory for a value of `type`. The caller constructs the value, then calls SetMade.
  static Envelope* Make(EnvelopeKind kind, const MessageType& type, bool has_call_part);
  // As above, in a block of `units`, which must be enough for the type.
  static Envelope* Make(EnvelopeKind kind, const MessageType& type, bool has_call_part, uint8_t units);
  // Destroys the value, if any, and frees the block.
  static void Delete(Envelope* envelope);

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  void set(uint8_t flag) { flags = static_cast<uint8_t>(flags | flag); }
  void clear(uint8_t flag) { flags = static_cast<uint8_t>(flags & ~flag); }

  Pid sender() const { return Pid::OfLife(sender_life, sender_cell); }
  void set_sender(Pid pid) {
    sender_life = pid.life();
    sender_cell = pid.cell();
  }

  CallPart& call() { return *reinterpret_cast<CallPart*>(this + 1); }
  const CallPart& call() const { return *reinterpret_cast<const CallPart*>(this + 1); }
  // 0 for a tell.
  uint64_t ask() const { return has(kHasCallPart) ? call().ask : 0; }

  // The asker's deadline, or infinity.
  MonotonicTime deadline() const { return has(kHasCallPart) ? call().deadline : MonotonicTime::InfiniteFuture(); }
  // Counted by a mailbox bounded in bytes.
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
  // Makes room for a value of another type in the same block, after DropValue.
  // False when it is too small.
  bool Retype(const MessageType& other);

 private:
  // Allocates memory outside the block for a value of that type.
  void Box(const MessageType& boxed);
};
static_assert(sizeof(Envelope) == 48 && sizeof(CallPart) == 32);

// How a value of that size and alignment lies in a block.
constexpr bool IsBoxed(size_t size, size_t alignment) { return alignment > 16 || size > (size_t{8} << 10); }
constexpr uint8_t BlockUnits(size_t size, size_t alignment, bool has_call_part) {
  const size_t value = IsBoxed(size, alignment) ? sizeof(void*) : size;
  const size_t bytes = sizeof(Envelope) + (has_call_part ? sizeof(CallPart) : 0) + value;
  return static_cast<uint8_t>(UnitsFor(bytes));
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_ENVELOPE_H_
