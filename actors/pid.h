// Pid: the address of one life of one actor on one incarnation of one node.
//
// A pid is never reused: it stays the address of that life after its actor has
// ended, and sends to it then answer NoProcess. Pids are small trivially
// copyable values; they compare, hash and print (<house-1.7.42>: node, cell,
// serial) and may be kept and used by any thread.
//
// The cell and serial of a pid of this process count up. Other nodes know them,
// and all nodes print them, as the node's key has permuted them (address_key.h),
// so a pid prints alike everywhere and an address cannot be guessed.
//
// A process may hold several actor systems and know many peers; a pid's node
// is a place in one process-wide table of nodes (see NodeTable). Places of dead
// incarnations are given out again with another generation, so a pid that was
// kept never comes to name an actor of another node.
#ifndef UNDERSTUDY_ACTORS_PID_H_
#define UNDERSTUDY_ACTORS_PID_H_

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"

namespace understudy {

// Tells one life of a node from another of the same name. 64 random bits,
// compared for equality only; zero is no incarnation.
struct NodeIncarnation {
  uint64_t bits = 0;
  friend constexpr bool operator==(NodeIncarnation, NodeIncarnation) = default;
};

// The place of an incarnation of a node in NodeTable. `generation` tells apart the
// incarnations that had the index one after another. It never leaves the process,
// and is 0 for an actor system of this process.
struct NodePlace {
  constexpr NodePlace() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): an actor system of this process is known by its index.
  constexpr NodePlace(uint16_t of_index, uint8_t of_generation = 0) : index(of_index), generation(of_generation) {}

  uint16_t index = 0;
  uint8_t generation = 0;

  friend constexpr bool operator==(NodePlace, NodePlace) = default;
  friend constexpr auto operator<=>(NodePlace, NodePlace) = default;
};

class Pid {
 public:
  // No actor's pid.
  constexpr Pid() = default;
  // `serial` is below 2^48 and not 0.
  constexpr Pid(NodePlace node, uint32_t cell, uint64_t serial)
      : word_(serial << 16 | node.index), cell_(uint32_t{node.generation} << kCellBits | cell) {}
  // What resolving a free name in that node's table gives: no actor's pid, and a
  // send to it answers NoName.
  static constexpr Pid Unnamed(uint16_t node = 0) { return Pid(node, 1, 0); }
  // The same for a name whose owner is being restarted: a send to it answers
  // Restarting.
  static constexpr Pid Vacant(uint16_t node = 0) { return Pid(node, 2, 0); }

  // The pid whose life() and cell() are these.
  static constexpr Pid OfLife(uint64_t life, uint32_t cell) {
    Pid pid;
    pid.word_ = life;
    pid.cell_ = cell;
    return pid;
  }

  constexpr bool is_null() const { return serial() == 0; }
  // Unnamed or Vacant.
  constexpr bool is_unnamed() const { return is_null() && (cell_ == 1 || cell_ == 2); }
  constexpr bool is_vacant() const { return is_null() && cell_ == 2; }
  // The index of the pid's node in NodeTable. Several incarnations of other nodes
  // may have had the index one after another; compare place() to tell them apart.
  constexpr uint16_t node() const { return static_cast<uint16_t>(word_); }
  constexpr NodePlace place() const { return {node(), static_cast<uint8_t>(cell_ >> kCellBits)}; }
  // The cell, for a pid of this process. In a pid of another node the upper 8 bits
  // are the generation of its node's place; AddressOf gives the cell alone.
  constexpr uint32_t cell() const { return cell_; }
  constexpr uint64_t serial() const { return word_ >> 16; }
  // Serial and index of the node in one word, which tells one life from all others
  // of the actor systems in this process. Pids of other nodes differ for certain
  // only together with cell().
  constexpr uint64_t life() const { return word_; }

  std::string ToString() const;

