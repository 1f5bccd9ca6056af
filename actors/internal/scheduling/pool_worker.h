// PoolWorker: one worker of a ThreadPool. The object lives as long as the pool;
// when its thread has ended, a new thread may reuse it.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POOL_WORKER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POOL_WORKER_H_

#include <atomic>
#include <cstdint>

#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/os_thread.h"
#include "understudy/actors/internal/scheduling/parking.h"
#include "understudy/actors/internal/scheduling/run_queue.h"
#include "understudy/actors/internal/scheduling/stuck_watch.h"
#include "understudy/actors/internal/scheduling/worker.h"

namespace understudy::internal {

class PoolWorker final : public Worker {
 public:
  PoolWorker(Executor& its_executor, StuckWatch its_watch, uint32_t number)
      : Worker(its_executor, &its_executor), next_victim(number), watch(its_watch) {}

  // Used by its own thread (ThreadPool::Next).
  uint32_t slot_runs = 0;      // turns of actors from the slot, without another turn in between
  uint32_t turns = 0;          // since the worker last took from the shared queue first
  uint64_t seen_round = 0;     // the watchdog's round in which that was
  uint32_t rounds_in_row = 0;  // rounds of the watchdog that began during the present row of slot runs
  bool is_searching = false;   // registered with Parking as searching
  uint32_t next_victim;        // the worker from which to steal next

  Parking::Spot spot;
  RunQueue<Runnable> queue;

  // Written by its own thread.
  std::atomic<int64_t> steals{0};

  // Used by the watchdog.
  StuckWatch watch;
  // Written by the watchdog: since when, by the clock's nanoseconds, the worker has been in the section of user code
  // that is the number `watched_handlers`.
  std::atomic<int64_t> watched_since{0};
  std::atomic<uint64_t> watched_handlers{0};

  // True if no thread uses this object: it had no thread yet, or its last thread is about to end and can be joined
  // without a long wait.
  std::atomic<bool> is_free{true};
  // Used by the watchdog and by the pool's constructor and destructor.
  OsThread thread;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POOL_WORKER_H_
