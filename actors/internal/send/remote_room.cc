#include "understudy/actors/internal/send/remote_room.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/router.h"

namespace understudy::internal {

RoomAmount& RemoteRoom::OfNode(Entry& entry, NodePlace node) {
  for (auto& [known, amount] : entry.by_node) {
    if (known == node) return amount;
  }
  return entry.by_node.emplace_back(node, RoomAmount()).second;
}

void RemoteRoom::EraseIfUnused(Shard& shard, const Place& place) {
  const auto found = shard.entries.find(place);
  if (found == shard.entries.end()) return;
  Entry& entry = found->second;
  entry.by_node.erase(std::remove_if(entry.by_node.begin(), entry.by_node.end(),
                                     [](const auto& held) { return held.second.is_zero(); }),
                      entry.by_node.end());
  if (entry.reserved.is_zero() && entry.beside.is_zero()) shard.entries.erase(found);
}

ReservedRoom RemoteRoom::Reserve(ActorCell& cell, const RoomRequest& request, Share share) {
  const uint64_t life = request.to.life();
  const MailboxLayout* const layout = cell.LayoutOf(life);
  if (layout == nullptr) return {};
  const int found = layout->Find(request.mailbox);
  if (found < 0) return {};
  const auto place = static_cast<size_t>(found);
  const MailboxDeclaration& declaration = (*layout)[place];
  if (share == Share::kFair && cell.has_blocked_senders()) return {.is_awaited = true};
  if (request.amount.is_zero()) return {};
  Shard& shard = ShardOf(cell);
  RoomAmount got;
  bool is_undone = false;
  bool is_full = false;
  {
    absl::MutexLock lock(&shard.mu);
    if (!cell.MarkRemote(life)) return {};
    Entry& entry = shard.entries[{life, place}];
    RoomAmount& held = OfNode(entry, request.node);
    RoomAmount most = request.amount;
    // The average size of the requested messages; fewer bytes would be of no use.
    const int64_t one = request.amount.bytes / std::max(int64_t{1}, request.amount.messages);
    if (share == Share::kFair) {
      const auto parts = static_cast<int64_t>(entry.by_node.size()) + 1;
      const int64_t fair = std::max(int64_t{1}, declaration.room() / parts);
      most.messages = std::clamp(fair - held.messages, int64_t{0}, most.messages);
      if (declaration.has_bytes()) {
        // A message that is larger than the share can be sent all the same.
        const int64_t fair_bytes = std::max(one, static_cast<int64_t>(declaration.room_bytes()) / parts);
        most.bytes = std::clamp(fair_bytes - held.bytes, int64_t{0}, most.bytes);
      }
    }
    const bool is_fair = share == Share::kFair;
    // A mailbox without a bound in bytes has room for any number of bytes.
    got.bytes =
        declaration.has_bytes()
            ? cell.TakeByteRoom(declaration, place, is_fair ? std::min(one, most.bytes) : most.bytes, most.bytes)
            : most.bytes;
    const bool lacks_bytes = got.bytes == 0 && one > 0;
    if (is_fair && one > 0) most.messages = std::min(most.messages, std::max(int64_t{1}, got.bytes / one));
    if (!lacks_bytes) got.messages = cell.TakeRoom(*layout, place, is_fair ? 0 : most.messages, most.messages);
    const bool lacks_messages = got.messages == 0 && request.amount.messages > 0;
    is_full = (lacks_messages && most.messages > 0) || (lacks_bytes && most.bytes > 0);
    if (lacks_messages || lacks_bytes) {
      is_undone = !got.is_zero();
      cell.ReturnRoom(declaration, place, got);
      got = {};
    }
    held += got;
    entry.reserved += got;
    if (!got.is_zero()) entry.is_asked_back = false;
    EraseIfUnused(shard, {life, place});
  }
  if (share == Share::kAllOrNothing)
    return {.amount = got};  // under BlockedSenders' lock, which serves the next waiter itself
  // Room that was counted here and returned may have caused the refusal of a waiting sender meanwhile.
  if (is_undone) cell.AdmitInstead(system_);
  if (is_full) {
    AskBack(cell, life, place);
    cell.AskExpiry(system_, life, declaration, place);
  }
  return {.amount = got};
}

absl::Status RemoteRoom::ReserveInLine(ActorCell& cell, const RoomRequest& request) {
  const MailboxLayout* const layout = cell.LayoutOf(request.to.life());
  if (layout == nullptr) {
    if (!cell.IsAlive(request.to.life())) return EndedError();
    return cell.is_stopping() ? StoppingError() : MakeError(ErrorKind::kFull, "the actor has not started yet");
  }
  if (layout->Find(request.mailbox) < 0)
    return MakeError(ErrorKind::kNoMailbox, "the actor has no mailbox of that name");
  if (Reserve(cell, request, Share::kAllOrNothing).amount == request.amount) return absl::OkStatus();
  if (!cell.IsAlive(request.to.life())) return EndedError();
  return MakeError(ErrorKind::kFull, "the mailbox has no room");
}

void RemoteRoom::GiveBack(ActorCell& cell, const RoomRequest& request) {
  const uint64_t life = request.to.life();
  const MailboxLayout* const layout = cell.LayoutOf(life);
  const int found = layout == nullptr ? -1 : layout->Find(request.mailbox);
  if (found < 0) return;
  const auto place = static_cast<size_t>(found);
  {
    Shard& shard = ShardOf(cell);
    absl::MutexLock lock(&shard.mu);
    const auto entry = shard.entries.find({life, place});
    if (entry == shard.entries.end()) return;  // the life has ended, and its reservations with it
    RoomAmount& held = OfNode(entry->second, request.node);
    const RoomAmount back{.messages = std::min(held.messages, request.amount.messages),
                          .bytes = std::min(held.bytes, request.amount.bytes)};
    held -= back;
    entry->second.reserved -= back;
    entry->second.is_asked_back = false;
    cell.ReturnRoom((*layout)[place], place, back);
    EraseIfUnused(shard, {life, place});
  }
  cell.AdmitInstead(system_);
}

bool RemoteRoom::Use(const ActorCell& cell, uint64_t life, size_t place, NodePlace node, int64_t bytes) {
  Shard& shard = ShardOf(cell);
  absl::MutexLock lock(&shard.mu);
  const auto entry = shard.entries.find({life, place});
  if (entry == shard.entries.end()) return false;
  RoomAmount& held = OfNode(entry->second, node);
  const RoomAmount used{.messages = 1, .bytes = bytes};
  if (!held.CoversMessage(bytes)) return false;
  held -= used;
  entry->second.reserved -= used;
  entry->second.is_asked_back = false;
  if (held.is_zero()) EraseIfUnused(shard, {life, place});
  return true;
}

void RemoteRoom::AddBeside(ActorCell& cell, uint64_t life, size_t place, RoomAmount amount) {
  Shard& shard = ShardOf(cell);
  absl::MutexLock lock(&shard.mu);
  if (amount.messages > 0 && !cell.MarkRemote(life)) return;  // the life has ended, so the push will fail too
  const auto entry =
      amount.messages > 0 ? shard.entries.try_emplace({life, place}).first : shard.entries.find({life, place});
  if (entry == shard.entries.end()) return;
  entry->second.beside += amount;
  EraseIfUnused(shard, {life, place});
}

RoomAmount RemoteRoom::Excess(const ActorCell& cell, uint64_t life, size_t place) const {
  if (!cell.is_remote()) return {};
  const Shard& shard = ShardOf(cell);
  absl::MutexLock lock(&shard.mu);
  const auto entry = shard.entries.find({life, place});
  if (entry == shard.entries.end()) return {};
  RoomAmount excess = entry->second.beside;
  excess -= entry->second.reserved;
  return excess;
}

void RemoteRoom::AskBack(ActorCell& cell, uint64_t life, size_t place) {
  if (!cell.is_remote()) return;
  {
    Shard& shard = ShardOf(cell);
    absl::MutexLock lock(&shard.mu);
    const auto entry = shard.entries.find({life, place});
    if (entry == shard.entries.end() || entry->second.reserved.is_zero() || entry->second.is_asked_back) return;
    entry->second.is_asked_back = true;
  }
  const MailboxLayout* const layout = cell.LayoutOf(life);
  Router* const router = system_.router();
  if (layout != nullptr && router != nullptr) router->AskBack(Pid::OfLife(life, cell.index()), (*layout)[place].hash);
}

void RemoteRoom::EndLife(ActorCell& cell, uint64_t life) {
  if (!cell.EndRemote()) return;
  const MailboxLayout* const layout = cell.layout();
  if (layout == nullptr) return;
  Shard& shard = ShardOf(cell);
  absl::MutexLock lock(&shard.mu);
  for (size_t place = 0; place < layout->size(); ++place) {
    const auto entry = shard.entries.find({life, place});
    if (entry == shard.entries.end()) continue;
    cell.ReturnRoom((*layout)[place], place, entry->second.reserved);
    shard.entries.erase(entry);
  }
}

}  // namespace understudy::internal
