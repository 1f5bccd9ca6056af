// RunQueue: a worker's bounded queue, from which others steal. First in, first
// out; one thread adds.
//
// After the local run queues of Go (runtime/proc.go, runqput and runqgrab) and
// of tokio (scheduler/multi_thread/queue.rs). The counters have 64 bits here, so
// that a thief that sleeps between its load and its exchange never meets the
// same value again.
//
// Invariants:
// 1. Positions [head, tail) are occupied, at index position % kCapacity.
// 2. Only the owner stores `tail_`. The owner and thieves advance `head_` by
//    compare-and-swap; the thread that advances it owns the items that it passed.
// 3. The owner writes a place only after it has loaded a `head_` that has passed it.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_RUN_QUEUE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_RUN_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

template <class T, size_t kCapacity = 256, class Atomics = StdAtomics>
class RunQueue {
 public:
  static_assert((kCapacity & (kCapacity - 1)) == 0 && kCapacity >= 2, "a power of two");
  // The most items that one Steal takes.
  static constexpr size_t kBatch = kCapacity / 2;
  using Batch = std::array<T*, kBatch>;

  RunQueue() = default;
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Owner. Returns false if the queue is full.
  [[nodiscard]] bool Push(T* item) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);  // written by this thread only
    // acquire: pairs with the release in Steal's compare-and-swap of head_, before which the thief has read the places
    // that the store below may overwrite.
    if (tail - head_.load(std::memory_order_acquire) == kCapacity) return false;
    places_[tail % kCapacity].store(item, std::memory_order_relaxed);
    // release: pairs with the acquire load of tail_ in Steal, so the thief sees the item and what it points to.
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Owner. Removes and returns the oldest item; null if the queue is empty.
  [[nodiscard]] T* Pop() {
    uint64_t head = head_.load(std::memory_order_relaxed);        // may be stale; the swap decides
    const uint64_t tail = tail_.load(std::memory_order_relaxed);  // written by this thread only
    while (head != tail) {
      T* const item = places_[head % kCapacity].load(std::memory_order_relaxed);
      // relaxed: only this thread writes places, so no other thread needs to be ordered after its read.
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        return item;
      }
    }
    return nullptr;
  }

  // Any thread. Moves the older half of the items, rounded up, to `into`; returns how many.
  [[nodiscard]] size_t Steal(Batch& into) {
    // acquire, here and where the compare-and-swap fails: keeps this load before the one of tail_ below.
    uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      // acquire: pairs with Push's release store of tail_.
      const uint64_t tail = tail_.load(std::memory_order_acquire);
      if (tail <= head) return 0;
      const uint64_t count = (tail - head + 1) / 2;
      // A count beyond kBatch means that `head` is stale and `tail` newer: load head_ again.
      if (count <= kBatch) {
        for (uint64_t i = 0; i < count; ++i) {
          into[i] = places_[(head + i) % kCapacity].load(std::memory_order_relaxed);
        }
        // release: pairs with the acquire load of head_ in Push, which then overwrites these places.
        if (head_.compare_exchange_strong(head, head + count, std::memory_order_acq_rel, std::memory_order_acquire)) {
          return count;
        }
      } else {
        head = head_.load(std::memory_order_acquire);
      }
    }
  }

  // Any thread. On threads other than the owner the value may be stale.
  size_t size() const {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    return tail > head ? static_cast<size_t>(tail - head) : 0;
  }

 private:
  template <class U>
  using Atomic = typename Atomics::template Atomic<U>;

  alignas(64) Atomic<uint64_t> head_{0};
  // On the owner's cache line; thieves read it rarely.
  alignas(64) Atomic<uint64_t> tail_{0};
  std::array<Atomic<T*>, kCapacity> places_{};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_RUN_QUEUE_H_
