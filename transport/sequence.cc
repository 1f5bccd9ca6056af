#include "understudy/transport/sequence.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"

namespace understudy {
namespace {

// What a kept slot costs beside its body.
constexpr size_t kSlotOverheadBytes = 64;

// A planted bug for tests of the simulation: when a stream is lost, the oldest
// slot that the peer has not acknowledged is forgotten.
FaultPoint kForgetsOneUnacknowledged("session_forgets_one_unacknowledged");

}  // namespace

SessionLedger& SessionLedger::operator+=(const SessionLedger& other) {
  accepted += other.accepted;
  acknowledged += other.acknowledged;
  refused_by_peer += other.refused_by_peer;
  unconfirmed += other.unconfirmed;
  waiting += other.waiting;
  return *this;
}

absl::Status Sequence::Append(OutboundEnvelope envelope) {
  const size_t parts = std::max<size_t>(1, (envelope.bytes.size() + limits::kSlotBytesMax - 1) / limits::kSlotBytesMax);
  const size_t bytes = envelope.bytes.size() + parts * kSlotOverheadBytes;
  const size_t room = envelope.is_signal ? bounds_.bytes_max : bounds_.bytes_max - bounds_.signal_reserve_bytes;
  const bool may_exceed = !envelope.is_signal && slots_.empty();
  if (bytes_ + bytes > room && !may_exceed) {
    return MakeError(ErrorKind::kFull, absl::StrCat("the session keeps ", bytes_, " unacknowledged bytes, and ", bytes,
                                                    " more would exceed ", room));
  }
  for (size_t part = 0; part < parts; ++part) {
    const size_t at = part * limits::kSlotBytesMax;
    std::string body = parts == 1 ? std::move(envelope.bytes) : envelope.bytes.substr(at, limits::kSlotBytesMax);
    slots_.push_back({.body = std::move(body),
                      .continues = part + 1 < parts,
                      .mailbox = part == 0 ? envelope.mailbox : 0,
                      .deadline = part == 0 ? envelope.deadline : MonotonicTime::InfiniteFuture()});
  }
  bytes_ += bytes;
  ++ledger_.accepted;
  ++ledger_.waiting;
  return absl::OkStatus();
}

void Sequence::Fill(FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now) {
  while (has_unsent()) {
    const Slot& slot = slots_[unsent_];
    proto::MailboxDefinition definition;
    const bool define = slot.mailbox != 0 && !defined.contains(slot.mailbox);
    if (define) {
      definition.set_hash(slot.mailbox);
      definition.set_name(std::string(internal::MailboxNames::Find(slot.mailbox)));
    }
    absl::optional<int64_t> remaining;
    if (!slot.deadline.is_infinite()) {
      remaining = std::max<int64_t>(0, absl::ToInt64Nanoseconds(slot.deadline - now));
    }
    const uint64_t number = acknowledged_ + 1 + unsent_;
    if (!packer.Add(number, slot.body, slot.continues, remaining, define ? &definition : nullptr)) return;
    if (define) defined.insert(slot.mailbox);
    ++unsent_;
    sent_ = std::max(sent_, number);
  }
}

absl::Status Sequence::Acknowledge(uint64_t number) {
  if (number > sent_) {
    return absl::InvalidArgumentError(absl::StrCat("slot ", number, " is acknowledged, and ", sent_, " was the last"));
  }
  while (acknowledged_ < number) {
    if (slots_.empty()) {  // only when the fault point has taken one
      acknowledged_ = number;
      break;
    }
    const Slot& slot = slots_.front();
    bytes_ -= slot.body.size() + kSlotOverheadBytes;
    if (!slot.continues) {
      ++ledger_.acknowledged;
      --ledger_.waiting;
    }
    slots_.pop_front();
    ++acknowledged_;
    if (unsent_ > 0) --unsent_;
  }
  return absl::OkStatus();
}

void Sequence::Rewind() {
  if (kForgetsOneUnacknowledged.armed() && unsent_ > 0) {
    bytes_ -= slots_.front().body.size() + kSlotOverheadBytes;
    slots_.pop_front();
  }
  unsent_ = 0;
}

absl::Status Sequence::CountRefused() {
  if (ledger_.acknowledged == 0) return absl::InvalidArgumentError("a message is refused that was not acknowledged");
  --ledger_.acknowledged;
  ++ledger_.refused_by_peer;
  return absl::OkStatus();
}

void Sequence::End() {
  ledger_.unconfirmed += ledger_.waiting;
  ledger_.waiting = 0;
  slots_.clear();
  bytes_ = 0;
  unsent_ = 0;
}

absl::StatusOr<absl::optional<Sequence::Arrived>> Sequence::Receive(uint64_t number, proto::Slot& slot) {
  if (number <= received_) return absl::optional<Arrived>();
  if (number != received_ + 1) {
    return absl::InvalidArgumentError(absl::StrCat("slot ", number, " follows slot ", received_));
  }
  if (parts_.bytes.size() + slot.body().size() > limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax) {
    return absl::InvalidArgumentError("an envelope has more bytes than a message may have");
  }
  received_ = number;
  if (!in_parts_) {
    parts_.bytes = std::move(*slot.mutable_body());
    if (slot.has_remaining_nanos()) parts_.remaining_nanos = slot.remaining_nanos();
  } else {
    parts_.bytes.append(slot.body());
  }
  in_parts_ = slot.continues();
  if (in_parts_) return absl::optional<Arrived>();
  return absl::make_optional(std::exchange(parts_, Arrived()));
}

}  // namespace understudy
