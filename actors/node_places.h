// NodePlaces: which place in the process-wide table of nodes (NodeTable) each incarnation of a node has.
//
// A place is an index, which a Pid holds in 16 bits, and a generation, which a Pid of another node holds in the 8 bits
// above its cell. An incarnation has one place, and for ever no other incarnation has the same one:
// 1. Actor systems of this process and incarnations of other nodes have separate indices, so a pid of another node is
//    never mistaken for one of this process.
// 2. The place of a dead incarnation is given to another with the next generation: the oldest dead first, and only when
//    no index is fresh. After the last generation the index is retired for good.
// 3. A system's own place has no generation, because a local send must not pay for one. It is given out again, oldest
//    first, only after all others of its kind, so a pid that was kept of an ended system does not soon name another.
//
// A dead incarnation keeps its place until another needs it. If it is met again it is alive, in its old place or, if
// that is gone, in another one: pids of the old place then answer NoProcess.
//
// A plain state machine, without locks.
#ifndef UNDERSTUDY_ACTORS_NODE_PLACES_H_
#define UNDERSTUDY_ACTORS_NODE_PLACES_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class NodePlaces {
 public:
  struct Bounds {
    uint16_t systems = limits::kSystemPlacesMax;
    uint16_t peers = limits::kPeerPlacesMax;
    uint32_t generations = limits::kGenerationsPerPlace;
    size_t learned_from_refs = limits::kNodesLearnedFromRefsMax;
  };
  // An incarnation as one actor system of this process knows it.
  struct Key {
    const void* system = nullptr;
    std::string name;
    uint64_t incarnation = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  enum class Source {
    kSystem,  // the incarnation is an actor system of this process
    kMet,     // a session with the incarnation begins
    kRef,     // a ref in a message names the incarnation
  };
  struct Taken {
    NodePlace place;
    bool is_new = false;  // this call gave the place to the incarnation
  };

  NodePlaces() : NodePlaces(Bounds()) {}
  explicit NodePlaces(const Bounds& bounds) : bounds_(bounds) {}

  // Returns the place of that incarnation, and gives it one if it has none. With Source::kMet the incarnation is alive
  // from now on. Returns ResourceExhausted if no place is left, or if a ref names a new incarnation while
  // Bounds::learned_from_refs incarnations are known from refs only.
  absl::StatusOr<Taken> Take(const Key& key, Source source);
  // Marks dead all incarnations of that name that `system` has met, except `alive`. An incarnation that is known from
  // refs only stays, because a peer could make up any number of them.
  void MarkDead(const void* system, absl::string_view name, absl::optional<uint64_t> alive);
  bool IsDead(const Key& key) const;
  // Call when `system` has ended. Frees and returns the places of all incarnations that it knew, its own included.
  std::vector<NodePlace> Retire(const void* system);

 private:
  struct Known {
    NodePlace place;
    Source source = Source::kMet;
    uint64_t died = 0;  // position in the order of deaths; 0 if it is not known to be dead
  };

  absl::optional<NodePlace> PlaceFor(Source source);
  void Meet(const Key& key, Known& known);
  // Lets the index of `place` be given out again with the next generation, unless this was the last one.
  void Free(NodePlace place, uint64_t died, absl::optional<Key> of);

  const Bounds bounds_;
  // How many indices of each kind have been given out at least once.
  uint16_t systems_used_ = 0;
  uint16_t peers_used_ = 0;
  std::map<Key, Known> known_;
  // The keys of known_ that were met and are not dead. MarkDead searches only these: most of known_ may be dead.
  std::set<Key> living_;
  size_t learned_from_refs_ = 0;  // entries of known_ that are known from refs only
  uint64_t deaths_ = 0;
  // The place of a dead incarnation, if its index has a generation left.
  struct FreePlace {
    NodePlace place;
    absl::optional<Key> of;  // the dead incarnation; null if its system has ended, so that known_ lacks it
  };
  std::map<uint64_t, FreePlace> free_;  // by Known::died: oldest death first
  std::deque<uint16_t> ended_systems_;  // indices of ended systems, oldest first
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_NODE_PLACES_H_
