// SendQueues: the envelopes of a session that have no number yet, a queue for
// each sender, and the rule by which senders share the wire. A state machine without
// a lock; ReliableSequence owns it.
//
// The rule is deficit round robin (Shreedhar and Varghese 1995): each sender in
// turn takes limits::kSendQuantumBytes. A sender that had nothing waiting goes
// before those whose quantum is spent, as in FQ-CoDel (RFC 8290, section 3), so
// a small envelope waits for no large one; but such senders together take at
// most half of a frame while others wait, so a large envelope is never starved by
// small ones.
//
// Consecutive small envelopes of one sender that are sent in the same way wait and are
// taken together (EnvelopeRun). An envelope larger than a slot is cut into parts. Its
// parts carry a number below limits::kNodesPartNumber, which no other envelope has until
// the last part is cut. If no number is free, or the envelopes in parts would exceed
// limits::kSendersBytesInPartsMax together, the sender of a further large envelope is
// parked, with all that it sent afterwards.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_SEND_QUEUES_H_
#define UNDERSTUDY_TRANSPORT_SESSION_SEND_QUEUES_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"

namespace understudy {

// The kind of an envelope: which of a session's bounds its bytes count against.
enum class Room : uint8_t {
  kMessages,
  kReplies,
  kAnswers,  // short replies, refusals of the peer's messages
  kSignals,
  kCredit,
  kNames,
};
inline constexpr size_t kRooms = 6;

struct OutboundEnvelope {
  std::string bytes;
  Room room = Room::kMessages;
  // Envelopes of one sender keep their order: Pid::life() of the actor that
  // sends, or ThreadSender(). 0 is the node itself, whose envelopes go before all
  // that waits.
  uint64_t sender = 0;
  // Hash of the mailbox that the envelope names, or 0.
  uint32_t mailbox = 0;
  // Sent as the time that is left when the frame is written.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // The bytes that ReliableSequence::Keep has reserved for this envelope, at least bytes.size(); 0: none were reserved.
  size_t kept_bytes = 0;
};

// Consecutive envelopes of one sender that wait: one of any size, or several small ones
// that are sent in the same way and stored together, which costs less.
class EnvelopeRun {
 public:
  explicit EnvelopeRun(OutboundEnvelope first) : envelope_(std::move(first)), bytes_(envelope_.bytes.size()) {}

  // Appends a copy of `next`, which must be of the same sender. Returns false and does
  // nothing if `next` is not sent in the same way, or the run is full.
  bool Join(const OutboundEnvelope& next);

  uint64_t sender() const { return envelope_.sender; }
  Room room() const { return envelope_.room; }
  uint32_t mailbox() const { return envelope_.mailbox; }
  MonotonicTime deadline() const { return envelope_.deadline; }
  size_t count() const { return packed_.count() == 0 ? 1 : packed_.count(); }
  // The bytes of the envelopes, without overhead.
  size_t bytes() const { return bytes_; }
  // The envelopes of a run of several; null if the run is one envelope, which body() returns.
  const PackedSlots* packed() const { return packed_.count() == 0 ? nullptr : &packed_; }
  absl::string_view body() const { return envelope_.bytes; }
  // Moves the bytes out of a run of one envelope.
  std::string TakeBody() { return std::exchange(envelope_.bytes, {}); }
  // Removes the first `count` envelopes and returns their bytes. Requires that the run has more than `count`.
  size_t DropFirst(size_t count);

 private:
  OutboundEnvelope envelope_;  // without bytes when they are packed
  PackedSlots packed_;         // empty unless there are several
  size_t bytes_;
};

// Returns the sender id of envelopes that this thread sends outside an actor's turn. It
// differs from every Pid::life() and from every other thread's.
uint64_t ThreadSender();

class SendQueues {
 public:
  // The next piece to be written: whole envelopes or, if `large` is not null, the part of it from
  // `begin` to `end`.
  struct Piece {
    EnvelopeRun run;  // has no bytes if this is a part
    std::shared_ptr<const std::string> large;
    size_t begin = 0;
    size_t end = 0;
    uint32_t part_of = 0;
    bool continues = false;
  };

  SendQueues() = default;
  SendQueues(SendQueues&&) = default;
  SendQueues& operator=(SendQueues&&) = default;

  bool empty() const { return queues_.empty(); }
  // Adds an envelope behind the others of its sender. If it is copied into a run,
  // `envelope.bytes` stays with the caller.
  void Add(OutboundEnvelope&& envelope);

  // A new frame begins, half of which is available to senders that had nothing waiting.
  void BeginFrame() { fresh_bytes_ = 0; }
  // Returns the next piece, of at most `bytes_max` bytes; nothing if none waits, or the
  // next one needs more.
  absl::optional<Piece> Take(size_t bytes_max);

  void Clear() { *this = SendQueues(); }
  // The whole state between two frames except the bytes of envelopes, for model tests.
  std::string DebugString() const;

 private:
  struct Queue {
    uint64_t sender = 0;
    std::list<EnvelopeRun> waiting;
    int64_t deficit_bytes = limits::kSendQuantumBytes;
    // The first envelope, if parts of it have been cut: all of it, how much is cut, and its number.
    std::shared_ptr<const std::string> large;
    size_t cut = 0;
    uint32_t part_of = 0;
  };
  using Line = std::deque<Queue*>;

  bool BeginLarge(Queue& queue);
  Piece Cut(Queue& queue, size_t bytes_max);
  void EndLarge(Queue& queue);

  std::map<uint64_t, Queue> queues_;  // by sender; only senders with something waiting
  Queue* last_added_ = nullptr;       // the queue of the last Add, while it exists
  Line fresh_;                        // senders that had nothing waiting and have not spent their first quantum
  Line old_;                          // the other senders whose turn may come
  Line parked_;                       // senders whose large envelope may not begin yet
  size_t fresh_bytes_ = 0;

  std::bitset<limits::kNodesPartNumber> part_numbers_;
  size_t bytes_in_parts_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_SEND_QUEUES_H_
