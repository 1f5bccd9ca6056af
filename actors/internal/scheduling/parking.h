// Parking: counts the workers that sleep (parked) and that look for work
// (searching), so that a thread that queues work knows from one load whether it
// must wake a worker.
//
// Call Announce for each piece of work that other workers may take. It wakes one
// worker if some are parked and none is searching: a searching worker finds the
// work, and the last one that searches wakes another if there is more.
//
// One parked worker polls the process's EventSource instead of sleeping, unless
// another thread of the process polls. An event may make work for the polling
// worker itself, which then leaves Park and runs it. A thread that wants to wake
// the polling worker does so through the source.
//
// No work is left while a worker sleeps. The announcing thread stores the work in
// a queue, then loads state_ (Announce). The worker that stops searching writes
// state_, then loads the queues (Park, or FoundWork by the last one that searched).
// The barriers in between guarantee that at least one of the two threads sees the
// other's write. Announce has the light barrier, which is free, because messages
// between workers take this path. The other side has the heavy barrier. It needs
// only a fence if all other workers sleep and none polls, because then only threads
// that are not workers can announce, and they have a fence too
// (AnnounceFromOutside). A sleeping worker runs or polls again only after it has
// synchronized, through its spot and mu_, with the worker that wrote state_. It
// takes no lock when it wakes: others may wait for that already.
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
    // True if the worker sleeps or polls, or is about to. Any thread; on threads other than the worker's the value may
    // be stale.
    bool is_parked() const { return state_.load(std::memory_order_relaxed) != kRuns; }

   private:
    friend class Parking;
    static constexpr int kRuns = 0, kParked = 1, kSleeps = 2;

    // The worker, while it is parked, sleeps until End.
    void Sleep();
    // Under mu_. Ends the parking. Returns true if the worker sleeps, and needs a Wake.
    bool End() { return state_.exchange(kRuns, std::memory_order_release) == kSleeps; }
    void Wake();

    std::atomic<int> state_{kRuns};  // written under mu_, but for the step to kSleeps
  };

  explicit Parking(Polling& polling) : polling_(polling) {}

  // AddWorker before a worker's thread begins, RemoveWorker after its last call here.
  void AddWorker();
  void RemoveWorker() { workers_.fetch_sub(1, std::memory_order_seq_cst); }

  // Worker only. Call after queuing work that any worker may take.
  void Announce() {
    StdAtomics::LightBarrier();  // pairs with OrderAgainstAnnounce's HeavyBarrier
    const uint64_t state = state_.load(std::memory_order_relaxed);
    if (ABSL_PREDICT_TRUE(Parked(state) == 0 || Searching(state) != 0)) return;
    WakeOne();
  }
  // Like Announce, on a thread that is not a worker of this pool.
  void AnnounceFromOutside() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with OrderAgainstAnnounce's fence or HeavyBarrier
    const uint64_t state = state_.load(std::memory_order_relaxed);
    if (Parked(state) == 0 || Searching(state) != 0) return;
    WakeOne();
  }

  // Worker only. Registers it as searching. Returns false if enough workers search
  // already; the worker then looks once and parks.
  bool StartSearch(int workers);
  // Worker only. Call when the worker was searching and has found work. `has_more` says whether there is more work in
  // the queues: then the last worker that searched wakes another one.
  void FoundWork(absl::FunctionRef<bool()> has_more);
  // Worker only. Sleeps, or polls, until there may be work. `was_searching`:
  // StartSearch returned true. `has_work` says whether the queues that Announce is
  // for have work. `take_own`, which is called while polling, takes the work that
  // events made for this worker itself and says whether there was some. Returns
  // true if the worker is searching now; false if take_own took something.
  [[nodiscard]] bool Park(Spot& spot, bool was_searching, absl::FunctionRef<bool()> has_work,
                          absl::FunctionRef<bool()> take_own);
  // Wakes a parked worker so that it polls. Returns false if none is parked.
  bool WakeToPoll();
  // Wakes all workers; from now on Park returns at once.
  void Stop();

  int parked() const { return static_cast<int>(Parked(state_.load(std::memory_order_seq_cst))); }

 private:
  static constexpr uint64_t kOneSearching = 1;
  static constexpr uint64_t kOneParked = uint64_t{1} << 32;
  static constexpr uint64_t Searching(uint64_t state) { return state & (kOneParked - 1); }
  static constexpr uint64_t Parked(uint64_t state) { return state >> 32; }

  void WakeOne();
  // Removes `spot` from the parked ones. Its worker then searches, or runs the work that it has.
  enum class Then { kSearches, kRuns };
  // Returns true if the worker sleeps.
  bool Unpark(Spot& spot, Then then) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake(Spot& spot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Polls until another thread unparks `spot` (returns false) or take_own() takes something (returns true). This thread
  // must hold the turn of Polling.
  bool PollWhileParked(Spot& spot, absl::FunctionRef<bool()> take_own) ABSL_LOCKS_EXCLUDED(mu_);
  // Orders this worker's write of state_, which found `parked` other workers parked, before the queue loads that
  // follow.
  void OrderAgainstAnnounce(uint64_t parked) const;

  Polling& polling_;

  // Low half: searching workers. High half: parked workers, which changes only under mu_.
  std::atomic<uint64_t> state_{0};
  // Workers whose threads exist: parked, searching, or running turns.
  std::atomic<uint64_t> workers_{0};
  // A parked worker polls, and so may call Announce for what its events make runnable. Written under mu_.
  std::atomic<bool> has_poller_{false};
  absl::Mutex mu_;
  std::vector<Spot*> spots_ ABSL_GUARDED_BY(mu_);  // the last that parked is woken first: its cache is warm
  Spot* poller_ ABSL_GUARDED_BY(mu_) = nullptr;    // the one of spots_ whose worker polls
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_PARKING_H_
