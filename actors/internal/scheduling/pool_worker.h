// PoolWorker: one worker of a ThreadPool. Its record lives as long as the pool;
// when its thread has ended, another may begin with it.
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

  // Own thread.
  uint32_t slot_runs = 0;      // in a row
  uint32_t turns = 0;          // since the shared queue was first
  uint64_t seen_round = 0;     // of the watchdog
  uint32_t rounds_in_row = 0;  // of the watchdog, that began in one row of slot runs
  bool is_searching = false;
  uint32_t next_victim;

  Parking::Spot spot;
  RunQueue<Runnable> queue;

  // The watchdog's.
  StuckWatch watch;

  // No thread of the pool runs with this record; the last one is about to end, and waits for nothing.
  std::atomic<bool> is_free{true};
  // The watchdog's, and the pool's constructor's and destructor's.
  OsThread thread;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_POOL_WORKER_H_
