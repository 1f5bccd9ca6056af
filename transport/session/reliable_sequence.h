// ReliableSequence: the numbered slots of one session at one of its two ends. A state
// machine: no threads, clock or socket inside.
//
// Sending: envelopes become slots, numbered from 1 in the order in which they
// are first written. Slots are kept until the peer acknowledges them, and are
// written again, in the same order, on the next stream. Receiving: slots come in
// order; a repeat is dropped by its number, a gap is an error; envelopes are put
// together again.
//
// Order. The envelopes of one sender keep their order. Those of different
// senders share the wire by deficit round robin (send_queues.h), and an envelope
// larger than a slot is cut into parts, so small envelopes of other senders pass
// between its parts while its own sender's later envelopes wait behind its last
// part. Envelopes of the node itself (sender 0) go before everything that waits, in
// their own order: a large one is cut at once, and nothing passes between its parts.
//
// Bounds. The unacknowledged bytes of each kind of envelope (Room) have a bound of their
// own, so that a flood of one kind never takes the room of another.
//
// The ledger of a sequence balances at all times:
//   accepted = acknowledged + refused_by_peer + unconfirmed + waiting
#ifndef UNDERSTUDY_TRANSPORT_SESSION_RELIABLE_SEQUENCE_H_
#define UNDERSTUDY_TRANSPORT_SESSION_RELIABLE_SEQUENCE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/send_queues.h"
#include "understudy/transport/session/session_ledger.h"

namespace understudy {

class ReliableSequence {
 public:
  // The most unacknowledged bytes of each kind of envelope, and the most unacknowledged messages.
  struct Bounds {
    size_t message_bytes_max = limits::kSessionMessageBytesMax;
    size_t messages_max = limits::kSessionMessagesMax;
    size_t reply_bytes_max = limits::kSessionReplyBytesMax;
    size_t answer_bytes_max = limits::kSessionAnswerBytesMax;
    size_t signal_bytes_max = limits::kSessionSignalBytesMax;
    size_t credit_bytes_max = limits::kSessionCreditBytesMax;
    size_t name_bytes_max = limits::kSessionNameBytesMax;
  };

  explicit ReliableSequence(Bounds bounds);

  // ---- Sending ----

  // Accepts an envelope, or returns Full if its kind has no room. A message or a reply of
  // any size has room while the unacknowledged bytes of its kind are at most
  // limits::kUnacknowledgedBytesMax and at most an eighth of the kind's bound. Where it
  // can, leaves the memory of `envelope.bytes` to the caller for reuse.
  absl::Status Append(OutboundEnvelope&& envelope);
  // Reserves room for a message whose envelope will have at most `bytes` bytes, or returns Full if there is none. The
  // reservation ends when an envelope with kept_bytes == `bytes` is appended, which always has room, or by StopKeeping.
  absl::Status Keep(size_t bytes);
  void StopKeeping(size_t bytes);
  // Adds the session's last envelope, which is written when nothing else waits and needs
  // no room. Call at most once, and do not call Append afterwards.
  void AppendLast(std::string bytes);
  bool has_unsent() const { return unsent_ < slots_.size() || !queues_.empty() || last_.has_value(); }
  // Moves unsent slots into the frame until it is full. `defined` is the set of mailboxes
  // whose full names the frame's stream has carried. Returns false if the next slot needs
  // another definition and `defined` has limits::kMailboxesPerStreamMax, so that the slot
  // can only travel on another stream.
  bool Fill(FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now);
  // The peer has received all slots up to `number`. Returns InvalidArgument if that slot
  // was never sent.
  absl::Status Acknowledge(uint64_t number);
  // The stream is lost: slots that are not acknowledged become unsent again.
  void Rewind();
  // The peer refused a message of this node that it had acknowledged. Returns
  // InvalidArgument if no acknowledged envelope is left to be refused.
  absl::Status CountRefused();
  // The session is over: envelopes that wait become unconfirmed.
  void End();

  // ---- Receiving ----

