// PeerCores and PeerTable: the cores of a node, and which peer has which of them.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PEER_TABLE_H_
#define UNDERSTUDY_TRANSPORT_CORE_PEER_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {

// The cores of a node. A core lives as long as this object; when its peer has gone it
// serves another one.
//
// Threads: ForEach any, without a lock. The caller's lock guards Take and GiveBack.
class PeerCores {
 public:
  explicit PeerCores(NodeParts& parts) : parts_(parts) {}

  // Returns a core without a peer. Requires that at most limits::kPeersMax cores are taken.
  PeerCore& Take();
  void GiveBack(PeerCore& core) { free_.push_back(&core); }
  // Visits every core; some have no peer.
  void ForEach(absl::FunctionRef<void(PeerCore&)> visit) const;

 private:
  NodeParts& parts_;
  std::vector<std::unique_ptr<PeerCore>> owned_;
  std::vector<PeerCore*> free_;
  // The cores in owned_, for ForEach. Entries are set once, in order.
  std::array<std::atomic<PeerCore*>, limits::kPeersMax> all_ = {};
};

// The peers of a node by name. A peer that is not kept gives way to a newcomer if all
// places, or all places of peers whose identity is not proved, are taken and the peer has
// no session: so nodes that claim names and do not go on cannot keep others out.
//
// Threads: the caller's lock guards all functions. It is acquired before the locks of the
// cores, which some of the functions acquire.
class PeerTable {
 public:
  // `cores` must outlive this object.
  explicit PeerTable(PeerCores& cores) : cores_(cores) {}

  // Returns null if `node` is not a peer.
  PeerCore* Find(absl::string_view node) const;
  bool is_full() const { return peers_.size() >= limits::kPeersMax; }
  // Gives `node` a place and a core, which the caller must Occupy with `tenancy`. Requires that `node` is not in the
  // table and the table is not full.
  struct Added {
    PeerCore& core;
    uint64_t tenancy;
  };
  Added Add(absl::string_view node);
  // The peer of `core` has gone (Vacate or Evict), with that ledger.
  void Erase(PeerCore& core, const SessionLedger& ledger);

  // Whether another peer of that origin can be added. Evicts a peer if that is necessary and possible; the caller must
  // then Settle the evicted core.
  struct Room {
    enum class Verdict : uint8_t { kFree, kFull, kFullOfUnproved } verdict = Verdict::kFree;
    PeerCore* evicted = nullptr;
  };
  Room MakeRoom(PeerOrigin origin);

  // The cores of all peers, by name.
  const std::map<std::string, PeerCore*, std::less<>>& peers() const { return peers_; }
  // The sum over all peers that have had a place.
  SessionLedger ledger() const;

 private:
  // Evicts the peer that has waited longest of those whose identity is not proved and whose handshake is not complete.
  // Returns its core; null if there is no such peer.
  PeerCore* EvictOldest();

  PeerCores& cores_;
  std::map<std::string, PeerCore*, std::less<>> peers_;
  uint64_t last_tenancy_ = 0;
  SessionLedger erased_;  // of peers that have gone
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_PEER_TABLE_H_
