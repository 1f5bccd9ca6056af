#include "understudy/transport/sequence.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/send_queues.h"

namespace understudy {
namespace {

// What a kept slot costs beside its body.
constexpr size_t kSlotOverheadBytes = 128;

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

Sequence::Sequence(Bounds bounds) : bounds_(bounds) {}

size_t Sequence::BytesMax(Room room) const {
  switch (room) {
    case Room::kMessages:
      return bounds_.message_bytes_max;
    case Room::kReplies:
      return bounds_.reply_bytes_max;
    case Room::kAnswers:
      return bounds_.answer_bytes_max;
    case Room::kSignals:
      return bounds_.signal_bytes_max;
    case Room::kCredit:
      return bounds_.credit_bytes_max;
    case Room::kNames:
      return bounds_.name_bytes_max;
  }
  return 0;
}

absl::Status Sequence::Append(OutboundEnvelope envelope) {
  const size_t bytes = envelope.bytes.size() + kSlotOverheadBytes;
  size_t& used = used_[static_cast<size_t>(envelope.room)];
  const bool may_exceed = envelope.room == Room::kMessages || envelope.room == Room::kReplies;
  if (used + bytes > BytesMax(envelope.room) && !(may_exceed && used == 0)) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("the session keeps ", used, " unacknowledged bytes of that kind, and ", bytes,
                                  " more would exceed ", BytesMax(envelope.room)));
  }
  used += bytes;
  ++ledger_.accepted;
  ++ledger_.waiting;
  // What fits the next frame needs no queue; and of the node's own envelopes none is larger than a slot.
  const bool fits = envelope.bytes.size() <= limits::kSlotBytesMax;
  const bool is_next = queues_.empty() && unsent_bytes_ + envelope.bytes.size() <= limits::kFrameBytesMax;
  if (fits && (is_next || envelope.sender == 0)) {
    Number(std::move(envelope));
  } else {
    queues_.Add(std::move(envelope));
  }
  return absl::OkStatus();
}

void Sequence::AppendLast(std::string bytes) {
  UNDERSTUDY_CHECK(!last_.has_value(), "a session has one last envelope");
  last_ = std::move(bytes);
  ++ledger_.accepted;
  ++ledger_.waiting;
}

void Sequence::Number(OutboundEnvelope envelope) {
  unsent_bytes_ += envelope.bytes.size();
  slots_.push_back({.body = std::move(envelope.bytes),
                    .room = envelope.room,
                    .mailbox = envelope.mailbox,
                    .deadline = envelope.deadline});
  slots_.back().charged_bytes = slots_.back().body.size() + kSlotOverheadBytes;
}

void Sequence::Number(SendQueues::Piece piece) {
  if (piece.large == nullptr) {
    Number(std::move(piece.envelope));
    return;
  }
  Slot slot{.large = std::move(piece.large),
            .begin = piece.begin,
            .end = piece.end,
            .part_of = piece.part_of,
            .continues = piece.continues,
            .room = piece.envelope.room};
  if (!slot.continues) {
    slot.mailbox = piece.envelope.mailbox;
    slot.deadline = piece.envelope.deadline;
    slot.charged_bytes = slot.large->size() + kSlotOverheadBytes;
  }
  unsent_bytes_ += slot.text().size();
  slots_.push_back(std::move(slot));
}

bool Sequence::Write(const Slot& slot, FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now) {
  const bool define = slot.mailbox != 0 && !defined.contains(slot.mailbox);
  SlotView view{.body = slot.text(), .part_of = slot.part_of, .continues = slot.continues};
  if (!slot.deadline.is_infinite()) {
    view.remaining_nanos = std::max<int64_t>(0, absl::ToInt64Nanoseconds(slot.deadline - now));
  }
  MailboxDefinition definition;
  if (define) definition = {.hash = slot.mailbox, .name = internal::MailboxNames::Find(slot.mailbox)};
  const uint64_t number = acknowledged_ + 1 + unsent_;
  if (!packer.Add(number, view, define ? &definition : nullptr)) return false;
  if (define) defined.insert(slot.mailbox);
  ++unsent_;
  unsent_bytes_ -= view.body.size();
  sent_ = std::max(sent_, number);
  return true;
}

