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
// 2. Only the owner stores `tail_`; `head_` moves by exchanges, the owner's or a
//    thief's, and whoever moves it owns what it passed.
// 3. The owner writes a place only after it has seen `head_` pass it.
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
  // The most that one Steal gives.
  static constexpr size_t kBatch = kCapacity / 2;
  using Batch = std::array<T*, kBatch>;

  RunQueue() = default;
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Owner. False when it is full.
  [[nodiscard]] bool Push(T* item) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);  // its own
    // acquire: pairs with the exchange that moved head_; whoever did has read its places by then.
    if (tail - head_.load(std::memory_order_acquire) == kCapacity) return false;
    places_[tail % kCapacity].store(item, std::memory_order_relaxed);
    // release: pairs with the acquire in Steal; a thief sees the item, and what it points to.
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Owner. The oldest, or null.
  [[nodiscard]] T* Pop() {
    uint64_t head = head_.load(std::memory_order_relaxed);        // a guess; the exchange tells
    const uint64_t tail = tail_.load(std::memory_order_relaxed);  // its own
    while (head != tail) {
      T* const item = places_[head % kCapacity].load(std::memory_order_relaxed);
      // relaxed: the owner alone writes places, so nobody has to see what it read.
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        return item;
      }
    }
    return nullptr;
  }

  // Any thread. Takes the older half, rounded up, and gives its number.
  [[nodiscard]] size_t Steal(Batch& into) {
    uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      // acquire: pairs with Push's release.
      const uint64_t tail = tail_.load(std::memory_order_acquire);
      if (tail <= head) return 0;
      const uint64_t count = (tail - head + 1) / 2;
      // head_ is old, and what lies behind it new: look again.
      if (count <= kBatch) {
        for (uint64_t i = 0; i < count; ++i) {
          into[i] = places_[(head + i) % kCapacity].load(std::memory_order_relaxed);
        }
        // release: pairs with the acquire in Push, which then writes those places.
        if (head_.compare_exchange_strong(head, head + count, std::memory_order_acq_rel, std::memory_order_acquire)) {
          return count;
        }
      } else {
        head = head_.load(std::memory_order_acquire);
      }
    }
  }

  // Any thread; of another thread's a guess.
  size_t size() const {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    return tail > head ? static_cast<size_t>(tail - head) : 0;
  }

 private:
  template <class U>
  using Atomic = typename Atomics::template Atomic<U>;

  alignas(64) Atomic<uint64_t> head_{0};
  // On the owner's line. Thieves read it, seldom.
  alignas(64) Atomic<uint64_t> tail_{0};
  std::array<Atomic<T*>, kCapacity> places_{};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_RUN_QUEUE_H_
