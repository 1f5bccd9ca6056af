// ReadySlot: the actor that a worker's turn made runnable last, which runs next
// on that worker.
//
// The slot is guarded by the worker's lock (BiasedLock): the owner uses it in
// kernel code, and the watchdog takes it over under a seizure. The slot therefore
// needs no atomics, and passing control from actor to actor costs one store and one
// load.
//
// While the slot is taken over it accepts nothing: the actors that the stuck
// handler makes runnable go to a queue where other workers find them.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_READY_SLOT_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_READY_SLOT_H_

#include <cstdint>

#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

template <class T, class Atomics = StdAtomics>
class ReadySlot {
 public:
  ReadySlot() = default;
  ReadySlot(const ReadySlot&) = delete;
  ReadySlot& operator=(const ReadySlot&) = delete;

  // Owner. Returns false if the slot is occupied or taken over.
  [[nodiscard]] bool TryPut(T* item) {
    if (item_ != nullptr || is_taken_over_) return false;
    item_ = item;
    return true;
  }

  // Owner. Puts `item` here and returns the item that the caller must queue: the
  // one that was here before, or null, or `item` itself if the slot is taken over.
  [[nodiscard]] T* Put(T* item) {
    if (is_taken_over_) return item;
    T* const displaced = item_;
    item_ = item;
    return displaced;
  }

  // Owner, or call under a seizure. Empties the slot; returns null if it was empty.
  [[nodiscard]] T* Take() {
    T* const item = item_;
    item_ = nullptr;
    return item;
  }

  // Call under a seizure. Empties the slot and returns the item that was there, or null.
  [[nodiscard]] T* TakeOver() {
    is_taken_over_ = true;
    return Take();
  }

  // Owner. After GiveBack the slot accepts items again.
  bool is_taken_over() const { return is_taken_over_; }
  void GiveBack() { is_taken_over_ = false; }

 private:
  template <class U>
  using Plain = typename Atomics::template Plain<U>;

  Plain<T*> item_ = nullptr;
  Plain<bool> is_taken_over_ = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_READY_SLOT_H_
