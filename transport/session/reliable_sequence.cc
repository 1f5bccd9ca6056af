#include "understudy/transport/session/reliable_sequence.h"

#include <algorithm>
#include <cstdint>
#include <memory>
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
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy {
namespace {

// A planted bug for tests of the simulation: when a stream is lost, the oldest
// slot that the peer has not acknowledged is forgotten.
FaultPoint kForgetsOneUnacknowledged("session_forgets_one_unacknowledged");
// Two planted bugs of the receiver: it takes a slot that it has already, or one that is not the next.
FaultPoint kTakesRepeats("sequence_takes_repeats");
FaultPoint kTakesGaps("sequence_takes_gaps");

}  // namespace

ReliableSequence::ReliableSequence(Bounds bounds) : bounds_(bounds) {}

size_t ReliableSequence::BytesMax(Room room) const {
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

bool ReliableSequence::MayExceed(Room room) const {
  if (room != Room::kMessages && room != Room::kReplies) return false;
  return used_[static_cast<size_t>(room)] <= std::min(limits::kUnacknowledgedBytesMax, BytesMax(room) / 8);
}

absl::Status ReliableSequence::FindRoom(Room room, size_t bytes) const {
  const size_t used = used_[static_cast<size_t>(room)];
  if (used + bytes > BytesMax(room) && !MayExceed(room)) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("the session keeps ", used, " unacknowledged bytes of that kind, and ", bytes,
                                  " more would exceed ", BytesMax(room)));
  }
  if (room == Room::kMessages && messages_ >= bounds_.messages_max) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("the session keeps ", messages_, " unacknowledged messages, the most that it may"));
  }
  return absl::OkStatus();
}

absl::Status ReliableSequence::Keep(size_t bytes) {
  bytes += limits::kSlotOverheadBytes;
  if (absl::Status room = FindRoom(Room::kMessages, bytes); !room.ok()) return room;
  used_[static_cast<size_t>(Room::kMessages)] += bytes;
  ++messages_;
  return absl::OkStatus();
}

void ReliableSequence::StopKeeping(size_t bytes) { Forget(Room::kMessages, 1, bytes); }

absl::Status ReliableSequence::Append(OutboundEnvelope&& envelope) {
  const size_t bytes = envelope.bytes.size() + limits::kSlotOverheadBytes;
  if (envelope.kept_bytes != 0) {
    StopKeeping(envelope.kept_bytes);
  } else if (absl::Status room = FindRoom(envelope.room, bytes); !room.ok()) {
    return room;
  }
  if (envelope.room == Room::kMessages) ++messages_;
  used_[static_cast<size_t>(envelope.room)] += bytes;
  ++ledger_.accepted;
  ++ledger_.waiting;
  // An envelope that fits the next frame needs no queue. The node's own envelopes do not wait behind those of senders;
  // all of them are small enough to be cut at once.
  const bool fits = envelope.bytes.size() <= limits::kSlotBytesMax;
  const bool is_next = queues_.empty() && unsent_bytes_ + envelope.bytes.size() <= limits::kFrameBytesMax;
  if (fits && (is_next || envelope.sender == 0)) {
    Number(std::move(envelope));
  } else if (envelope.sender == 0 && envelope.bytes.size() <= limits::kNodesEnvelopeBytesMax) {
    NumberParts(std::move(envelope));
  } else {
    queues_.Add(std::move(envelope));
  }
  return absl::OkStatus();
}

void ReliableSequence::AppendLast(std::string bytes) {
  UNDERSTUDY_CHECK(!last_.has_value(), "a session has one last envelope");
  last_ = std::move(bytes);
  ++ledger_.accepted;
  ++ledger_.waiting;
}

void ReliableSequence::Number(OutboundEnvelope&& envelope) {
  unsent_bytes_ += envelope.bytes.size();
  if (unsent_ < slots_.size()) {
    Slots& last = slots_.back();
    if (last.large == nullptr && last.run.sender() == envelope.sender && last.run.Join(envelope)) return;
  }
  slots_.push_back({.run = EnvelopeRun(std::move(envelope))});
}

void ReliableSequence::Number(SendQueues::Piece piece) {
  slots_.push_back({.run = std::move(piece.run),
                    .large = std::move(piece.large),
                    .begin = piece.begin,
                    .end = piece.end,
                    .part_of = piece.part_of,
                    .continues = piece.continues});
  unsent_bytes_ += slots_.back().bytes();
}

