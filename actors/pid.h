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
// is an index into one process-wide table of nodes (see NodeTable).
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
#include "understudy/actors/address_key.h"

namespace understudy {

// Tells one life of a node from another of the same name. 64 random bits,
// compared for equality only; zero is no incarnation.
struct NodeIncarnation {
  uint64_t bits = 0;
  friend constexpr bool operator==(NodeIncarnation, NodeIncarnation) = default;
};

class Pid {
 public:
  // No actor's pid.
  constexpr Pid() = default;
  // `serial` is below 2^48 and not 0; `node` is an index of NodeTable.
  constexpr Pid(uint16_t node, uint32_t cell, uint64_t serial) : word_(serial << 16 | node), cell_(cell) {}
  // What resolving a free name in that node's table gives: no actor's pid, and a
  // send to it answers NoName.
  static constexpr Pid Unnamed(uint16_t node = 0) { return Pid(node, 1, 0); }

  // The pid whose life() and cell() are these.
  static constexpr Pid OfLife(uint64_t life, uint32_t cell) {
    return Pid(static_cast<uint16_t>(life), cell, life >> 16);
  }

  constexpr bool is_null() const { return serial() == 0; }
  constexpr bool is_unnamed() const { return is_null() && cell_ == 1; }
  constexpr uint16_t node() const { return static_cast<uint16_t>(word_); }
  constexpr uint32_t cell() const { return cell_; }
  constexpr uint64_t serial() const { return word_ >> 16; }
  // Serial and node in one word, which tells one life from all others of this
  // process, of every system.
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
  uint64_t word_ = 0;
  uint32_t cell_ = 0;
};

namespace internal {

// What a pid's node index means: an incarnation of a node as one actor system
// of this process sees it.
struct NodeEntry {
  const void* system = nullptr;  // the ActorSystem that sends through it; null when it has ended
  std::string name;
  NodeIncarnation incarnation;
  bool is_local = false;  // actors of it live in `system` itself
  AddressKey key;         // where is_local: of the addresses that leave it
};

// The process-wide table of nodes. An entry never changes. A system that is
// destroyed retires its entries; their indices are given out again, oldest
// first, only when all others are used, so that a pid that was kept does not
// soon name another system. Entries of a living system stay, those of dead
// incarnations too: a pid that was kept must not come to name another node. The
// table is full when limits::kNodeTableEntriesMax are of living systems. Any
// thread.
class NodeTable {
 public:
  // The index of the entry of that system and incarnation, added if it is new.
  // ResourceExhausted when it would be, and the table is full.
  static absl::StatusOr<uint16_t> Intern(const NodeEntry& entry) { return Intern(entry, Source::kMet); }
  // The same for a node that a ref in a message names. ResourceExhausted also
  // when limits::kNodesLearnedFromRefsMax entries of living systems are from
  // refs only, and were not given to Intern since.
  static absl::StatusOr<uint16_t> InternFromRef(const NodeEntry& entry) { return Intern(entry, Source::kRef); }
  // The entry at `index`, or null when there is none. Valid for ever. That of a
  // retired index has no system.
  static const NodeEntry* Find(uint16_t index) {
    // acquire: pairs with the release of Intern and Retire.
    return entries_[index].load(std::memory_order_acquire);
  }
  // Retires all entries of `system`.
  static void Retire(const void* system);

 private:
  enum class Source : uint8_t { kMet, kRef };
  static absl::StatusOr<uint16_t> Intern(const NodeEntry& entry, Source source);

  static constinit std::array<std::atomic<const NodeEntry*>, size_t{UINT16_MAX} + 1> entries_;
};

// The pid's actor as every node knows it: what is written to other nodes, and
// printed. Any thread.
ActorAddress AddressOf(Pid pid);
// The pid of that actor of the node `node`. Requires an address within its
// bounds; one with serial 0 gives a null pid that knows its node.
Pid PidAt(uint16_t node, ActorAddress address);

}  // namespace internal
}  // namespace understudy

template <>
struct std::hash<understudy::Pid> {
  size_t operator()(const understudy::Pid& pid) const {
    return static_cast<size_t>((pid.serial() << 16 | pid.node()) * 0x9e3779b97f4a7c15U) ^ pid.cell();
  }
};

#endif  // UNDERSTUDY_ACTORS_PID_H_
