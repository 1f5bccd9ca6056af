#include "understudy/transport/core/pending_handshakes.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

bool PendingHandshakes::HasRoom(const StreamIdentity& identity) const {
  return entries_.size() < limits::kPeersMax && (identity.is_proved() || unproved_ < limits::kUnprovedPeersMax);
}

void PendingHandshakes::Add(std::shared_ptr<NodeLink> link, MonotonicTime deadline) {
  if (!link->identity.is_proved()) ++unproved_;
  const uint64_t number = link->number;
  entries_[number] = {.link = std::move(link), .deadline = deadline};
}

bool PendingHandshakes::AwaitsHello(uint64_t link) const {
  const auto entry = entries_.find(link);
  return entry != entries_.end() && !entry->second.is_refused;
}

void PendingHandshakes::Refuse(uint64_t link, absl::string_view cause) {
  CountRefused(cause);
  entries_.at(link).is_refused = true;
}

void PendingHandshakes::Remove(uint64_t link) {
  const auto entry = entries_.find(link);
  if (entry == entries_.end()) return;
  if (!entry->second.link->identity.is_proved()) --unproved_;
  entries_.erase(entry);
}

void PendingHandshakes::Drop(uint64_t link, absl::string_view cause) {
  if (!entries_.at(link).is_refused) CountRefused(cause);
  Remove(link);
}

std::vector<std::shared_ptr<NodeLink>> PendingHandshakes::DropLate(MonotonicTime now) {
  std::vector<std::shared_ptr<NodeLink>> late;
  for (const auto& [number, entry] : entries_) {
    if (entry.deadline <= now) late.push_back(entry.link);
  }
  for (const std::shared_ptr<NodeLink>& link : late) Drop(link->number, kNoHello);
  return late;
}

int64_t PendingHandshakes::refused() const {
  int64_t sum = 0;
  for (const auto& [cause, count] : refused_) sum += count;
  return sum;
}

MonotonicTime PendingHandshakes::NextDeadline() const {
  MonotonicTime next = MonotonicTime::InfiniteFuture();
  for (const auto& [number, entry] : entries_) next = std::min(next, entry.deadline);
  return next;
}

}  // namespace understudy::internal
