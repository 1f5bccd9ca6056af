#include "understudy/transport/core/peer_table.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {

PeerCore& PeerCores::Take() {
  if (!free_.empty()) {
    PeerCore* const core = free_.back();
    free_.pop_back();
    return *core;
  }
  const size_t index = owned_.size();
  owned_.push_back(std::make_unique<PeerCore>(parts_, index + 1));
  // Release: pairs with the load in ForEach.
  all_[index].store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

void PeerCores::ForEach(absl::FunctionRef<void(PeerCore&)> visit) const {
  for (const std::atomic<PeerCore*>& entry : all_) {
    // Acquire: pairs with the store in Take. Entries are set in order, so all entries after a null one are null.
    PeerCore* const core = entry.load(std::memory_order_acquire);
    if (core == nullptr) return;
    visit(*core);
  }
}

PeerCore* PeerTable::Find(absl::string_view node) const {
  const auto peer = peers_.find(node);
  return peer == peers_.end() ? nullptr : peer->second;
}

PeerTable::Added PeerTable::Add(absl::string_view node) {
  PeerCore& core = cores_.Take();
  peers_.emplace(std::string(node), &core);
  return {.core = core, .tenancy = ++last_tenancy_};
}

void PeerTable::Erase(PeerCore& core, const SessionLedger& ledger) {
  erased_ += ledger;
  std::erase_if(peers_, [&core](const auto& peer) { return peer.second == &core; });
  cores_.GiveBack(core);
}

PeerTable::Room PeerTable::MakeRoom(PeerOrigin origin) {
  Room room;
  if (is_full()) room.evicted = EvictOldest();
  if (is_full()) return {.verdict = Room::Verdict::kFull};
  if (origin == PeerOrigin::kKnown || room.evicted != nullptr) return room;
  const auto is_unproved = [](const auto& peer) { return peer.second->standing().is_unproved; };
  if (std::count_if(peers_.begin(), peers_.end(), is_unproved) < static_cast<int64_t>(limits::kUnprovedPeersMax)) {
    return room;
  }
  room.evicted = EvictOldest();
  if (room.evicted == nullptr) room.verdict = Room::Verdict::kFullOfUnproved;
  return room;
}

PeerCore* PeerTable::EvictOldest() {
  PeerCore* oldest = nullptr;
  uint64_t tenancy = 0;
  for (const auto& [name, core] : peers_) {
    const PeerCore::Standing standing = core->standing();
    // A peer with pending deliveries stays: if it came back in another core, the two would deliver in parallel.
    const bool gives_way = standing.is_unproved && !standing.is_live && !standing.is_delivering;
    if (gives_way && (oldest == nullptr || standing.tenancy < tenancy)) {
      oldest = core;
      tenancy = standing.tenancy;
    }
  }
  if (oldest == nullptr) return nullptr;
  const absl::optional<SessionLedger> ledger = oldest->Evict();
  if (!ledger.has_value()) return nullptr;
  Erase(*oldest, *ledger);
  return oldest;
}

SessionLedger PeerTable::ledger() const {
  SessionLedger total = erased_;
  for (const auto& [name, core] : peers_) total += core->ledger();
  return total;
}

}  // namespace understudy::internal
