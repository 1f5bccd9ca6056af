// PeerPlaces: maps a place in the table of nodes to the core that has, or last had, a
// session with the incarnation at that place. Find takes no lock and writes nothing.
// Its result is a hint: the core may have another peer by now, so the caller must let
// the core check, under the core's lock, that its session is the one that is meant.
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PEER_PLACES_H_
#define UNDERSTUDY_TRANSPORT_CORE_PEER_PLACES_H_

#include <array>
#include <atomic>
#include <cstddef>

#include "understudy/actors/pid.h"

namespace understudy::internal {

class PeerCore;

class PeerPlaces {
 public:
  PeerPlaces() = default;
  ~PeerPlaces() {
    // Relaxed: all other calls happen before the destructor, as for any object.
    for (std::atomic<Part*>& part : parts_) delete part.load(std::memory_order_relaxed);
  }
  PeerPlaces(const PeerPlaces&) = delete;
  PeerPlaces& operator=(const PeerPlaces&) = delete;

  PeerCore* Find(NodePlace place) const {
    // Both loads acquire: the first pairs with the compare-exchange in Set, the second with the store in Set.
    const Part* part = parts_[place.index / kPart].load(std::memory_order_acquire);
    return part == nullptr ? nullptr : (*part)[place.index % kPart].load(std::memory_order_acquire);
  }
  void Set(NodePlace place, PeerCore* peer) {
    std::atomic<Part*>& part = parts_[place.index / kPart];
    Part* there = part.load(std::memory_order_acquire);
    if (there == nullptr) {
      auto* fresh = new Part();
      // Release: a thread that loads the pointer sees the part's null entries. Acquire on failure: this thread sees
      // those of the part that another thread installed.
      if (part.compare_exchange_strong(there, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        there = fresh;
      } else {
        delete fresh;
      }
    }
    // Release: pairs with the load in Find.
    (*there)[place.index % kPart].store(peer, std::memory_order_release);
  }

 private:
  static constexpr size_t kPart = 256;
  using Part = std::array<std::atomic<PeerCore*>, kPart>;

  std::array<std::atomic<Part*>, (size_t{UINT16_MAX} + 1) / kPart> parts_ = {};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_PEER_PLACES_H_
