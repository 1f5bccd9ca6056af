// FreeList: items that are free, by their numbers; the last that became free is
// taken first. Lock-free (Treiber 1986), with a count against a head that has
// come back while somebody looked.
//
// An item's memory is never unmapped, and holds, apart from what the item is
// used for, an atomic number: `next_of(item)` gives it.
//
// Any thread. What is done before Push happens before what follows the Pop that
// gives the item out again.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_FREE_LIST_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_FREE_LIST_H_

#include <atomic>
#include <cstdint>

#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

template <class Atomics = StdAtomics>
class FreeList {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  FreeList() = default;
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;

  template <class NextOf>
  void Push(uint32_t item, NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_of(item).store(ItemOf(head), std::memory_order_relaxed);
      // release: pairs with Pop's acquire, for the item and its next.
    } while (
        !head_.compare_exchange_weak(head, After(head, item), std::memory_order_release, std::memory_order_relaxed));
  }

  // kNone when there is none.
  template <class NextOf>
  [[nodiscard]] uint32_t Pop(NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (ItemOf(head) != kNone) {
      // Another's by now, perhaps: then the count is another one too.
      const uint32_t next = next_of(ItemOf(head)).load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, After(head, next), std::memory_order_acquire, std::memory_order_acquire)) {
        return ItemOf(head);
      }
    }
    return kNone;
  }

 private:
  template <class T>
  using Atomic = typename Atomics::template Atomic<T>;

  static uint32_t ItemOf(uint64_t head) { return static_cast<uint32_t>(head); }
  // With the next count.
  static uint64_t After(uint64_t head, uint32_t item) { return ((head >> 32) + 1) << 32 | item; }

  Atomic<uint64_t> head_{kNone};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_FREE_LIST_H_
