// ThreadPool: an Executor of worker threads that steal work from each other.
//
// Each worker has a slot for what its turn made runnable last, which runs next,
// and a bounded queue from which others steal; a turn that ends with more to do
// goes behind what waits. What plain threads make runnable
// and what a full queue gives away is in a queue that all share. A worker with
// nothing to do looks for a few microseconds and then sleeps.
//
// Nothing runnable and no timer waits behind a handler: a watchdog, which goes to
// sleep when no worker has run for a few milliseconds, sees a worker that has been
// in one section of user code for `take_over_after`, takes its slot and queue, and
// adds a worker in its place, up to a bound; one too many ends when the handler has
// returned. Timers have a thread of their own. A handler that goes on is named in
// the log.
//
// If the process has an EventSource, its workers poll it (event_source.h).
//
// Within one queue order is first in, first out. Threads: any. Destroy it after
// everything scheduled has run: it waits for the turns that run, and callbacks
// of timers that are not due then never run.
#ifndef UNDERSTUDY_ACTORS_THREAD_POOL_H_
#define UNDERSTUDY_ACTORS_THREAD_POOL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/os_thread.h"
#include "understudy/actors/internal/scheduling/own_threads.h"
#include "understudy/actors/internal/scheduling/parking.h"
#include "understudy/actors/internal/scheduling/polling.h"
#include "understudy/actors/internal/scheduling/shared_queue.h"
#include "understudy/actors/internal/scheduling/stuck_watch.h"
#include "understudy/actors/internal/scheduling/timer_thread.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"

namespace understudy {

namespace internal {
class PoolWorker;
}  // namespace internal

struct ThreadPoolOptions {
  // 0: one for each CPU that this process may use, by its affinity and the quota of its control group.
  int threads = 0;
  // Threads in place of stuck ones at most. Negative: 64 and four for each thread.
  int surplus_threads_max = -1;
  // A handler that runs so long loses its worker's slot and queue.
  absl::Duration take_over_after = limits::kTakeOverAfter;
  // One that runs so long is named in `log`, and again each time it has run
  // twice as long. All that hold workers are named at once when no more workers
  // may be added, and again when that has lasted so long, and each time it has
  // lasted twice as long.
  absl::Duration name_after = limits::kNameHandlerAfter;
  LogSink* log = nullptr;  // null: standard error

  // Placement. What a turn makes runnable runs next on its worker, so many times
  // in a row (or for two rounds of the watchdog) while others wait there.
  uint32_t slot_runs_max = 64;
  // Every so many turns a worker looks at the shared queue first, so that its
  // own work cannot starve it.
  uint32_t shared_first_every = 61;

  // A busy worker looks at the process's EventSource so often, if nobody else
  // does: about fifty times what a look costs.
  absl::Duration poll_every = absl::Microseconds(50);
};

struct ThreadPoolStats {
  int threads = 0;      // as wanted
  int workers = 0;      // threads that run turns now, the stuck ones too
  int surplus = 0;      // of these, beyond `threads`
  int stuck = 0;        // of these, taken over and still in their handler
  int parked = 0;       // of these, asleep
  int own_threads = 0;  // of actors of their own
  int64_t takeovers = 0;
  int64_t long_handlers = 0;  // lines that named one
  int64_t rounds = 0;         // of the watchdog
  // Workers that were wanted in place of stuck ones and could not be added: the bound was reached, or the operating
  // system gave no thread. Each counts once while it is missing.
  int64_t workers_refused = 0;
};

class ThreadPool final : public Executor, private internal::Polling::Pool {
 public:
  // Events of the process's EventSource that a busy worker, or the watchdog, handles in one look: the turns that wait
  // are held up by no more.
  static constexpr int kEventsPerLook = 32;

  explicit ThreadPool(ThreadPoolOptions options = {});
  ~ThreadPool() override;

