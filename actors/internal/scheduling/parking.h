// Parking: which workers sleep and which look for work, so that whoever queues
// work knows in one load whether to wake somebody.
//
// Announce is called for each piece of work that others may take. It wakes one
// worker when some sleep and none is looking: one that looks finds the work, and
// wakes the next when it was the last that looked and there is more.
//
// One of the workers that sleep polls the process's EventSource in place of
// sleeping, if nobody else in the process does. An event may make work for that
// worker itself: then it leaves Park and runs it. Another thread that chooses
// the polling worker wakes it through the source.
//
// No work is left while a worker sleeps, because of two orders:
// - Announce: the work is queued, then the state is read;
// - Park, and FoundWork by the last that looked: the state is written, then the
//   queues are read.
// With the barriers between them one of the two sees the other's store. The
// light one, on the path of messages between workers, costs nothing; the heavy
// one is left out when every other worker sleeps and none polls, because then only
// threads that are not workers can be announcing, and those have a full fence
// (AnnounceFromOutside). A sleeping worker runs again, or polls, only after it
// has synchronised with the state that this worker wrote.
//
// Source: the spinning threads of Go's scheduler (runtime/proc.go, "Worker
// thread parking/unparking"). Any thread, unless a method says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_PARKING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_PARKING_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/memory/atomics.h"
#include "understudy/actors/internal/scheduling/polling.h"

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

  explicit Parking(Polling& polling) : polling_(polling) {}

  // Before a worker's thread begins, and after its last call here.
  void AddWorker();
  void RemoveWorker() { workers_.fetch_sub(1, std::memory_order_seq_cst); }

  // Worker, after queuing work that any worker may take.
  void Announce() {
    StdAtomics::LightBarrier();  // pairs with the heavy ones in Park and FoundWork
    const uint64_t state = state_.load(std::memory_order_relaxed);
    if (ABSL_PREDICT_TRUE(Parked(state) == 0 || Searching(state) != 0)) return;
    WakeOne();
  }
  // The same on a thread that is not one of these workers.
  void AnnounceFromOutside() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fences in Park and FoundWork
    const uint64_t state = state_.load(std::memory_order_relaxed);
    if (Parked(state) == 0 || Searching(state) != 0) return;
    WakeOne();
  }

  // Worker: it begins to look for work. False when enough do already; then it
  // looks once, and parks.
  bool StartSearch(int workers);
  // Worker that looked, and found something. `has_more`: there is other work.
  void FoundWork(absl::FunctionRef<bool()> has_more);
  // Worker that found nothing; `was_searching` if it had begun to look. Sleeps,
  // or polls, until there may be work. `has_work` reads what Announce announces;
  // `take_own` takes what the worker itself, while it polls, made runnable, and
  // Park returns when it has taken some. Returns true if the worker is looking
  // for work now; false if it left because of what take_own took.
  [[nodiscard]] bool Park(Spot& spot, bool was_searching, absl::FunctionRef<bool()> has_work,
                          absl::FunctionRef<bool()> take_own);
  // Wakes a worker that sleeps, so that it polls. False when none does.
  bool WakeToPoll();
  // From now on nobody sleeps.
  void Stop();

  int parked() const { return static_cast<int>(Parked(state_.load(std::memory_order_seq_cst))); }

 private:
  static constexpr uint64_t kOneSearching = 1;
  static constexpr uint64_t kOneParked = uint64_t{1} << 32;
  static constexpr uint64_t Searching(uint64_t state) { return state & (kOneParked - 1); }
  static constexpr uint64_t Parked(uint64_t state) { return state >> 32; }

  void WakeOne();
  // `spot` is parked no more; its worker then looks for work, or runs what it has.
  enum class Then { kSearches, kRuns };
  void Unpark(Spot& spot, Then then) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake(Spot& spot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Polls until `spot` is parked no more, or take_own() took something: then true. This thread holds the turn.
  bool PollWhileParked(Spot& spot, absl::FunctionRef<bool()> take_own) ABSL_LOCKS_EXCLUDED(mu_);
  // Orders this worker's change of state_, which found `parked` other workers asleep, before what it reads next.
  void OrderAgainstAnnounce(uint64_t parked) const;

  Polling& polling_;

  // Workers that look, and, shifted, workers that sleep. Those that sleep change under mu_.
  std::atomic<uint64_t> state_{0};
  // Workers whose threads run: they sleep, look, or run turns.
  std::atomic<uint64_t> workers_{0};
  // One of those that sleep polls: it may announce what its events make runnable. Written under mu_.
  std::atomic<bool> has_poller_{false};
  absl::Mutex mu_;
  std::vector<Spot*> spots_ ABSL_GUARDED_BY(mu_);  // the last that parked is woken first: its cache is warm
  Spot* poller_ ABSL_GUARDED_BY(mu_) = nullptr;    // of these, the one that polls
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_PARKING_H_