void Sequence::Fill(FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now) {
  queues_.BeginFrame();
  while (true) {
    while (unsent_ < slots_.size()) {
      if (!Write(slots_[unsent_], packer, defined, now)) return;
    }
    if (queues_.empty()) {
      if (!last_.has_value()) return;
      Number({.bytes = *std::exchange(last_, absl::nullopt), .room = Room::kSignals});
      used_[static_cast<size_t>(Room::kSignals)] += slots_.back().charged_bytes;
      continue;
    }
    absl::optional<SendQueues::Piece> piece = queues_.Take(packer.body_bytes_left());
    if (!piece.has_value()) return;
    Number(*std::move(piece));
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
    if (!slot.continues) {
      ++ledger_.acknowledged;
      --ledger_.waiting;
    }
    Forget(slot);
    slots_.pop_front();
    ++acknowledged_;
    if (unsent_ > 0) --unsent_;
  }
  return absl::OkStatus();
}

void Sequence::Forget(const Slot& slot) { used_[static_cast<size_t>(slot.room)] -= slot.charged_bytes; }

void Sequence::Rewind() {
  if (kForgetsOneUnacknowledged.armed() && unsent_ > 0) {
    Forget(slots_.front());
    slots_.pop_front();
  }
  unsent_ = 0;
  unsent_bytes_ = 0;
  for (const Slot& slot : slots_) unsent_bytes_ += slot.text().size();
}

size_t Sequence::bytes_waiting() const { return std::accumulate(used_.begin(), used_.end(), size_t{0}); }

absl::Status Sequence::CountRefused() {
  if (ledger_.acknowledged == 0) return absl::InvalidArgumentError("a message is refused that was not acknowledged");
  --ledger_.acknowledged;
  ++ledger_.refused_by_peer;
  return absl::OkStatus();
}

void Sequence::End() {
  ledger_.unconfirmed += ledger_.waiting;
  ledger_.waiting = 0;
  queues_.Clear();
  last_.reset();
  slots_.clear();
  used_ = {};
  unsent_ = 0;
  unsent_bytes_ = 0;
}

absl::StatusOr<absl::optional<Sequence::Arrived>> Sequence::Receive(uint64_t number, const SlotView& slot) {
  if (number <= received_) return absl::optional<Arrived>();
  if (number != received_ + 1) {
    return absl::InvalidArgumentError(absl::StrCat("slot ", number, " follows slot ", received_));
  }
  const Arrived whole{.bytes = slot.body, .remaining_nanos = slot.remaining_nanos};
  if (slot.part_of == 0) {
    if (slot.continues) return absl::InvalidArgumentError("a part of no envelope");
    received_ = number;
    return absl::make_optional(whole);
  }
  if (slot.part_of > limits::kEnvelopesInPartsMax) {
    return absl::InvalidArgumentError(absl::StrCat("part of envelope ", slot.part_of, ", where the highest number is ",
                                                   limits::kEnvelopesInPartsMax));
  }
  std::string& parts = parts_[slot.part_of];
  if (parts.size() + slot.body.size() > limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax) {
    return absl::InvalidArgumentError("an envelope has more bytes than a message may have");
  }
  if (parts_bytes_ + slot.body.size() > limits::kBytesInPartsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the envelopes in parts have more than ", limits::kBytesInPartsMax, " bytes together"));
  }
  received_ = number;
  parts.append(slot.body.data(), slot.body.size());
  parts_bytes_ += slot.body.size();
  if (slot.continues) return absl::optional<Arrived>();
  completed_ = std::move(parts);
  parts_bytes_ -= completed_.size();
  parts_.erase(slot.part_of);
  return absl::make_optional(Arrived{.bytes = completed_, .remaining_nanos = slot.remaining_nanos});
}

}  // namespace understudy
