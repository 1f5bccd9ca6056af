#include "understudy/actors/internal/asks/stream_table.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"

namespace understudy::internal {

IncomingStream::Arrival IncomingStream::OnItem(Payload& item) {
  if (has_ended()) return Arrival::kIsTooLate;
  const Envelope* const block = item.block();
  const size_t bytes = item.is_wire_bytes() ? item.bytes() : static_cast<size_t>(block->counted_bytes());
  if (!ledger_.Add(bytes)) return Arrival::kBeyondCredit;
  if (next_ != 0) {
    ledger_.Take();
    return Arrival::kAnswersNext;
  }
  items_.push_back(std::move(item));
  return Arrival::kWaits;
}

void IncomingStream::OnEnd(absl::Status end) {
  if (!has_ended()) end_ = std::move(end);
}

IncomingStream::Step IncomingStream::Next(uint64_t next, Payload& item) {
  if (!items_.empty()) {
    item = std::move(items_.front());
    items_.erase(items_.begin());
    ledger_.Take();
    return Step::kItem;
  }
  if (has_ended()) return Step::kEnd;
  next_ = next;
  return Step::kWaits;
}

OutgoingStream::Step OutgoingStream::Write(size_t bytes) {
  if (is_closed()) return Step::kClosed;
  return has_reader_ && ledger_.Add(bytes) ? Step::kSend : Step::kKeep;
}

Payload OutgoingStream::Keep(Payload item, size_t bytes, uint64_t wait) {
  Payload before = kept_.has_value() ? *std::exchange(kept_, absl::nullopt) : Payload();
  kept_ = std::move(item);
  kept_bytes_ = bytes;
  wait_ = wait;
  return before;
}

absl::optional<Payload> OutgoingStream::TakeSendable(uint64_t& wait) {
  if (wait_ == 0 || !has_reader_ || !ledger_.Add(kept_bytes_)) return absl::nullopt;
  wait = std::exchange(wait_, 0);
  return std::exchange(kept_, absl::nullopt);
}

uint64_t OutgoingStream::Close(const absl::Status& why) {
  if (is_closed()) return 0;
  why_ = why;
  return std::exchange(wait_, 0);
}

absl::optional<Payload> OutgoingStream::TakeKept() {
  wait_ = 0;
  return std::exchange(kept_, absl::nullopt);
}

IncomingStream* StreamTable::AddIncoming(Call call) {
  const auto [place, added] = incoming_.try_emplace(call);
  return added ? &place->second : nullptr;
}

OutgoingStream* StreamTable::AddOutgoing(Call call) {
  const auto [place, added] = outgoing_.try_emplace(call);
  return added ? &place->second : nullptr;
}

IncomingStream* StreamTable::FindIncoming(Call call) {
  const auto found = incoming_.find(call);
  return found == incoming_.end() ? nullptr : &found->second;
}

OutgoingStream* StreamTable::FindOutgoing(Call call) {
  const auto found = outgoing_.find(call);
  return found == outgoing_.end() ? nullptr : &found->second;
}

std::vector<Payload> StreamTable::RemoveIncoming(Call call) {
  std::vector<Payload> items = incoming_.at(call).TakeItems();
  incoming_.erase(call);
  return items;
}

std::vector<StreamTable::Call> StreamTable::OpenUploads() const {
  std::vector<Call> open;
  for (const auto& [call, stream] : incoming_) {
    if (!call.first.is_null() && !stream.has_ended()) open.push_back(call);
  }
  return open;
}

std::vector<Payload> StreamTable::RemoveOutgoing(Call call) {
  std::vector<Payload> kept;
  if (absl::optional<Payload> item = outgoing_.at(call).TakeKept()) kept.push_back(*std::move(item));
  outgoing_.erase(call);
  return kept;
}

std::vector<Payload> StreamTable::TakeAll() {
  std::vector<Payload> all;
  for (auto& [call, stream] : incoming_) {
    for (Payload& item : stream.TakeItems()) all.push_back(std::move(item));
  }
  for (auto& [call, stream] : outgoing_) {
    if (absl::optional<Payload> item = stream.TakeKept()) all.push_back(*std::move(item));
  }
  incoming_.clear();
  outgoing_.clear();
  return all;
}

}  // namespace understudy::internal
