// ReliableSequence: the numbered slots of one session, as one of its two ends keeps
// them. A plain state machine: no threads, clock or socket inside.
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
// Bounds. Each kind of envelope has bytes of its own (Room), so that a flood of
// one kind never takes another's.
//
// Its ledger balances at all times:
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

namespace understudy {

// Counts envelopes. `acknowledged` are those whose message, if they had one,
// was accepted too; `unconfirmed` were waiting when a session ended: they may
// have been handled.
struct SessionLedger {
  int64_t accepted = 0;
  int64_t acknowledged = 0;
  int64_t refused_by_peer = 0;
  int64_t unconfirmed = 0;
  int64_t waiting = 0;

  bool balances() const { return accepted == acknowledged + refused_by_peer + unconfirmed + waiting; }
  SessionLedger& operator+=(const SessionLedger& other);
  friend bool operator==(const SessionLedger&, const SessionLedger&) = default;
};

class ReliableSequence {
 public:
  // Unacknowledged bytes of each kind of envelope.
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

  // Full when the envelope's kind has no room. A message or a reply of any size has
  // room while at most limits::kUnacknowledgedBytesMax of its kind, and an eighth of
  // the kind's bound, are not acknowledged. Leaves the memory of `envelope.bytes` to
  // the caller where it can.
  absl::Status Append(OutboundEnvelope&& envelope);
  // Keeps room for a message whose envelope will have at most so many bytes: others find it taken. Full when there is
  // none. The envelope that names it as its kept_bytes is accepted; or StopKeeping.
  absl::Status Keep(size_t bytes);
  void StopKeeping(size_t bytes);
  // The session's last envelope: it is written when nothing else waits. It needs
  // no room. Call once, and Append nothing after it.
  void AppendLast(std::string bytes);
  bool has_unsent() const { return unsent_ < slots_.size() || !queues_.empty() || last_.has_value(); }
  // Moves unsent slots into the frame until it is full. `defined` is the set
  // of mailboxes that the frame's stream knows.
  void Fill(FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now);
  // The peer has received everything up to `number`. InvalidArgument when that
  // was never sent.
  absl::Status Acknowledge(uint64_t number);
  // The stream is lost: what is not acknowledged is unsent again.
  void Rewind();
  // The peer refused a message of ours that it had acknowledged.
  // InvalidArgument when there can be none.
  absl::Status CountRefused();
  // What waits will never be confirmed.
  void End();

  // ---- Receiving ----

  // The bytes of an envelope when this slot completes one; nothing for a part
  // or a repeat. InvalidArgument on a gap, and on parts that are more, larger or
  // otherwise than limits.h and envelope.proto say. `bytes` are those of the slot
  // itself, or of `joined`.
  struct Arrived {
    absl::string_view bytes;
    // The envelope that was put together from parts: this object keeps none of it.
    std::unique_ptr<const std::string> joined;
    // From the slot that completes the envelope: the sender took the time then.
    absl::optional<int64_t> remaining_nanos;
  };
  absl::StatusOr<absl::optional<Arrived>> Receive(uint64_t number, const SlotView& slot);
  // The number of the last slot received.
  uint64_t received() const { return received_; }

  // ---- Observers ----

  const SessionLedger& ledger() const { return ledger_; }
  // The number of the last slot that the peer has.
  uint64_t acknowledged() const { return acknowledged_; }
  // Every envelope has been acknowledged.
  bool all_acknowledged() const { return slots_.empty() && queues_.empty() && !last_.has_value(); }
  // Of all kinds, unacknowledged.
  size_t bytes_waiting() const;
  size_t bytes_waiting(Room room) const { return used_[static_cast<size_t>(room)]; }
  // The whole state but for the bytes of envelopes, for models.
  std::string DebugString() const;

 private:
  // Slots that have their numbers: whole envelopes, or a part of one (`large` is
  // not null), from begin to end.
  struct Slots {
    EnvelopeRun run;  // of a part: without bytes
    std::shared_ptr<const std::string> large;
    size_t begin = 0;
    size_t end = 0;
    uint32_t part_of = 0;
    bool continues = false;

    size_t bytes() const { return large == nullptr ? run.bytes() : end - begin; }
  };

  size_t BytesMax(Room room) const;
  // Whether the next envelope of that kind may exceed the kind's bound. A message or reply may while little of its kind
  // is unacknowledged: that acknowledgement may wait for a frame, and a large envelope would be refused until then.
  bool MayExceed(Room room) const;
  // OK, or Full.
  absl::Status FindRoom(Room room, size_t bytes) const;
  void Number(OutboundEnvelope&& envelope);
  void Number(SendQueues::Piece piece);
  // An envelope of the node itself that is larger than a slot.
  void NumberParts(OutboundEnvelope&& envelope);
  bool Write(const Slots& slots, FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now);
  void Forget(Room room, size_t envelopes, size_t bytes);
  void ForgetFirst(size_t count);

  const Bounds bounds_;
  SessionLedger ledger_;
  std::array<size_t, kRooms> used_{};  // bytes of each kind, unacknowledged or kept
  size_t messages_ = 0;                // unacknowledged or kept

  SendQueues queues_;                 // what has no number yet
  absl::optional<std::string> last_;  // what is written when nothing else waits
  std::deque<Slots> slots_;           // kept; the first number is that after acknowledged_
  uint64_t acknowledged_ = 0;         // by the peer
  size_t unsent_ = 0;                 // index of the first slots not yet on this stream
  uint64_t next_ = 1;                 // their number
  size_t unsent_bytes_ = 0;           // of slots_ from there on
  uint64_t sent_ = 0;                 // highest number that was on any stream

  uint64_t received_ = 0;
  std::map<uint32_t, std::string> parts_;  // envelopes that have begun and are not complete
  size_t parts_bytes_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_RELIABLE_SEQUENCE_H_
