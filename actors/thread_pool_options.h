// ThreadPoolOptions: of a ThreadPool (thread_pool.h). Threads: a plain struct.
#ifndef UNDERSTUDY_ACTORS_THREAD_POOL_OPTIONS_H_
#define UNDERSTUDY_ACTORS_THREAD_POOL_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"

namespace understudy {

struct ThreadPoolOptions {
  // 0: one for each CPU that this process may use, by its affinity and the quota of its control group.
  int threads = 0;
  // The most workers that may be added in place of stuck ones. Negative: 64, plus four for each of `threads`.
  int surplus_threads_max = -1;
  // A worker whose handler runs for this time loses its slot and queue to the other workers.
  absl::Duration take_over_after = limits::kTakeOverAfter;
  // A handler that runs for this time is named in `log`, and again each time its running time has doubled. If no more
  // workers can be added, the log names the handlers that hold workers: at once, again after this time, and each time
  // the shortage has lasted twice as long.
  absl::Duration name_after = limits::kNameHandlerAfter;
  LogSink* log = nullptr;  // null: standard error

  // The actor that a turn makes runnable last runs next on the same worker, before those in the worker's queue. After
  // this many such runs in a row, or after two rounds of the watchdog, the queue comes first.
  uint32_t slot_runs_max = 64;
  // After this many turns, and in each round of the watchdog, a worker takes from the shared queue first, so that its
  // own work cannot starve that queue.
  uint32_t shared_first_every = 61;

  // How often a busy worker polls the process's EventSource, if no idle worker does. The default is about fifty times
  // the cost of a poll.
  absl::Duration poll_every = absl::Microseconds(50);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_THREAD_POOL_OPTIONS_H_
