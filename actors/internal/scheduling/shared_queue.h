// SharedQueue: the runnable actors that are in no worker's own queue: those made
// runnable by plain threads or by stuck workers, and the overflow of full queues.
//
// First in, first out. The queue holds each Runnable at most once, so its size is
// bounded by the number of actors and other Runnables. Its memory never shrinks, so
// a steady state allocates nothing. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SHARED_QUEUE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SHARED_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/executor.h"

namespace understudy::internal {

class SharedQueue {
 public:
  void Push(Runnable* const* items, size_t count) {
    absl::MutexLock lock(&mu_);
    const size_t size = size_.load(std::memory_order_relaxed);
    if (size + count > ring_.size()) Grow(size + count);
    for (size_t i = 0; i < count; ++i) ring_[(first_ + size + i) % ring_.size()] = items[i];
    size_.store(size + count, std::memory_order_relaxed);
  }
  void Push(Runnable* item) { Push(&item, 1); }

  // Moves the oldest items, at most `count_max`, to `into`; returns how many.
  size_t Pop(Runnable** into, size_t count_max) {
    if (empty()) return 0;
    absl::MutexLock lock(&mu_);
    const size_t size = size_.load(std::memory_order_relaxed);
    const size_t count = std::min(size, count_max);
    for (size_t i = 0; i < count; ++i) into[i] = ring_[(first_ + i) % ring_.size()];
    first_ = ring_.empty() ? 0 : (first_ + count) % ring_.size();
    size_.store(size - count, std::memory_order_relaxed);
    return count;
  }

  // Read without the lock, so the value may be stale.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  bool empty() const { return size() == 0; }

 private:
  void Grow(size_t size_min) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<Runnable*> larger(std::max(size_min * 2, size_t{64}));
    const size_t size = size_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < size; ++i) larger[i] = ring_[(first_ + i) % ring_.size()];
    ring_.swap(larger);
    first_ = 0;
  }

  // Written under mu_.
  std::atomic<size_t> size_{0};
  absl::Mutex mu_;
  std::vector<Runnable*> ring_ ABSL_GUARDED_BY(mu_);
  size_t first_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SHARED_QUEUE_H_
