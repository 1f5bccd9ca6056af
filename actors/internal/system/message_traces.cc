#include "understudy/actors/internal/system/message_traces.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

size_t BytesOf(const TracedMessage& message) {
  return sizeof(message) + message.mailbox.size() + message.type.size() +
         (message.contents.has_value() ? message.contents->size() : 0);
}

}  // namespace

uint64_t MessageTraceState::Next(MonotonicTime now) {
  absl::MutexLock lock(&mu_);
  if (has_ended_ || now >= end_) {
    has_ended_ = true;
    return 0;
  }
  const uint64_t number = ++seen_;
  if ((number - 1) % static_cast<uint64_t>(options_.every) != 0) return 0;
  if (++noted_ >= options_.messages_max) has_ended_ = true;
  is_noting_ = true;
  return number;
}

void MessageTraceState::Keep(TracedMessage message) {
  absl::MutexLock lock(&mu_);
  is_noting_ = false;
  bytes_ += BytesOf(message);
  kept_.push_back(std::move(message));
  while (kept_.size() > 1 && (kept_.size() > limits::kTracedMessagesKeptMax || bytes_ > limits::kTracedBytesKeptMax)) {
    bytes_ -= BytesOf(kept_.front());
    kept_.pop_front();
    ++lost_;
  }
}

void MessageTraceState::End() {
  absl::MutexLock lock(&mu_);
  has_ended_ = true;
}

bool MessageTraceState::IsOver(MonotonicTime now) const {
  absl::MutexLock lock(&mu_);
  return (has_ended_ || now >= end_) && !is_noting_;
}

absl::optional<TracedMessage> MessageTraceState::Take() {
  absl::MutexLock lock(&mu_);
  if (kept_.empty()) return absl::nullopt;
  TracedMessage oldest = std::move(kept_.front());
  kept_.pop_front();
  bytes_ -= BytesOf(oldest);
  oldest.lost = std::exchange(lost_, 0);
  return oldest;
}

absl::Status MessageTraces::Add(uint64_t life, std::shared_ptr<MessageTraceState> trace) {
  absl::MutexLock lock(&mu_);
  if (traces_.contains(life)) return absl::AlreadyExistsError("its messages are traced already");
  if (traces_.size() >= limits::kMessageTracesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the messages of ", traces_.size(), " actors are traced already: expected fewer at a time"));
  }
  traces_.emplace(life, std::move(trace));
  return absl::OkStatus();
}

void MessageTraces::Remove(uint64_t life) {
  absl::MutexLock lock(&mu_);
  traces_.erase(life);
}

std::shared_ptr<MessageTraceState> MessageTraces::Find(uint64_t life) const {
  absl::MutexLock lock(&mu_);
  const auto found = traces_.find(life);
  return found == traces_.end() ? nullptr : found->second;
}

}  // namespace understudy::internal