void ReliableSequence::NumberParts(OutboundEnvelope&& envelope) {
  const auto whole = std::make_shared<const std::string>(std::move(envelope.bytes));
  for (size_t begin = 0; begin < whole->size(); begin += limits::kSlotBytesMax) {
    const size_t end = std::min(whole->size(), begin + limits::kSlotBytesMax);
    Number(SendQueues::Piece{.run = EnvelopeRun({.room = envelope.room}),
                             .large = whole,
                             .begin = begin,
                             .end = end,
                             .part_of = limits::kNodesPartNumber,
                             .continues = end < whole->size()});
  }
}

bool ReliableSequence::Write(const Slots& slots, FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now) {
  const EnvelopeRun& run = slots.run;
  const bool define = NamesMailbox(slots) && !defined.contains(run.mailbox());
  MailboxDefinition definition;
  if (define) definition = {.hash = run.mailbox(), .name = internal::MailboxNames::Find(run.mailbox())};
  bool fits = false;
  if (run.packed() != nullptr) {
    fits = packer.Add(next_, *run.packed(), define ? &definition : nullptr);
  } else {
    SlotView view{.body = run.body(), .part_of = slots.part_of, .continues = slots.continues};
    if (slots.large != nullptr) view.body = absl::string_view(*slots.large).substr(slots.begin, slots.bytes());
    if (!slots.continues && !run.deadline().is_infinite()) {
      view.remaining_nanos = std::max<int64_t>(0, absl::ToInt64Nanoseconds(run.deadline() - now));
    }
    fits = packer.Add(next_, view, define ? &definition : nullptr);
  }
  if (!fits) return false;
  if (define) defined.insert(run.mailbox());
  ++unsent_;
  next_ += run.count();
  unsent_bytes_ -= slots.bytes();
  sent_ = std::max(sent_, next_ - 1);
  return true;
}

bool ReliableSequence::MayWrite(const Slots& slots, const std::set<uint32_t>& defined) const {
  return defined.size() < limits::kMailboxesPerStreamMax || !NamesMailbox(slots) ||
         defined.contains(slots.run.mailbox());
}

bool ReliableSequence::Fill(FramePacker& packer, std::set<uint32_t>& defined, MonotonicTime now) {
  queues_.BeginFrame();
  while (true) {
    while (unsent_ < slots_.size()) {
      if (!MayWrite(slots_[unsent_], defined)) return false;
      if (!Write(slots_[unsent_], packer, defined, now)) return true;
    }
    if (queues_.empty()) {
      if (!last_.has_value()) return true;
      OutboundEnvelope last{.bytes = *std::exchange(last_, absl::nullopt), .room = Room::kSignals};
      used_[static_cast<size_t>(Room::kSignals)] += last.bytes.size() + limits::kSlotOverheadBytes;
      Number(std::move(last));
      continue;
    }
    absl::optional<SendQueues::Piece> piece = queues_.Take(packer.body_bytes_left());
    if (!piece.has_value()) return true;
    Number(*std::move(piece));
  }
}

absl::Status ReliableSequence::Acknowledge(uint64_t number) {
  if (number > sent_) {
    return absl::InvalidArgumentError(absl::StrCat("slot ", number, " is acknowledged, and ", sent_, " was the last"));
  }
  while (acknowledged_ < number) {
    if (slots_.empty()) {  // only when the fault point has taken some
      acknowledged_ = number;
      break;
    }
    const Slots& first = slots_.front();
    const auto count = std::min<uint64_t>(number - acknowledged_, first.run.count());
    if (!first.continues) {
      ledger_.acknowledged += static_cast<int64_t>(count);
      ledger_.waiting -= static_cast<int64_t>(count);
    }
    acknowledged_ += count;
    ForgetFirst(count);
  }
  next_ = std::max(next_, acknowledged_ + 1);
  return absl::OkStatus();
}

void ReliableSequence::ForgetFirst(size_t count) {
  Slots& first = slots_.front();
  if (count < first.run.count()) {
    const size_t bytes = first.run.DropFirst(count);
    if (unsent_ == 0) unsent_bytes_ -= bytes;
    Forget(first.run.room(), count, bytes);
    return;
  }
  if (unsent_ == 0) unsent_bytes_ -= first.bytes();
  // A large envelope counts as waiting until its last part is acknowledged.
  if (!first.continues)
    Forget(first.run.room(), count, first.large == nullptr ? first.run.bytes() : first.large->size());
  slots_.pop_front();
  if (unsent_ > 0) --unsent_;
}

