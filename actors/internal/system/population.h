// Population: how many actors a system has and may have, and whether it takes new ones. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_POPULATION_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_POPULATION_H_

#include <atomic>
#include <cstdint>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/system/failed_starts.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

class Population {
 public:
  // Before actors run.
  void set_most(int64_t actors) { most_ = actors; }
  // True if the system has as many actors as it may. Threads that spawn at the same time may exceed the limit by one
  // each.
  bool is_full() const {
    // relaxed: no other data depends on the count.
    return ABSL_PREDICT_FALSE(live.load(std::memory_order_relaxed) >= most_);
  }
  // The reason with which a spawn fails while is_full().
  ExitReason TooManyActors() const {
    return ExitReason::Failed(
        absl::ResourceExhaustedError(absl::StrCat("the system has ", most_, " actors, its actors_max")));
  }

  FailedStarts& failed_starts() { return failed_starts_; }
  const FailedStarts& failed_starts() const { return failed_starts_; }

  // Actors that were spawned and have not ended. A DeferredDestruction and a CallbackTurn count themselves too, because
  // they use the system. Shutdown waits for 0.
  std::atomic<int64_t> live{0};
  // True once Shutdown has begun. From then on a newly spawned actor is ended at once if
  // no parent would tell it to end: if a plain thread or an ending actor spawned it, or
  // if it is not linked to its parent.
  std::atomic<bool> is_stopping{false};
  // True once the time of Shutdown is over: every newly spawned actor is ended at once.
  std::atomic<bool> has_run_out{false};
  // Number of plain threads in AwaitStart. Pairs with ActorCell::SetStarted.
  std::atomic<int> awaited_starts{0};

 private:
  int64_t most_ = limits::kActorsDefaultMax;
  FailedStarts failed_starts_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_POPULATION_H_
