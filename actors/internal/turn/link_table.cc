#include "understudy/actors/internal/turn/link_table.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "understudy/actors/pid.h"

namespace understudy {

bool LinkTable::Link(Pid peer) {
  const auto [it, added] = links_.emplace(peer, 0);
  if (added) return true;
  if (it->second == 0) return false;  // linked already
  it->second = 0;                     // an unlink is under way: link anew, its acknowledgement is stale
  return true;
}

uint64_t LinkTable::Unlink(Pid peer) {
  const auto it = links_.find(peer);
  if (it == links_.end() || it->second != 0) return 0;
  it->second = ++last_id_;
  return it->second;
}

void LinkTable::OnLink(Pid peer) { links_.emplace(peer, 0); }

void LinkTable::OnUnlink(Pid peer) {
  const auto it = links_.find(peer);
  if (it != links_.end() && it->second == 0) links_.erase(it);
}

void LinkTable::OnUnlinkAck(Pid peer, uint64_t id) {
  const auto it = links_.find(peer);
  if (it != links_.end() && it->second == id) links_.erase(it);
}

bool LinkTable::OnLinkExit(Pid peer) {
  const auto it = links_.find(peer);
  if (it == links_.end()) return false;
  const bool counts = it->second == 0;
  links_.erase(it);
  return counts;
}

bool LinkTable::IsLinked(Pid peer) const {
  const auto it = links_.find(peer);
  return it != links_.end() && it->second == 0;
}

std::vector<Pid> LinkTable::Links(size_t at_most) const {
  std::vector<Pid> peers;
  for (const auto& [peer, unlink] : links_) {
    if (peers.size() == at_most) break;
    if (unlink == 0) peers.push_back(peer);
  }
  return peers;
}

Pid LinkTable::Demonitor(uint64_t id) {
  const auto it = monitored_.find(id);
  if (it == monitored_.end()) return Pid();
  const Pid target = it->second;
  monitored_.erase(it);
  return target;
}

bool LinkTable::OnDown(uint64_t id) { return monitored_.erase(id) > 0; }

}  // namespace understudy