void ReliableSequence::Forget(Room room, size_t envelopes, size_t bytes) {
  used_[static_cast<size_t>(room)] -= bytes + envelopes * limits::kSlotOverheadBytes;
  if (room == Room::kMessages) messages_ -= envelopes;
}

void ReliableSequence::Rewind() {
  if (kForgetsOneUnacknowledged.armed() && unsent_ > 0) {
    ForgetFirst(1);
  }
  unsent_ = 0;
  next_ = acknowledged_ + 1;
  unsent_bytes_ = 0;
  for (const Slots& slots : slots_) unsent_bytes_ += slots.bytes();
}

size_t ReliableSequence::bytes_waiting() const { return std::accumulate(used_.begin(), used_.end(), size_t{0}); }

std::string ReliableSequence::DebugString() const {
  std::string text = absl::StrCat("acknowledged ", acknowledged_, " unsent ", unsent_, " next ", next_, " sent ", sent_,
                                  last_.has_value() ? " last" : "", " received ", received_);
  for (const Slots& slots : slots_) {
    absl::StrAppend(&text, " [", slots.run.sender(), " x", slots.run.count(), " part ", slots.part_of, " ", slots.begin,
                    "-", slots.end, slots.continues ? "…" : "", "]");
  }
  for (const auto& [number, bytes] : parts_) absl::StrAppend(&text, " in ", number, ": ", bytes.size());
  return absl::StrCat(text, queues_.DebugString());
}

absl::Status ReliableSequence::CountRefused() {
  if (ledger_.acknowledged == 0) return absl::InvalidArgumentError("a message is refused that was not acknowledged");
  --ledger_.acknowledged;
  ++ledger_.refused_by_peer;
  return absl::OkStatus();
}

void ReliableSequence::End() {
  ledger_.unconfirmed += ledger_.waiting;
  ledger_.waiting = 0;
  queues_.Clear();
  last_.reset();
  slots_.clear();
  used_ = {};
  messages_ = 0;
  unsent_ = 0;
  unsent_bytes_ = 0;
}

absl::StatusOr<absl::optional<ReliableSequence::Arrived>> ReliableSequence::Receive(uint64_t number,
                                                                                    const SlotView& slot) {
  if (number <= received_ && !kTakesRepeats.armed()) return absl::optional<Arrived>();
  if (number > received_ + 1 && !kTakesGaps.armed()) {
    return absl::InvalidArgumentError(absl::StrCat("slot ", number, " follows slot ", received_));
  }
  if (slot.part_of == 0) {
    if (slot.continues) {
      return absl::InvalidArgumentError(
          absl::StrCat("slot ", number, " continues an envelope and does not say which: expected part_of from 1 on"));
    }
    received_ = number;
    return absl::make_optional(Arrived{.bytes = slot.body, .remaining_nanos = slot.remaining_nanos});
  }
  if (slot.part_of > limits::kEnvelopesInPartsMax) {
    return absl::InvalidArgumentError(absl::StrCat("part of envelope ", slot.part_of, ", where the highest number is ",
                                                   limits::kEnvelopesInPartsMax));
  }
  std::string& parts = parts_[slot.part_of];
  if (parts.size() + slot.body.size() > limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("envelope ", slot.part_of, " has ", parts.size() + slot.body.size(), " bytes so far: at most ",
                     limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax, " are allowed"));
  }
  if (parts_bytes_ + slot.body.size() > limits::kBytesInPartsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the envelopes in parts have more than ", limits::kBytesInPartsMax, " bytes together"));
  }
  received_ = number;
  parts.append(slot.body.data(), slot.body.size());
  parts_bytes_ += slot.body.size();
  if (slot.continues) return absl::optional<Arrived>();
  auto joined = std::make_unique<const std::string>(std::move(parts));
  parts_bytes_ -= joined->size();
  parts_.erase(slot.part_of);
  const absl::string_view bytes = *joined;
  return absl::make_optional(
      Arrived{.bytes = bytes, .joined = std::move(joined), .remaining_nanos = slot.remaining_nanos});
}

}  // namespace understudy
