#include "understudy/actors/internal/send/blocked_senders.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/router.h"

namespace understudy::internal {

void BlockedSenders::Add(ActorCell& cell, Waiting waiting) {
  const LineId line(waiting.to.life(), waiting.mailbox);
  const WaiterId id(waiting.from, 0, waiting.ask);
  Join(cell, line, {.id = id, .message = std::move(waiting)});
}

void BlockedSenders::Add(ActorCell& cell, const RoomWait& wait) {
  Join(cell, {wait.room.to.life(), wait.room.mailbox}, {.id = IdOf(wait), .room = wait});
}

void BlockedSenders::Join(ActorCell& cell, const LineId& line, Waiter waiter) {
  const uint64_t life = line.first;
  const bool is_remote = waiter.room.has_value();
  Shard& shard = ShardOf(cell);
  Answers answers;
  bool is_awaited = false;
  bool still_waits = false;
  {
    absl::MutexLock lock(&shard.mu);
    // Does not use has_blocked_senders(), which another life of the cell may have set.
    const auto first = shard.lines.lower_bound({life, 0});
    is_awaited = first != shard.lines.end() && first->first.first == life;
    const WaiterId id = waiter.id;
    const uint64_t place = ++shard.last_place;
    shard.lines[line].emplace(place, std::move(waiter));
    shard.places[id] = {line, place};
    cell.set_has_blocked_senders(true);
    // The receiver may have published room before it could see the mark, so look for room now.
    AdmitLocked(shard, cell, life, answers);
    still_waits = shard.places.contains(id);
  }
  // The receiver may have loaded the mark before the store above. The wake gives it a turn, at the end of which it
  // loads the mark again. If another sender was waiting already, that sender's wake has this effect.
  if (!is_awaited && still_waits) {
    Envelope* const wake = Envelope::Make(EnvelopeKind::kWake);
    if (cell.Post(system_, life, wake) == Pushed::kClosed) Envelope::Delete(wake);
  }
  // Asks other nodes to return reserved room. For a local sender Accept has done this when it refused the message.
  const MailboxLayout* const layout = is_remote && still_waits ? cell.LayoutOf(life) : nullptr;
  const int place = layout == nullptr ? -1 : layout->Find(line.second);
  if (place >= 0) system_.remote_room().AskBack(cell, life, static_cast<size_t>(place));
  if (!cell.IsAlive(life)) RefuseAll(shard, life);  // the end of the life may have come before the mark was set
  Tell(std::move(answers));
}

// Answers all that wait for `life`, which has ended. Does not call Accept, which may not see the end yet.
void BlockedSenders::RefuseAll(Shard& shard, uint64_t life) {
  Answers answers;
  {
    absl::MutexLock lock(&shard.mu);
    auto next = shard.lines.lower_bound({life, 0});
    while (next != shard.lines.end() && next->first.first == life) {
      for (auto& [place, waiter] : next->second) {
        shard.places.erase(waiter.id);
        Answer(waiter, EndedError(), answers);
      }
      next = shard.lines.erase(next);
    }
  }
  Tell(std::move(answers));
}

void BlockedSenders::Admit(ActorCell& cell, uint64_t life) {
  Shard& shard = ShardOf(cell);
  Answers answers;
  {
    absl::MutexLock lock(&shard.mu);
    AdmitLocked(shard, cell, life, answers);
  }
  Tell(std::move(answers));
}

// Returns Full if the waiter has to wait on.
absl::Status BlockedSenders::Serve(ActorCell& cell, Waiter& waiter) {
  if (waiter.room.has_value()) return system_.remote_room().ReserveInLine(cell, waiter.room->room);
  Waiting& message = waiter.message;
  return cell.AcceptMade(
      system_, {.from = message.from, .to = message.to, .mailbox = message.mailbox, .type = message.payload.type()},
      message.payload.block());
}

void BlockedSenders::Answer(Waiter& waiter, absl::Status status, Answers& answers) {
  if (waiter.room.has_value()) {
    answers.ended.emplace_back(*waiter.room, std::move(status));
    return;
  }
  Waiting& message = waiter.message;
  if (status.ok()) {
    (void)message.payload.Release();  // the payload belongs to the receiver
  } else {
    system_.counts().refused.Add();
  }
  answers.replies.push_back({.kind = SignalKind::kReply,
                             .from = message.to,
                             .to = message.from,
                             .id = message.ask,
                             .status = std::move(status),
                             .payload = std::move(message.payload)});
}

void BlockedSenders::AdmitLocked(Shard& shard, ActorCell& cell, uint64_t life, Answers& answers) {
  bool is_some_left = false;
  auto next = shard.lines.lower_bound({life, 0});
  while (next != shard.lines.end() && next->first.first == life) {
    Line& line = next->second;
    while (!line.empty()) {
      Waiter& first = line.begin()->second;
      absl::Status served = Serve(cell, first);
      if (IsFull(served)) break;
      Answer(first, std::move(served), answers);
      shard.places.erase(first.id);
      line.erase(line.begin());
    }
    is_some_left = is_some_left || !line.empty();
    next = line.empty() ? shard.lines.erase(next) : std::next(next);
  }
  // Unless the cell has another life by now, whose senders may be waiting.
  if (!is_some_left && cell.life() == life) cell.set_has_blocked_senders(false);
}

void BlockedSenders::Tell(Answers answers) {
  for (Signal& reply : answers.replies) system_.Post(std::move(reply));
  if (answers.ended.empty()) return;
  Router* const router = system_.router();
  for (auto& [wait, status] : answers.ended) {
    if (router != nullptr) {
      router->EndWait(wait, std::move(status));
    } else if (ActorCell* const cell = system_.CellOf(wait.room.to); status.ok() && cell != nullptr) {
      system_.remote_room().GiveBack(*cell, wait.room);  // this system's node has ended, so the room will not be used
    }
  }
}

absl::optional<BlockedSenders::Waiter> BlockedSenders::Leave(Pid to, const WaiterId& id) {
  Shard& shard = ShardOf(to);
  absl::optional<Waiter> left;
  Answers answers;
  {
    absl::MutexLock lock(&shard.mu);
    const auto found = shard.places.find(id);
    if (found == shard.places.end()) return absl::nullopt;
    const auto line = shard.lines.find(found->second.first);
    const auto place = line->second.find(found->second.second);
    left.emplace(std::move(place->second));
    line->second.erase(place);
    shard.places.erase(found);
    if (line->second.empty()) shard.lines.erase(line);
    // The next waiter may need less room. And if none is left, the mark must be cleared here: while it is set other
    // nodes get no room (RemoteRoom::Reserve), and an idle actor would not clear it.
    if (ActorCell* const cell = system_.CellOf(to); cell != nullptr) AdmitLocked(shard, *cell, to.life(), answers);
  }
  Tell(std::move(answers));
  return left;
}

absl::optional<Payload> BlockedSenders::TakeBack(Pid to, Pid from, uint64_t ask) {
  absl::optional<Waiter> left = Leave(to, {from, 0, ask});
  if (!left.has_value()) return absl::nullopt;
  return std::move(left->message.payload);
}

void BlockedSenders::Remove(const RoomWait& wait) { (void)Leave(wait.room.to, IdOf(wait)); }

}  // namespace understudy::internal
