#include "understudy/actors/internal/room_waiters.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system_core.h"

namespace understudy::internal {

void RoomWaiters::Add(ActorCell& cell, Waiting waiting) {
  const uint64_t life = waiting.to.life();
  Shard& shard = ShardOf(cell);
  std::vector<Signal> replies;
  bool is_awaited = false;
  {
    absl::MutexLock lock(&shard.mu);
    const std::pair<uint64_t, uint32_t> key(life, waiting.mailbox);
    // Not the mark: it may be that of another life.
    const auto first = shard.queues.lower_bound({life, 0});
    is_awaited = first != shard.queues.end() && first->first.first == life;
    shard.queues[key].push_back(std::move(waiting));
    cell.set_has_room_waiters(true);
    // The receiver may have made its room before it could see the mark.
    replies = AdmitLocked(shard, cell, life);
  }
  // The receiver may have read the mark before it was there: at the end of the
  // turn that takes this it reads it again. Where another waits already, that one's does.
  if (!is_awaited) {
    Envelope* const wake = Envelope::Make(EnvelopeKind::kWake);
    if (cell.Post(system_, life, wake) == Pushed::kClosed) Envelope::Delete(wake);
  }
  if (!cell.IsAlive(life)) RefuseAll(shard, life);  // it ended without looking
  for (Signal& reply : replies) system_.Post(std::move(reply));
}

// That life has ended, which Accept need not see yet.
void RoomWaiters::RefuseAll(Shard& shard, uint64_t life) {
  std::vector<Signal> replies;
  {
    absl::MutexLock lock(&shard.mu);
    auto next = shard.queues.lower_bound({life, 0});
    while (next != shard.queues.end() && next->first.first == life) {
      for (Waiting& waiting : next->second) {
        replies.push_back({.kind = SignalKind::kReply,
                           .from = waiting.to,
                           .to = waiting.from,
                           .id = waiting.ask,
                           .status = EndedError(),
                           .payload = std::move(waiting.payload)});
      }
      next = shard.queues.erase(next);
    }
  }
  for (Signal& reply : replies) {
    system_.CountRefused();
    system_.Post(std::move(reply));
  }
}

void RoomWaiters::Admit(ActorCell& cell, uint64_t life) {
  Shard& shard = ShardOf(cell);
  std::vector<Signal> replies;
  {
    absl::MutexLock lock(&shard.mu);
    replies = AdmitLocked(shard, cell, life);
  }
  for (Signal& reply : replies) system_.Post(std::move(reply));
}

std::vector<Signal> RoomWaiters::AdmitLocked(Shard& shard, ActorCell& cell, uint64_t life) {
  std::vector<Signal> replies;
  bool is_some_left = false;
  auto next = shard.queues.lower_bound({life, 0});
  while (next != shard.queues.end() && next->first.first == life) {
    std::deque<Waiting>& queue = next->second;
    while (!queue.empty()) {
      Waiting& first = queue.front();
      absl::Status sent = cell.AcceptMade(
          system_, {.from = first.from, .to = first.to, .mailbox = first.mailbox, .type = first.payload.type()},
          first.payload.block());
      if (IsFull(sent)) break;
      if (sent.ok()) {
        (void)first.payload.Release();  // it is the receiver's
      } else {
        system_.CountRefused();
      }
      replies.push_back({.kind = SignalKind::kReply,
                         .from = first.to,
                         .to = first.from,
                         .id = first.ask,
                         .status = std::move(sent),
                         .payload = std::move(first.payload)});
      queue.pop_front();
    }
    is_some_left = is_some_left || !queue.empty();
    next = queue.empty() ? shard.queues.erase(next) : std::next(next);
  }
  // Not for another life, whose senders may wait too.
  if (!is_some_left && cell.life() == life) cell.set_has_room_waiters(false);
  return replies;
}

absl::optional<Payload> RoomWaiters::TakeBack(Pid to, Pid from, uint64_t ask) {
  Shard& shard = ShardOf(to);
  absl::MutexLock lock(&shard.mu);
  const uint64_t life = to.life();
  for (auto next = shard.queues.lower_bound({life, 0}); next != shard.queues.end() && next->first.first == life;
       ++next) {
    std::deque<Waiting>& queue = next->second;
    const auto place = std::find_if(queue.begin(), queue.end(),
                                    [&](const Waiting& waiting) { return waiting.ask == ask && waiting.from == from; });
    if (place == queue.end()) continue;
    absl::optional<Payload> payload(std::move(place->payload));
    queue.erase(place);
    if (queue.empty()) shard.queues.erase(next);
    // Other nodes are granted nothing while the mark is there, and an idle actor would not look.
    const auto first = shard.queues.lower_bound({life, 0});
    const bool is_some_left = first != shard.queues.end() && first->first.first == life;
    if (ActorCell* const cell = system_.CellOf(to); cell != nullptr && !is_some_left && cell->life() == life) {
      cell->set_has_room_waiters(false);
    }
    return payload;
  }
  return absl::nullopt;
}

}  // namespace understudy::internal