  friend constexpr bool operator==(const Pid&, const Pid&) = default;
  // A total order, for ordered containers; it means nothing else.
  friend constexpr auto operator<=>(const Pid&, const Pid&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const Pid& pid) {
    return H::combine(std::move(state), pid.word_, pid.cell_);
  }
  friend std::ostream& operator<<(std::ostream& out, const Pid& pid) { return out << pid.ToString(); }

 private:
  static constexpr int kCellBits = 24;
  static_assert(ActorAddress::kCellEnd == uint32_t{1} << kCellBits);

  uint64_t word_ = 0;
  uint32_t cell_ = 0;
};

namespace internal {

// What a place in NodeTable means: an incarnation of a node as one actor system
// of this process sees it.
struct NodeEntry {
  const void* system = nullptr;  // the ActorSystem that sends through it; null when it has ended
  std::string name;
  NodeIncarnation incarnation;
  bool is_local = false;                // actors of it live in `system` itself
  AddressKey key;                       // where is_local: of the addresses that leave it
  uint8_t generation = 0;               // Intern's to fill in, as the next
  const NodeEntry* previous = nullptr;  // which had the index with the generation before
};

// The process-wide table of nodes (node_places.h says which places it gives out).
// An entry never changes and is kept for ever: some 100 bytes for each
// incarnation that was met. Any thread.
class NodeTable {
 public:
  // Gives the place of an incarnation with which a session begins, and adds it if it
  // is new. Marks it alive. ResourceExhausted when it is new and the table is full.
  static absl::StatusOr<NodePlace> Intern(const NodeEntry& entry) { return Intern(entry, Source::kMet); }
  // Gives the place of an incarnation that a ref in a message names, and adds it if
  // it is new. An incarnation that is dead stays so. ResourceExhausted also when
  // limits::kNodesLearnedFromRefsMax entries of living systems are from refs only,
  // and were not given to Intern since.
  static absl::StatusOr<NodePlace> InternFromRef(const NodeEntry& entry) { return Intern(entry, Source::kRef); }
  // Marks dead all incarnations of that name that were given to Intern for `system`,
  // except `alive`, so that their places may be given to others. Requires that
  // `system` has no live session with any of them.
  static void MarkDead(const void* system, absl::string_view name,
                       absl::optional<NodeIncarnation> alive = absl::nullopt);
  static bool IsDead(const NodeEntry& entry);
  // Retires all entries of `system`, which has ended.
  static void Retire(const void* system);

  // The entry at `index`, of whatever generation, or null when there is none. Valid
  // for ever. That of an ended system has no system.
  static const NodeEntry* At(uint16_t index) {
    // acquire: pairs with the release of Intern and Retire.
    return entries_[index].load(std::memory_order_acquire);
  }
  // The entry at `place`; null when there is none, or another incarnation has the
  // index now: the one that is meant is gone.
  static const NodeEntry* Find(NodePlace place) {
    const NodeEntry* entry = At(place.index);
    return entry != nullptr && entry->generation == place.generation ? entry : nullptr;
  }
  // The same, also of an incarnation that is gone.
  static const NodeEntry* FindEver(NodePlace place);

 private:
  enum class Source : uint8_t { kMet, kRef };
  static absl::StatusOr<NodePlace> Intern(const NodeEntry& entry, Source source);

  static constinit std::array<std::atomic<const NodeEntry*>, size_t{UINT16_MAX} + 1> entries_;
};

// The pid's actor as every node knows it: what is written to other nodes, and
// printed. Any thread.
ActorAddress AddressOf(Pid pid);
// The pid of that actor of the node `node`. Requires an address within its
// bounds; one with serial 0 gives a null pid that knows its node.
Pid PidAt(NodePlace node, ActorAddress address);

}  // namespace internal
}  // namespace understudy

template <>
struct std::hash<understudy::Pid> {
  size_t operator()(const understudy::Pid& pid) const {
    return static_cast<size_t>((pid.serial() << 16 | pid.node()) * 0x9e3779b97f4a7c15U) ^ pid.cell();
  }
};

#endif  // UNDERSTUDY_ACTORS_PID_H_
