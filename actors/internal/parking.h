// Parking: which workers sleep and which look for work, so that whoever queues
// work knows in one load whether to wake somebody.
//
// Announce is called for each piece of work that others may take. It wakes one
// worker when some sleep and none is looking: one that looks finds the work, and
// wakes the next when it was the last that looked and there is more.
//
// No work is left while a worker sleeps, because of two orders:
// - Announce: the work is queued, then the state is read;
// - Park, and FoundWork by the last that looked: the state is written, then the
//   queues are read.
// With the barriers between them one of the two sees the other's store. The
// light one, on the path of messages, costs nothing.
//
// Source: the spinning threads of Go's scheduler (runtime/proc.go, "Worker
// thread parking/unparking"). Any thread, unless a method says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_PARKING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_PARKING_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/atomics.h"

namespace understudy::internal {

class Parking {
 public:
  // Where one worker sleeps.
  class Spot {
   public:
    // It sleeps, or is about to. A guess on other threads.
    bool is_parked() const { return is_parked_.load(std::memory_order_relaxed); }

   private:
    friend class Parking;
    std::atomic<bool> is_parked_{false};  // written under mu_
    absl::CondVar woken_;
  };

  // After queuing work that any worker may take.
  void Announce() {
    StdAtomics::LightBarrier();  // pairs with the heavy ones in Park and FoundWork
    const uint64_t state = state_.load(std::memory_order_relaxed);
    if (ABSL_PREDICT_TRUE(Parked(state) == 0 || Searching(state) != 0)) return;
    WakeOne();
  }

  // Worker: it begins to look for work. False when enough do already; then it
  // looks once, and parks.
  bool StartSearch(int workers);
  // Worker that looked, and found something. `has_more`: there is other work.
  void FoundWork(absl::FunctionRef<bool()> has_more);
  // Worker that found nothing; `was_searching` if it had begun to look. Sleeps
  // until there may be work. Afterwards it is looking. `has_work` reads what
  // Announce announces.
  void Park(Spot& spot, bool was_searching, absl::FunctionRef<bool()> has_work);
  // From now on nobody sleeps.
  void Stop();

  int parked() const { return static_cast<int>(Parked(state_.load(std::memory_order_seq_cst))); }

 private:
  static constexpr uint64_t kOneSearching = 1;
  static constexpr uint64_t kOneParked = uint64_t{1} << 32;
  static constexpr uint64_t Searching(uint64_t state) { return state & (kOneParked - 1); }
  static constexpr uint64_t Parked(uint64_t state) { return state >> 32; }

  void WakeOne();
  void Unpark(Spot& spot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Workers that look, and, shifted, workers that sleep. Those that sleep change under mu_.
  std::atomic<uint64_t> state_{0};
  absl::Mutex mu_;
  std::vector<Spot*> spots_ ABSL_GUARDED_BY(mu_);  // the last that parked is woken first: its cache is warm
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_PARKING_H_
