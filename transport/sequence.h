// Sequence: the numbered slots of one session, as one of its two ends keeps
// them. A plain state machine: no threads, clock or socket inside.
//
// Sending: envelopes are cut into slots and numbered from 1 in the order of
// Append; they are kept until the peer acknowledges them, and written again, in
// order, on the next stream. Receiving: slots come in order; a repeat is
// dropped by its number, a gap is an error; envelopes are put together again.
//
// Messages are accepted up to the bytes' bound less a reserve, signals up to
// the bound: a Down must get through when messages are already refused.
//
// Its ledger balances at all times:
//   accepted = acknowledged + refused_by_peer + unconfirmed + waiting
#ifndef UNDERSTUDY_TRANSPORT_SEQUENCE_H_
#define UNDERSTUDY_TRANSPORT_SEQUENCE_H_

#include <cstdint>
#include <deque>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"

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

struct OutboundEnvelope {
  std::string bytes;
  // May use the reserve.
  bool is_signal = false;
  // Hash of the mailbox that the envelope names, or 0.
  uint32_t mailbox = 0;
  // Travels as the time that is left when a frame is written.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
};

class Sequence {
 public:
  struct Bounds {
    size_t bytes_max = limits::kSessionUnacknowledgedBytesMax;
    size_t signal_reserve_bytes = limits::kSessionSignalReserveBytes;
  };

  explicit Sequence(Bounds bounds) : bounds_(bounds) {}

  // ---- Sending ----

  // Full when there is no room. A message always has room when nothing waits.
  absl::Status Append(OutboundEnvelope envelope);
  bool has_unsent() const { return unsent_ < slots_.size(); }
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
  // or a repeat. InvalidArgument on a gap or when an envelope grows too large.
  // `remaining_nanos` is taken from the first slot of an envelope.
  struct Arrived {
    std::string bytes;
    absl::optional<int64_t> remaining_nanos;
  };
  absl::StatusOr<absl::optional<Arrived>> Receive(uint64_t number, proto::Slot& slot);
  // The number of the last slot received.
  uint64_t received() const { return received_; }

  // ---- Observers ----

  const SessionLedger& ledger() const { return ledger_; }
  // The number of the last slot that the peer has.
  uint64_t acknowledged() const { return acknowledged_; }
  // Every slot has been acknowledged.
  bool all_acknowledged() const { return slots_.empty(); }
  size_t bytes_waiting() const { return bytes_; }

 private:
  struct Slot {
    std::string body;
    bool continues;
    uint32_t mailbox;
    MonotonicTime deadline;
  };

  const Bounds bounds_;
  SessionLedger ledger_;

  std::deque<Slot> slots_;     // kept: slots_[i] has number acknowledged_ + 1 + i
  uint64_t acknowledged_ = 0;  // by the peer
  size_t unsent_ = 0;          // index of the first slot not yet on this stream
  uint64_t sent_ = 0;          // highest number that was on any stream
  size_t bytes_ = 0;           // of slots_

  uint64_t received_ = 0;
  bool in_parts_ = false;  // an envelope has begun and is not complete
  Arrived parts_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SEQUENCE_H_
