// NodeTable: the nodes that the pids of this process may name. AddressOf, PidAt: pids as addresses, which are the same
// on every node.
#ifndef UNDERSTUDY_ACTORS_NODE_TABLE_H_
#define UNDERSTUDY_ACTORS_NODE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace internal {

// An entry of NodeTable: an incarnation of a node as one actor system of this process
// sees it.
struct NodeEntry {
  const void* system = nullptr;  // the ActorSystem that knows the node; null after that system has ended
  std::string name;
  NodeIncarnation incarnation;
  bool is_local = false;                // the node is `system` itself
  AddressKey key;                       // if is_local: permutes the addresses of its actors
  uint8_t generation = 0;               // set by Intern
  const NodeEntry* previous = nullptr;  // set by Intern: the entry that had the index with the previous generation
};

// The process-wide table of nodes (node_places.h says which places it gives out).
// Entries are immutable and kept for ever: some 100 bytes for each incarnation. Any
// thread.
class NodeTable {
 public:
  // Returns the place of an incarnation with which a session begins, or of an actor
  // system of this process. Adds the incarnation if it is new, and marks it alive.
  // Returns ResourceExhausted if it is new and the table is full.
  static absl::StatusOr<NodePlace> Intern(const NodeEntry& entry) { return Intern(entry, Source::kMet); }
  // Returns the place of an incarnation that a ref in a message names, and adds it if it
  // is new. A dead incarnation stays dead. Returns ResourceExhausted if it is new and
  // the table is full, or already knows limits::kNodesLearnedFromRefsMax incarnations
  // from refs only.
  static absl::StatusOr<NodePlace> InternFromRef(const NodeEntry& entry) { return Intern(entry, Source::kRef); }
  // Marks dead all incarnations of that name that were given to Intern for `system`,
  // except `alive`, so that their places may be reused. Requires that `system` has no
  // live session with any of them.
  static void MarkDead(const void* system, absl::string_view name,
                       absl::optional<NodeIncarnation> alive = absl::nullopt);
  static bool IsDead(const NodeEntry& entry);
  // Retires all entries of `system`, which has ended.
  static void Retire(const void* system);

  // Returns the present entry at `index`, of any generation, or null if there is none.
  // Valid for ever. After a system has ended, its entries have a null `system`.
  static const NodeEntry* At(uint16_t index) {
    // acquire: pairs with the release stores in Intern and Retire, which publish the entry.
    return entries_[index].load(std::memory_order_acquire);
  }
  // Returns the entry at `place`. Returns null if there is none, or if another
  // incarnation has the index now, because then the incarnation of `place` is dead.
  static const NodeEntry* Find(NodePlace place) {
    const NodeEntry* entry = At(place.index);
    return entry != nullptr && entry->generation == place.generation ? entry : nullptr;
  }
  // Like Find, but also finds an incarnation whose index now belongs to another incarnation.
  static const NodeEntry* FindEver(NodePlace place);

 private:
  enum class Source : uint8_t { kMet, kRef };
  static absl::StatusOr<NodePlace> Intern(const NodeEntry& entry, Source source);

  static constinit std::array<std::atomic<const NodeEntry*>, size_t{UINT16_MAX} + 1> entries_;
};

// Returns the address of the pid's actor, which is the same on every node: it is written
// to other nodes and printed. Any thread.
ActorAddress AddressOf(Pid pid);
// Returns the pid of the actor with that address on `node`. Requires an address within
// its bounds. An address with serial 0 gives a null pid that has the node's index. Any
// thread.
Pid PidAt(NodePlace node, ActorAddress address);

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_NODE_TABLE_H_
