// ReadySlot: the actor that a worker's turn made runnable last, which runs next
// on that worker.
//
// All of it is guarded by the worker's lock (BiasedLock): its owner uses it in
// kernel code, and whoever takes it over holds a seizure. So it is plain memory,
// and a hand-over from actor to actor costs one store and one load.
//
// While it is taken over it takes nothing: what the worker's handler makes
// runnable goes where other workers find it.
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

  // Owner. False when it is occupied, or taken over.
  [[nodiscard]] bool TryPut(T* item) {
    if (item_ != nullptr || is_taken_over_) return false;
    item_ = item;
    return true;
  }

  // Owner. Null, or what has to be queued: what was here before, or `item`
  // itself while the slot is taken over.
  [[nodiscard]] T* Put(T* item) {
    if (is_taken_over_) return item;
    T* const displaced = item_;
    item_ = item;
    return displaced;
  }

  // Owner. Null when it is empty.
  [[nodiscard]] T* Take() {
    T* const item = item_;
    item_ = nullptr;
    return item;
  }

  // Under a seizure. Gives what is there.
  [[nodiscard]] T* TakeOver() {
    is_taken_over_ = true;
    return Take();
  }

  // Owner.
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
