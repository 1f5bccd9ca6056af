// FreeList: a lock-free stack of free items, which are known by number (Treiber
// 1986). The head has a tag that every change increments, so a compare-and-swap
// fails if the same item was popped and pushed again meanwhile (ABA).
//
// `next_of(item)` returns a std::atomic in the item's memory that the list alone
// uses. That memory must never be unmapped: Pop may read it although another
// thread has popped the item meanwhile.
//
// Any thread. A Push of an item happens before the return of the Pop that gives
// this item out again.
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
      // release: pairs with the acquire loads of head_ in Pop, so the popping thread sees the item and its next.
    } while (
        !head_.compare_exchange_weak(head, After(head, item), std::memory_order_release, std::memory_order_relaxed));
  }

  // Returns kNone if the list is empty.
  template <class NextOf>
  [[nodiscard]] uint32_t Pop(NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (ItemOf(head) != kNone) {
      // The item may have been popped concurrently; the tag then differs and the compare-and-swap fails (ABA).
      const uint32_t next = next_of(ItemOf(head)).load(std::memory_order_relaxed);
      // acquire is enough: a read-modify-write continues the release sequences of earlier pushes, so a later Pop that
      // reads this head still synchronizes with the Push of its item.
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
  // The head that makes `item` the first one, with a tag one higher than the tag of `head`.
  static uint64_t After(uint64_t head, uint32_t item) { return ((head >> 32) + 1) << 32 | item; }

  Atomic<uint64_t> head_{kNone};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_FREE_LIST_H_
