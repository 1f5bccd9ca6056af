// Polling: who polls the process's EventSource: one thread at most, of any ThreadPool, or a thread of the source while
// the process has no pool.
//
// Invariants:
// 1. Whoever is in EventSource::Poll holds the turn: TryTake gave it, GiveBack ends it.
// 2. While a source is installed and a pool has joined, somebody holds the turn, or the watchdog of some pool is awake
//    and sees to it: a watchdog goes to sleep only while all workers of its pool are parked and the turn is held.
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
    // Nobody holds the turn: wakes an idle worker, if there is one, to take it. Called with Polling's lock held.
    virtual void OfferTurn() = 0;

   protected:
    ~Pool() = default;
  };

  // The process's.
  static Polling& Process();

  Polling() = default;
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

  void Install(EventSource& source);
  void Join(Pool& pool);
  // No thread of `pool` holds the turn, nor takes it again.
  void Leave(Pool& pool);

  // Null before Install. acquire: pairs with Install's release, so that the source is seen whole.
  EventSource* source() const { return source_.load(std::memory_order_acquire); }
  // There is a source, and this thread now holds the turn.
  [[nodiscard]] bool TryTake() {
    if (source() == nullptr || is_taken_.load(std::memory_order_relaxed)) return false;
    // acquire: pairs with GiveBack's release, so that the source sees what its last Poll did.
    if (is_taken_.exchange(true, std::memory_order_acquire)) return false;
    turns_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void GiveBack() { is_taken_.store(false, std::memory_order_release); }

  // There is a source, and nobody polls it. The value may be stale when the caller sees it.
  bool is_wanted() const { return source() != nullptr && !is_taken_.load(std::memory_order_seq_cst); }
  // How often the turn was taken so far.
  uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }

 private:
  // Takes the turn whenever there is no pool.
  void ServeAlone();
  void StartThreadIfAlone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::atomic<EventSource*> source_{nullptr};
  std::atomic<bool> is_taken_{false};
  std::atomic<uint64_t> turns_{0};
  // Written under mu_.
  std::atomic<bool> is_alone_{true};

  absl::Mutex mu_;
  absl::CondVar alone_changed_;
  std::vector<Pool*> pools_ ABSL_GUARDED_BY(mu_);
  bool has_thread_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POLLING_H_
