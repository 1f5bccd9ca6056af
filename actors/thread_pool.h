// ThreadPool: an Executor of worker threads that steal work from each other.
//
// Each worker has a slot for the actor that its turn made runnable last, which
// runs next, and a bounded queue from which other workers steal. An actor whose
// turn ends with messages left goes behind those that wait. All workers share
// one more queue, for actors that plain threads make runnable and for those that
// a full queue gives away. A worker with nothing to do searches for a few
// microseconds and then sleeps.
//
// No runnable actor and no timer has to wait for a handler that does not return.
// A watchdog finds a worker that has been in one section of user code for
// `take_over_after`, moves the contents of its slot and queue to the shared queue,
// and adds another worker, up to a bound. When the handler has returned, surplus
// workers end. The log names a handler that runs for long. The watchdog sleeps
// while no worker has run for a few milliseconds. Timers have a thread of their own.
//
// If the process has an EventSource, the workers poll it (event_source.h).
//
// Each queue is first in, first out. Threads: any. Destroy the pool after everything
// scheduled has run: its destructor waits for the turns that run, and callbacks of
// timers that are not due by then never run.
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
#include "understudy/actors/thread_pool_options.h"
#include "understudy/actors/time_sketch.h"

namespace understudy {

namespace internal {
class PoolWorker;
}  // namespace internal

struct ThreadPoolStats {
  int threads = 0;      // configured number of workers
  int workers = 0;      // workers that exist now, including stuck ones
  int surplus = 0;      // workers beyond `threads`
  int stuck = 0;        // workers that were taken over and are still in their handler
  int parked = 0;       // workers that sleep
  int own_threads = 0;  // threads of actors that have a thread of their own
  int64_t takeovers = 0;
  int64_t long_handlers = 0;  // log lines that named a handler
  int64_t rounds = 0;         // rounds of the watchdog
  // Workers that should have replaced stuck ones but could not be added, because the bound was reached or the operating
  // system refused the thread. Each counts once for as long as it is missing.
  int64_t workers_refused = 0;
  TimeSketch timer_lateness;  // how much later than their times timers were called
  // Of all workers so far, those that have ended too (WorkerInfo).
  int64_t steals = 0;
  uint64_t handlers_entered = 0;
};

class ThreadPool final : public Executor, private internal::Polling::Pool {
 public:
  // The most events of the process's EventSource that a busy worker, or the watchdog, handles before it goes on. This
  // bounds the delay of turns that wait.
  static constexpr int kEventsPerLook = 32;

  explicit ThreadPool(ThreadPoolOptions options = {});
  ~ThreadPool() override;

  Clock& clock() override { return Clock::Real(); }
  // While the watchdog sleeps no thread updates coarse_now_. relaxed: each value is the time of some moment.
  MonotonicTime CoarseNow() override {
    if (watchdog_sleeps_.load(std::memory_order_relaxed)) return clock().Now();
    return MonotonicTime::FromNanos(coarse_now_.load(std::memory_order_relaxed));
  }
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

  // The configured number of workers; stats().workers is the present number.
  int thread_count() const { return threads_; }
  std::vector<WorkerInfo> Workers() override;
  std::vector<WorkerInfo> OwnThreads() override { return own_threads_.InUserCode(); }
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
  // The number of workers to add so that `threads_` of them are not stuck.
  int Missing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(workers_mu_) { return std::max(0, threads_ - (alive_ - stuck_)); }
  void Watch();
  bool AwaitNextRound();
  MonotonicTime NoteTime();
  bool IsAnyRunning() const;
  void WakeWatchdog();
  void StopWatchdog();
  void Inspect(internal::PoolWorker& worker, MonotonicTime now);
  bool TakeOver(internal::PoolWorker& worker);
  void EmptySlot(internal::PoolWorker& worker);
  void Name(internal::PoolWorker& worker);
  void LogShortage();
  bool Returned(internal::PoolWorker& worker);

  // Constant after construction.
  const ThreadPoolOptions options_;
  const int threads_;
  const int workers_max_;
  LogSink& log_;

  // The first `records_` are workers; the others are null. A worker whose thread has ended is reused for the next one.
  std::vector<std::unique_ptr<internal::PoolWorker>> workers_;
  std::atomic<int> records_{0};

  // shared_ and parking_ have cache lines of their own, because all threads read them, while plain threads write
  // shared_, and workers that sleep or wake write parking_.
  alignas(64) internal::SharedQueue shared_;
  internal::Polling& polling_ = internal::Polling::Process();
  alignas(64) internal::Parking parking_{polling_};
  std::atomic<bool> is_stopping_{false};
  // Rounds of the watchdog. Workers read them to see that time passes, which is cheaper than reading a clock.
  alignas(64) std::atomic<uint64_t> rounds_{0};
  // When a busy worker polled last, in nanoseconds of the clock. A race only makes two polls come close together.
  std::atomic<int64_t> polled_at_{0};
  uint64_t seen_polling_turns_ = 0;   // used only by the watchdog
  internal::ShortageWatch shortage_;  // used only by the watchdog

  mutable absl::Mutex workers_mu_;
  int alive_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int stuck_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int64_t takeovers_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int64_t long_handlers_ ABSL_GUARDED_BY(workers_mu_) = 0;
  int refused_now_ ABSL_GUARDED_BY(workers_mu_) = 0;  // missing workers that workers_refused_ has counted already
  int64_t workers_refused_ ABSL_GUARDED_BY(workers_mu_) = 0;

  absl::Mutex watch_mu_;
  absl::CondVar watch_changed_;
  bool watch_ends_ ABSL_GUARDED_BY(watch_mu_) = false;
  std::atomic<bool> watchdog_sleeps_{false};
  std::atomic<int64_t> coarse_now_{Clock::Real().Now().nanos()};  // written by the watchdog
  // How often workers have woken up, and that number at the watchdog's last round. While workers wake up often the
  // watchdog does not sleep, so that they need not wake it.
  std::atomic<uint64_t> resumed_{0};
  uint64_t seen_resumed_ ABSL_GUARDED_BY(watch_mu_) = 0;
  internal::OsThread watchdog_;

  absl::Mutex notify_mu_;
  absl::CondVar notified_;
  std::atomic<int> blocked_{0};

  // Last members, so that they are destroyed first: their threads call Schedule.
  internal::OwnThreads own_threads_;
  internal::TimerThread timers_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_THREAD_POOL_H_
