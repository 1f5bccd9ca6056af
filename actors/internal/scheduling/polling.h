// Polling: decides which thread polls the process's EventSource. At most one thread does: a worker or the watchdog of
// any ThreadPool, or a thread of the source itself while the process has no pool. The right to poll is called the turn.
//
// Invariants:
// 1. Only the thread that holds the turn calls EventSource::Poll. TryTake takes the turn, GiveBack releases it.
// 2. While a source is installed and a pool has joined, a thread holds the turn, or the watchdog of some pool is awake
//    and wakes a worker to take it. A watchdog sleeps only while all workers of its pool are parked and the turn is
//    held.
// 3. A pool that leaves, and the thread of the source when a pool has joined, offer the turn to a pool.
//
// Lock order: mu_, then a pool's locks in OfferTurn. TryTake and GiveBack take no lock. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POLLING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POLLING_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/event_source.h"

namespace understudy::internal {

class Polling {
 public:
  // A pool of threads that polls when it is idle.
  class Pool {
   public:
    // Called when the turn is free, with Polling's mu_ held. Wakes an idle worker, if there is one, to take the turn.
    virtual void OfferTurn() = 0;

   protected:
    ~Pool() = default;
  };

  // The Polling of this process.
  static Polling& Process();

  Polling() = default;
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

  void Install(EventSource& source);
  void Join(Pool& pool);
  // Requires that no thread of `pool` holds the turn or will take it.
  void Leave(Pool& pool);

  // Null before Install. acquire: pairs with Install's release store, so the caller sees the source as constructed.
  EventSource* source() const { return source_.load(std::memory_order_acquire); }
  // Returns true if there is a source and this thread now holds the turn.
  [[nodiscard]] bool TryTake() {
    if (source() == nullptr || is_taken_.load(std::memory_order_relaxed)) return false;
    // acquire: pairs with GiveBack's release, so this thread sees what the last Poll wrote.
    if (is_taken_.exchange(true, std::memory_order_acquire)) return false;
    turns_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void GiveBack() { is_taken_.store(false, std::memory_order_release); }

  // True if there is a source and no thread holds the turn. The value may be stale when the caller sees it.
  bool is_wanted() const { return source() != nullptr && !is_taken_.load(std::memory_order_seq_cst); }
  // How often the turn was taken so far.
  uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }

 private:
  // The body of the source's own thread: polls while no pool has joined.
  void ServeAlone();
  void StartThreadIfAlone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::atomic<EventSource*> source_{nullptr};
  std::atomic<bool> is_taken_{false};
  std::atomic<uint64_t> turns_{0};
  // True while pools_ is empty. Written under mu_.
  std::atomic<bool> is_alone_{true};

  absl::Mutex mu_;
  absl::CondVar alone_changed_;
  std::vector<Pool*> pools_ ABSL_GUARDED_BY(mu_);
  bool has_thread_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POLLING_H_
