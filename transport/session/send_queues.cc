#include "understudy/transport/session/send_queues.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

// The most bytes of one envelope that may join a run, and the most envelopes of a run.
constexpr size_t kJoiningBytesMax = size_t{1} << 10;
constexpr size_t kRunEnvelopesMax = 256;

}  // namespace

bool EnvelopeRun::Join(const OutboundEnvelope& next) {
  const auto is_small = [](const OutboundEnvelope& envelope) {
    return envelope.bytes.size() <= kJoiningBytesMax && envelope.deadline.is_infinite();
  };
  if (next.mailbox != envelope_.mailbox || next.room != envelope_.room || !is_small(next) || !is_small(envelope_) ||
      bytes_ + next.bytes.size() > limits::kRunBytesMax || packed_.count() >= kRunEnvelopesMax) {
    return false;
  }
  if (packed_.count() == 0) packed_.Add(TakeBody());
  packed_.Add(next.bytes);
  bytes_ += next.bytes.size();
  return true;
}

size_t EnvelopeRun::DropFirst(size_t count) {
  const size_t dropped = packed_.DropFirst(count);
  bytes_ -= dropped;
  return dropped;
}

uint64_t ThreadSender() {
  static std::atomic<uint64_t> last{0};
  // A life has its node's index, which is never 0, in the lowest 16 bits. relaxed: only uniqueness matters.
  thread_local const uint64_t own = (last.fetch_add(1, std::memory_order_relaxed) + 1) << 16;
  return own;
}

void SendQueues::Add(OutboundEnvelope&& envelope) {
  if (last_added_ == nullptr || last_added_->sender != envelope.sender) {
    const auto [queue, is_new] = queues_.try_emplace(envelope.sender);
    last_added_ = &queue->second;
    if (is_new) {
      last_added_->sender = envelope.sender;
      fresh_.push_back(last_added_);
    }
  }
  std::list<EnvelopeRun>& waiting = last_added_->waiting;
  // If the first envelope is being cut into parts, no other may join it.
  const bool is_cut = waiting.size() == 1 && last_added_->large != nullptr;
  if (waiting.empty() || is_cut || !waiting.back().Join(envelope)) waiting.emplace_back(std::move(envelope));
}

absl::optional<SendQueues::Piece> SendQueues::Take(size_t bytes_max) {
  while (!fresh_.empty() || !old_.empty()) {
    const bool is_fresh_turn = !fresh_.empty() && (old_.empty() || fresh_bytes_ < limits::kFrameBytesMax / 2);
    Line& line = is_fresh_turn ? fresh_ : old_;
    Queue& queue = *line.front();
    if (queue.deficit_bytes <= 0) {
      queue.deficit_bytes += limits::kSendQuantumBytes;
      line.pop_front();
      old_.push_back(&queue);
      continue;
    }
    const EnvelopeRun& first = queue.waiting.front();
    const size_t bytes = first.packed() == nullptr ? first.bytes() : first.packed()->bytes().size();
    const bool is_large = queue.large != nullptr || bytes > limits::kSlotBytesMax;
    if (is_large && queue.large == nullptr && !BeginLarge(queue)) {
      line.pop_front();
      parked_.push_back(&queue);
      continue;
    }
    if (bytes_max < (is_large ? std::min(queue.large->size() - queue.cut, limits::kPartBytesMin) : bytes)) {
      return absl::nullopt;
    }
    absl::optional<Piece> piece;
    if (is_large) {
      // A sender that shares the wire with no other needs no turns.
      const bool is_alone = fresh_.size() + old_.size() == 1;
      const size_t turn = std::max(static_cast<size_t>(queue.deficit_bytes), limits::kPartBytesMin);
      piece = Cut(queue, is_alone ? bytes_max : std::min(bytes_max, turn));
    } else {
      piece = Piece{.run = std::move(queue.waiting.front())};
      queue.waiting.pop_front();
    }
    const size_t taken = is_large ? piece->end - piece->begin : bytes;
    queue.deficit_bytes -= static_cast<int64_t>(taken);
    if (is_fresh_turn) fresh_bytes_ += taken;
    if (queue.waiting.empty()) {
      line.pop_front();
      if (last_added_ == &queue) last_added_ = nullptr;
      queues_.erase(queue.sender);
    }
    return piece;
  }
  return absl::nullopt;
}

bool SendQueues::BeginLarge(Queue& queue) {
  EnvelopeRun& envelope = queue.waiting.front();
  if (bytes_in_parts_ + envelope.bytes() > limits::kSendersBytesInPartsMax) return false;
  uint32_t number = 1;
  while (number < limits::kNodesPartNumber && part_numbers_[number]) ++number;
  if (number == limits::kNodesPartNumber) return false;
  part_numbers_.set(number);
  bytes_in_parts_ += envelope.bytes();
  queue.large = std::make_shared<const std::string>(envelope.TakeBody());
  queue.cut = 0;
  queue.part_of = number;
  return true;
}

SendQueues::Piece SendQueues::Cut(Queue& queue, size_t bytes_max) {
  const EnvelopeRun& envelope = queue.waiting.front();
  const size_t end = std::min({queue.large->size(), queue.cut + bytes_max, queue.cut + limits::kSlotBytesMax});
  Piece piece{.run = EnvelopeRun({.room = envelope.room(),
                                  .sender = envelope.sender(),
                                  .mailbox = envelope.mailbox(),
                                  .deadline = envelope.deadline()}),
              .large = queue.large,
              .begin = queue.cut,
              .end = end,
              .part_of = queue.part_of,
              .continues = end < queue.large->size()};
  queue.cut = end;
  if (piece.continues) return piece;
  queue.waiting.pop_front();
  EndLarge(queue);
  return piece;
}

std::string SendQueues::DebugString() const {
  std::string text;
  for (const auto& [sender, queue] : queues_) {
    absl::StrAppend(&text, " {", sender, " deficit ", queue.deficit_bytes, " cut ", queue.cut, " of ", queue.part_of);
    for (const EnvelopeRun& run : queue.waiting) absl::StrAppend(&text, " x", run.count(), "/", run.bytes());
    absl::StrAppend(&text, "}");
  }
  for (const Line* line : {&fresh_, &old_, &parked_}) {
    absl::StrAppend(&text, " |");
    for (const Queue* queue : *line) absl::StrAppend(&text, " ", queue->sender);
  }
  return text;
}

void SendQueues::EndLarge(Queue& queue) {
  part_numbers_.reset(queue.part_of);
  bytes_in_parts_ -= queue.large->size();
  queue.large = nullptr;
  // A sender whose large envelope still may not begin is parked again when its turn comes.
  old_.insert(old_.end(), parked_.begin(), parked_.end());
  parked_.clear();
}

}  // namespace understudy
