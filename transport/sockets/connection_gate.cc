#include "understudy/transport/sockets/connection_gate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

ConnectionGate::ConnectionGate(const ConnectionBounds& bounds, MonotonicTime now)
    : bounds_(bounds), tokens_(bounds.burst), filled_at_(now) {}

MonotonicTime ConnectionGate::NextAcceptAt(MonotonicTime now) {
  tokens_ = std::min(static_cast<double>(bounds_.burst),
                     tokens_ + absl::ToDoubleSeconds(now - filled_at_) * bounds_.per_second);
  filled_at_ = now;
  if (tokens_ >= 1) return now;
  return now + absl::Seconds((1 - tokens_) / bounds_.per_second);
}

bool ConnectionGate::OnAccepted(absl::string_view key, MonotonicTime now, std::vector<std::string>& close) {
  tokens_ -= 1;
  if (connections() >= bounds_.connections_max || connections_.contains(key)) return false;
  if (half_open_ >= bounds_.half_open_max) {
    const auto oldest = connections_.find(oldest_half_open_.begin()->second);
    close.push_back(oldest->first);
    Erase(oldest);
  }
  const MonotonicTime deadline = now + bounds_.begins_within;
  const uint64_t number = ++accepted_;
  connections_.emplace(std::string(key), Connection{.deadline = deadline, .number = number});
  deadlines_.emplace(deadline, std::string(key));
  oldest_half_open_.emplace(number, std::string(key));
  ++half_open_;
  return true;
}

bool ConnectionGate::OnBegun(absl::string_view key) {
  const auto found = connections_.find(key);
  if (found == connections_.end() || found->second.state != State::kHalfOpen) return false;
  deadlines_.erase({found->second.deadline, found->first});
  oldest_half_open_.erase(found->second.number);
  --half_open_;
  found->second.state = State::kCarrying;
  return true;
}

void ConnectionGate::OnOver(absl::string_view key, MonotonicTime now) {
  const auto found = connections_.find(key);
  if (found == connections_.end() || found->second.state != State::kCarrying) return;
  found->second.state = State::kLingering;
  found->second.deadline = now + bounds_.linger;
  deadlines_.emplace(found->second.deadline, found->first);
}

void ConnectionGate::OnClosed(absl::string_view key) {
  if (const auto found = connections_.find(key); found != connections_.end()) Erase(found);
}

void ConnectionGate::Erase(Connections::iterator connection) {
  const Connection& gone = connection->second;
  if (gone.state != State::kCarrying) deadlines_.erase({gone.deadline, connection->first});
  if (gone.state == State::kHalfOpen) {
    oldest_half_open_.erase(gone.number);
    --half_open_;
  }
  connections_.erase(connection);
}

std::vector<std::string> ConnectionGate::TakeExpired(MonotonicTime now) {
  std::vector<std::string> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expired.push_back(deadlines_.begin()->second);
    Erase(connections_.find(expired.back()));
  }
  return expired;
}

MonotonicTime ConnectionGate::NextDeadline() const {
  return deadlines_.empty() ? MonotonicTime::InfiniteFuture() : deadlines_.begin()->first;
}

}  // namespace understudy::internal
