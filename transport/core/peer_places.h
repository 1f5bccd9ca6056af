// PeerPlaces: which peer's core has, or had last, a session with the incarnation at
// a place of the table of nodes. A reader takes no lock and writes nothing. The
// answer is a guess: the peer's core may belong to another peer by now, so it
// checks, under its own lock, whether its session is the one that is meant.
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
    // Relaxed: whoever destroys it has seen the end of all other calls.
    for (std::atomic<Part*>& part : parts_) delete part.load(std::memory_order_relaxed);
  }
  PeerPlaces(const PeerPlaces&) = delete;
  PeerPlaces& operator=(const PeerPlaces&) = delete;

  PeerCore* Find(NodePlace place) const {
    // Acquire, both: pair with the exchange and the store of Set.
    const Part* part = parts_[place.index / kPart].load(std::memory_order_acquire);
    return part == nullptr ? nullptr : (*part)[place.index % kPart].load(std::memory_order_acquire);
  }
  void Set(NodePlace place, PeerCore* peer) {
    std::atomic<Part*>& part = parts_[place.index / kPart];
    Part* there = part.load(std::memory_order_acquire);
    if (there == nullptr) {
      auto* fresh = new Part();
      // Release: a reader of the pointer sees the part's nulls. Acquire: the part that another thread put there.
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
