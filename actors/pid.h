// Pid: the address of one life of one actor on one incarnation of one node.
//
// A pid is never reused: it stays the address of that life after its actor has
// ended, and sends to it then answer NoProcess. Pids are small trivially
// copyable values; they compare, hash and print (<house-1.7.42>: node, cell,
// serial) and may be kept and used by any thread.
//
// In this process the cells and serials of pids count up. Other nodes and printed pids have
// the actor's address instead: its cell and serial, permuted by the key of its node
// (address_key.h). So a pid prints the same on every node, and an address
// cannot be guessed.
//
// A process may hold several actor systems and know many peers, so a pid names its
// node by a place in a process-wide table of nodes (node_table.h). The place of a dead
// incarnation is given out again with another generation, so an old pid never comes to
// name an actor of another node.
#ifndef UNDERSTUDY_ACTORS_PID_H_
#define UNDERSTUDY_ACTORS_PID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "understudy/actors/address_key.h"

namespace understudy {

// Distinguishes the lives of a node with one name: 64 random bits, compared only for
// equality. Zero is no incarnation.
struct NodeIncarnation {
  uint64_t bits = 0;
  friend constexpr bool operator==(NodeIncarnation, NodeIncarnation) = default;
};

// The place of an incarnation of a node in NodeTable. Successive incarnations at one
// index have different generations. A place is known only within the process; the
// generation of an actor system of this process is 0.
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
  static constexpr int kNameTagBits = 30;
  static constexpr uint32_t kNameTagMax = (uint32_t{1} << kNameTagBits) - 1;

  // The null pid, which is no actor's.
  constexpr Pid() = default;
  // `serial` is below 2^48 and not 0.
  constexpr Pid(NodePlace node, uint32_t cell, uint64_t serial)
      : word_(serial << 16 | node.index), cell_(uint32_t{node.generation} << kCellBits | cell) {}
  // The result of resolving a name without an owner in the names of `node`: a null pid,
  // to which a send answers NoName. `name_tag`, at most kNameTagMax, tells which name it
  // was (internal/system/unowned_names.h); 0 if that is not known.
  static constexpr Pid Unnamed(uint16_t node = 0, uint32_t name_tag = 0) {
    return Pid(node, name_tag << kKindBits | kUnnamed, 0);
  }
  // The result of resolving a name whose owner is being restarted: a null pid, to which
  // a send answers Restarting.
  static constexpr Pid Vacant(uint16_t node = 0, uint32_t name_tag = 0) {
    return Pid(node, name_tag << kKindBits | kVacant, 0);
  }

  // The pid whose life() and cell() are these.
  static constexpr Pid OfLife(uint64_t life, uint32_t cell) {
    Pid pid;
    pid.word_ = life;
    pid.cell_ = cell;
    return pid;
  }

  constexpr bool is_null() const { return serial() == 0; }
  // Unnamed or Vacant.
  constexpr bool is_unnamed() const { return is_null() && (null_kind() == kUnnamed || null_kind() == kVacant); }
  constexpr bool is_vacant() const { return is_null() && null_kind() == kVacant; }
  // Requires is_unnamed(). The tag that Unnamed or Vacant was given.
  constexpr uint32_t name_tag() const { return cell_ >> kKindBits; }
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
  // A total order for ordered containers, without further meaning.
  friend constexpr auto operator<=>(const Pid&, const Pid&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const Pid& pid) {
    return H::combine(std::move(state), pid.word_, pid.cell_);
  }
  friend std::ostream& operator<<(std::ostream& out, const Pid& pid) { return out << pid.ToString(); }

 private:
  static constexpr int kCellBits = 24;
  // In a null pid the lowest bits of the cell are its kind, and the others its name_tag.
  static constexpr int kKindBits = 32 - kNameTagBits;
  static constexpr uint32_t kUnnamed = 1;
  static constexpr uint32_t kVacant = 2;
  constexpr uint32_t null_kind() const { return cell_ % (uint32_t{1} << kKindBits); }
  static_assert(ActorAddress::kCellEnd == uint32_t{1} << kCellBits);

  uint64_t word_ = 0;
  uint32_t cell_ = 0;
};

}  // namespace understudy

template <>
struct std::hash<understudy::Pid> {
  size_t operator()(const understudy::Pid& pid) const {
    return static_cast<size_t>((pid.serial() << 16 | pid.node()) * 0x9e3779b97f4a7c15U) ^ pid.cell();
  }
};

#endif  // UNDERSTUDY_ACTORS_PID_H_