  Clock& clock() override { return Clock::Real(); }
  void Schedule(Runnable* runnable) override;
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) override {
    return timers_.RunAt(time, std::move(callback));
  }
  bool Cancel(uint64_t timer) override { return timers_.Cancel(timer); }
  bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action) override;
  absl::StatusOr<uint32_t> NewOwnThread() override { return own_threads_.New(); }
  void EndOwnThread(uint32_t id) override { own_threads_.End(id); }
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override;
  void Notify() override;

  // As wanted; stats() tells how many there are.
  int thread_count() const { return threads_; }
  ThreadPoolStats stats() const;

 private:
  // thread_pool.cc: workers and their work.
  void Work(internal::PoolWorker& worker);
  Runnable* Next(internal::PoolWorker& worker);
  Runnable* NextInTurn(internal::PoolWorker& worker);
  Runnable* Search(internal::PoolWorker& worker);
  Runnable* TakeShared(internal::PoolWorker& worker);
  Runnable* Steal(internal::PoolWorker& thief);
  void ScheduleElsewhere(Runnable* runnable);
  void Queue(internal::PoolWorker& worker, Runnable* runnable);
  bool QueueBehind(internal::PoolWorker& worker, Runnable* runnable);
  void Overflow(internal::PoolWorker& worker, Runnable* runnable);
  bool HasWork() const;

  // thread_pool_poll.cc: the process's EventSource.
  void OfferTurn() override;
  void PollInTurn();
  void PollIfNobodyDoes();

  // thread_pool_watch.cc: the watchdog, and how many workers there are.
  bool AddWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(workers_mu_);
  bool AddMissingWorkers();
  // Workers that are wanted and not there.
  int Missing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(workers_mu_) { return std::max(0, threads_ - (alive_ - stuck_)); }
  void Watch();
  bool AwaitNextRound();
  bool IsAnyRunning() const;
  void WakeWatchdog();
  void StopWatchdog();
  void Inspect(internal::PoolWorker& worker, MonotonicTime now);
  bool TakeOver(internal::PoolWorker& worker);
  void Name(internal::PoolWorker& worker);
  void LogShortage();
  bool Returned(internal::PoolWorker& worker);

  // Constant after construction.
  const ThreadPoolOptions options_;
  const int threads_;
  const int workers_max_;
  LogSink& log_;

  // The workers so far are the first `records_`; one whose thread has ended is used again for the next.
  std::vector<std::unique_ptr<internal::PoolWorker>> workers_;
  std::atomic<int> records_{0};

  // Lines of their own: plain threads write the one, workers that sleep and wake the other, and all read both.
  alignas(64) internal::SharedQueue shared_;
  internal::Polling& polling_ = internal::Polling::Process();
  alignas(64) internal::Parking parking_{polling_};
  std::atomic<bool> is_stopping_{false};
  // Rounds of the watchdog, so that workers know that time passes without a clock.
  alignas(64) std::atomic<uint64_t> rounds_{0};
  // When a busy worker polled last, in nanoseconds of the clock. Only spreads the polls.
  std::atomic<int64_t> polled_at_{0};
  uint64_t seen_polling_turns_ = 0;   // the watchdog's
  internal::ShortageWatch shortage_;  // the watchdog's

  mutable absl::Mutex workers_mu_;
  int alive_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int stuck_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int64_t takeovers_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int64_t long_handlers_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int refused_now_ ABSL_GUARDED_BY(workers_mu_) = 0;  // of the missing workers, those counted in workers_refused_
  int64_t workers_refused_ ABSL_GUARDED_BY(workers_mu_) = 0;

  absl::Mutex watch_mu_;
  absl::CondVar watch_changed_;
  bool watch_ends_ ABSL_GUARDED_BY(watch_mu_) = false;
  std::atomic<bool> watchdog_sleeps_{false};
  // How often workers have woken up, and as the watchdog has seen it. While they do so often it does not sleep, so that
  // they need not wake it.
  std::atomic<uint64_t> resumed_{0};
  uint64_t seen_resumed_ ABSL_GUARDED_BY(watch_mu_) = 0;
  internal::OsThread watchdog_;

  absl::Mutex notify_mu_;
  absl::CondVar notified_;
  std::atomic<int> blocked_{0};

  // Last: their threads schedule.
  internal::OwnThreads own_threads_;
  internal::TimerThread timers_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_THREAD_POOL_H_
