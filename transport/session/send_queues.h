// SendQueues: the envelopes of a session that have no number yet, a queue for
// each sender, and the rule by which senders share the wire. A plain state
// machine; one owner (ReliableSequence).
//
// The rule is deficit round robin (Shreedhar and Varghese 1995): each sender in
// turn takes limits::kSendQuantumBytes. A sender that had nothing waiting goes
// before those whose quantum is spent, as in FQ-CoDel (RFC 8290, section 3), so
// a small envelope waits for no large one; but such senders together take at
// most half of a frame while others wait, so a large envelope is never starved by
// small ones.
//
// Small envelopes that travel alike wait together (EnvelopeRun) and are taken
// together. An envelope larger than a slot is cut. Its parts carry a number below
// limits::kNodesPartNumber, which no other envelope has until its last part is
// cut. When no number is free, or the envelopes in parts have
// limits::kSendersBytesInPartsMax, the sender of a further large one waits, with
// what it sent after it.
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
  // Travels as the time that is left when a frame is written.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // What ReliableSequence::Keep has kept for it, at least its bytes; 0 if it takes what there is.
  size_t kept_bytes = 0;
};

// Envelopes of one sender that wait, one after another: one of any size, or several
// small ones that travel alike and are kept together, which costs less.
class EnvelopeRun {
 public:
  explicit EnvelopeRun(OutboundEnvelope first) : envelope_(std::move(first)), bytes_(envelope_.bytes.size()) {}

  // Takes `next` of the same sender in, by its bytes. False, and nothing is done,
  // when it does not travel alike, or the run has as much as it may.
  bool Join(const OutboundEnvelope& next);

  uint64_t sender() const { return envelope_.sender; }
  Room room() const { return envelope_.room; }
  uint32_t mailbox() const { return envelope_.mailbox; }
  MonotonicTime deadline() const { return envelope_.deadline; }
  size_t count() const { return packed_.count() == 0 ? 1 : packed_.count(); }
  // Of the envelopes alone.
  size_t bytes() const { return bytes_; }
  // Null for one envelope, whose bytes `body` has.
  const PackedSlots* packed() const { return packed_.count() == 0 ? nullptr : &packed_; }
  absl::string_view body() const { return envelope_.bytes; }
  // Takes the bytes of one envelope away.
  std::string TakeBody() { return std::exchange(envelope_.bytes, {}); }
  // The bytes of the envelopes that go. Requires more than `count`.
  size_t DropFirst(size_t count);

 private:
  OutboundEnvelope envelope_;  // without bytes when they are packed
  PackedSlots packed_;         // of several
  size_t bytes_;
};

// The sender of what this thread sends outside an actor's turn. Not an actor's
// life, and no other thread's.
uint64_t ThreadSender();

class SendQueues {
 public:
  // What is written next: whole envelopes (`large` is null), or a part of one.
  struct Piece {
    EnvelopeRun run;  // of a part: without bytes
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
  // Leaves the bytes of an envelope where they are when it has joined others.
  void Add(OutboundEnvelope&& envelope);

  // A frame begins: senders that had nothing waiting have half of it again.
  void BeginFrame() { fresh_bytes_ = 0; }
  // The next piece, of at most `bytes_max`; nothing when none waits, or the next
  // one needs more.
  absl::optional<Piece> Take(size_t bytes_max);

  void Clear() { *this = SendQueues(); }
  // The whole state between two frames but for the bytes of envelopes, for models.
  std::string DebugString() const;

 private:
  struct Queue {
    uint64_t sender = 0;
    std::list<EnvelopeRun> waiting;
    int64_t deficit_bytes = limits::kSendQuantumBytes;
    // Of the first envelope, when it has been begun.
    std::shared_ptr<const std::string> large;
    size_t cut = 0;
    uint32_t part_of = 0;
  };
  using Line = std::deque<Queue*>;

  bool BeginLarge(Queue& queue);
  Piece Cut(Queue& queue, size_t bytes_max);
  void EndLarge(Queue& queue);

  std::map<uint64_t, Queue> queues_;  // of the senders with something waiting
  Queue* last_added_ = nullptr;       // the queue of the last Add, while it exists
  Line fresh_;                        // had nothing waiting, and have some of their first quantum left
  Line old_;
  Line parked_;  // with a large envelope that may not begin yet
  size_t fresh_bytes_ = 0;

  std::bitset<limits::kNodesPartNumber> part_numbers_;
  size_t bytes_in_parts_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_SEND_QUEUES_H_