  // Takes the slot with that number. Returns the envelope that the slot completes;
  // nothing for a part that completes none, and for a repeat. Returns InvalidArgument on
  // a gap, and on parts that violate limits.h or envelope.proto. Arrived::bytes points
  // into the slot, or into `joined`.
  struct Arrived {
    absl::string_view bytes;
    // The envelope, if it was put together from parts; the sequence keeps no copy.
    std::unique_ptr<const std::string> joined;
    // The time left until the deadline. Taken from the slot that completes the envelope, because the sender computed it
    // when it wrote that slot.
    absl::optional<int64_t> remaining_nanos;
  };
  absl::StatusOr<absl::optional<Arrived>> Receive(uint64_t number, const SlotView& slot);
  // The number of the last slot received.
  uint64_t received() const { return received_; }

  // ---- Observers ----

  const SessionLedger& ledger() const { return ledger_; }
  // The number of the last slot that the peer has acknowledged.
  uint64_t acknowledged() const { return acknowledged_; }
  // Every slot that was written on the present stream has been acknowledged.
  bool all_written_acknowledged() const { return unsent_ == 0; }
  // Every envelope has been acknowledged.
  bool all_acknowledged() const { return slots_.empty() && queues_.empty() && !last_.has_value(); }
  // Bytes that are unacknowledged or kept, of all kinds or of one.
  size_t bytes_waiting() const;
  size_t bytes_waiting(Room room) const { return used_[static_cast<size_t>(room)]; }
  // The whole state except the bytes of envelopes, for model tests.
  std::string DebugString() const;

 private:
  // Slots that have numbers: whole envelopes, or, if `large` is not null, the part of it
  // from `begin` to `end`.
  struct Slots {
    EnvelopeRun run;  // has no bytes if this is a part
    std::shared_ptr<const std::string> large;
    size_t begin = 0;
    size_t end = 0;
    uint32_t part_of = 0;
    bool continues = false;

    size_t bytes() const { return large == nullptr ? run.bytes() : end - begin; }
  };

  size_t BytesMax(Room room) const;
  // Whether the next envelope of that kind may exceed the kind's bound. A message or a reply may, while little of its
  // kind is unacknowledged. Otherwise a large envelope could be refused only because the acknowledgement of a small one
  // waits for the next frame.
  bool MayExceed(Room room) const;
  // Returns Full if there is no room for an envelope of that kind and size.
  absl::Status FindRoom(Room room, size_t bytes) const;
  void Number(OutboundEnvelope&& envelope);
  void Number(SendQueues::Piece piece);
  // Cuts an envelope of the node itself that is larger than a slot, and numbers its parts.
  void NumberParts(OutboundEnvelope&& envelope);
  // Whether the stream must know the mailbox of an envelope that the slots complete.
  static bool NamesMailbox(const Slots& slots) { return slots.run.mailbox() != 0 && !slots.continues; }
  bool MayWrite(const Slots& slots, const std::set<uint32_t>& defined) const;
  bool Write(const Slots& slots, FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now);
  void Forget(Room room, size_t envelopes, size_t bytes);
  void ForgetFirst(size_t count);

  const Bounds bounds_;
  SessionLedger ledger_;
  std::array<size_t, kRooms> used_{};  // bytes of each kind, unacknowledged or kept
  size_t messages_ = 0;                // unacknowledged or kept

  SendQueues queues_;                 // envelopes that have no number yet
  absl::optional<std::string> last_;  // AppendLast's envelope
  std::deque<Slots> slots_;           // numbered from acknowledged_ + 1; kept until acknowledged
  uint64_t acknowledged_ = 0;         // by the peer
  size_t unsent_ = 0;                 // index of the first slots not yet on this stream
  uint64_t next_ = 1;                 // their number
  size_t unsent_bytes_ = 0;           // of slots_ from there on
  uint64_t sent_ = 0;                 // highest number that was on any stream

  uint64_t received_ = 0;
  std::map<uint32_t, std::string> parts_;  // by part_of: the envelopes of which only parts have arrived
  size_t parts_bytes_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_RELIABLE_SEQUENCE_H_
