// ThreadPool: how workers queue runnables, and how they find the next one.
#include "understudy/actors/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/scheduling/cgroup.h"
#include "understudy/actors/internal/scheduling/pool_worker.h"
#include "understudy/actors/internal/scheduling/worker.h"

namespace understudy {
namespace {

using internal::PoolWorker;

// Returns the number of CPUs that the process may use, by its affinity and the quota of its control group.
int AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int cpus = std::max(1, CPU_COUNT(&set));
  return std::min(cpus, internal::CpuQuota().value_or(cpus));
}

// How often a worker searches all queues before it sleeps. This takes a few microseconds, about as long as waking it.
constexpr int kSearchRounds = 50;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(ThreadPoolOptions options)
    : options_(options),
      threads_(options.threads > 0 ? options.threads : AvailableCpus()),
      workers_max_(threads_ + (options.surplus_threads_max >= 0
                                   ? options.surplus_threads_max
                                   : limits::kSurplusThreadsMax + limits::kSurplusThreadsPerWorkerMax * threads_)),
      log_(options.log == nullptr ? LogSink::Stderr() : *options.log),
      workers_(static_cast<size_t>(workers_max_)),
      shortage_(options.name_after),
      own_threads_(*this),
      timers_(clock()) {
  internal::StdAtomics::PrepareBarriers();
  polling_.Join(*this);
  {
    absl::MutexLock lock(&workers_mu_);
    while (alive_ < threads_) UNDERSTUDY_CHECK(AddWorker(), "the operating system gives no thread for a worker");
  }
  UNDERSTUDY_CHECK(watchdog_.Start("watchdog", [this] { Watch(); }), "no thread for the watchdog");
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&workers_mu_);  // no worker is added from now on
    is_stopping_.store(true, std::memory_order_seq_cst);
  }
  parking_.Stop();
  // The watchdog still runs, so that it names a handler that does not return.
  for (int i = 0; i < records_.load(std::memory_order_acquire); ++i) workers_[static_cast<size_t>(i)]->thread.Join();
  StopWatchdog();
  polling_.Leave(*this);
}

void ThreadPool::Schedule(Runnable* runnable) {
  internal::Worker* const here = internal::ThisWorker();
  if (ABSL_PREDICT_FALSE(here == nullptr || here->local_executor != this || runnable->own_thread() != 0)) {
    ScheduleElsewhere(runnable);
    return;
  }
  const internal::KernelCode kernel(here);  // the caller may be user code: a send makes its receiver runnable
  auto& worker = static_cast<PoolWorker&>(*here);
  const bool has_more_to_do = runnable == worker.current.load(std::memory_order_relaxed);  // the turn that ends
  if (ABSL_PREDICT_FALSE(has_more_to_do) && QueueBehind(worker, runnable)) return;
  if (Runnable* const displaced = worker.slot.Put(runnable)) Queue(worker, displaced);
}

ABSL_ATTRIBUTE_NOINLINE void ThreadPool::ScheduleElsewhere(Runnable* runnable) {
  if (runnable->own_thread() != 0) {
    own_threads_.Schedule(runnable);
    return;
  }
  shared_.Push(runnable);
  parking_.AnnounceFromOutside();
}

ABSL_ATTRIBUTE_NOINLINE void ThreadPool::Queue(PoolWorker& worker, Runnable* runnable) {
  if (ABSL_PREDICT_FALSE(worker.slot.is_taken_over())) {
    shared_.Push(runnable);
  } else if (ABSL_PREDICT_FALSE(!worker.queue.Push(runnable))) {
    Overflow(worker, runnable);
  }
  parking_.Announce();
}

// Queues the actor of the turn that ends behind those that wait. Returns false, without queueing it, if none waits
// where this worker looks next.
ABSL_ATTRIBUTE_NOINLINE bool ThreadPool::QueueBehind(PoolWorker& worker, Runnable* runnable) {
  if (worker.queue.size() != 0) {
    Queue(worker, runnable);
  } else if (!shared_.empty()) {
    shared_.Push(runnable);
    parking_.Announce();
  } else {
    return false;
  }
  return true;
}

// Moves the older half of the worker's full queue, and then `runnable`, to the shared queue.
ABSL_ATTRIBUTE_NOINLINE void ThreadPool::Overflow(PoolWorker& worker, Runnable* runnable) {
  decltype(worker.queue)::Batch batch;
  const size_t count = worker.queue.Steal(batch);
  shared_.Push(batch.data(), count);
  shared_.Push(runnable);
}

void ThreadPool::Work(PoolWorker& worker) {
  internal::WorkerScope scope(worker);
  while (Runnable* const runnable = Next(worker)) {
    worker.RunTurn(*runnable);
    if (ABSL_PREDICT_FALSE(worker.slot.is_taken_over()) && !Returned(worker)) return;
  }
}

// Returns what the worker runs next. Sleeps until there is something; returns null if the pool stops and nothing is
// left. Most calls are served by the slot or the queue here, without looking at the shared queue or for events.
Runnable* ThreadPool::Next(PoolWorker& worker) {
  if (ABSL_PREDICT_TRUE(++worker.turns < options_.shared_first_every && worker.slot_runs < options_.slot_runs_max &&
                        worker.seen_round == rounds_.load(std::memory_order_relaxed))) {
    if (Runnable* const runnable = worker.slot.Take()) {
      ++worker.slot_runs;
      return runnable;
    }
    worker.slot_runs = 0;
    worker.rounds_in_row = 0;
    if (Runnable* const runnable = worker.queue.Pop()) return runnable;
  }
  return NextInTurn(worker);
}

// Like Next, and also gives the shared queue, the event source and the worker's queue their share, when they are due.
Runnable* ThreadPool::NextInTurn(PoolWorker& worker) {
  const uint64_t round = rounds_.load(std::memory_order_relaxed);
  if (worker.turns >= options_.shared_first_every || round != worker.seen_round) {
    worker.turns = 0;
    worker.rounds_in_row += round == worker.seen_round ? 0 : 1;
    worker.seen_round = round;
    if (ABSL_PREDICT_FALSE(polling_.is_wanted())) PollInTurn();
    if (Runnable* const runnable = TakeShared(worker)) return runnable;
  }
  if (worker.slot_runs >= options_.slot_runs_max || worker.rounds_in_row >= 2) {
    worker.slot_runs = 0;
    worker.rounds_in_row = 0;
    if (worker.queue.size() != 0) {
      if (Runnable* const runnable = worker.slot.Take()) Queue(worker, runnable);
    }
  }
  if (Runnable* const runnable = worker.slot.Take()) {
    ++worker.slot_runs;
    return runnable;
  }
  if (Runnable* const runnable = worker.queue.Pop()) return runnable;
  if (Runnable* const runnable = TakeShared(worker)) return runnable;
  return Search(worker);
}

// Takes one runnable from the shared queue and returns it, or null. Also moves the worker's share of the others into
// its queue, behind what is there: one in each look, if a worker has actors that are never done, would be one in
// shared_first_every turns however many wait here.
Runnable* ThreadPool::TakeShared(PoolWorker& worker) {
  if (shared_.empty()) return nullptr;
  constexpr size_t kShareMax = 32;
  const size_t share = shared_.size() / static_cast<size_t>(threads_) + 1;
  const bool has_room = worker.queue.size() < worker.queue.kBatch;
  std::array<Runnable*, kShareMax> taken;
  const size_t count = shared_.Pop(taken.data(), has_room ? std::min(share, kShareMax) : 1);
  if (count == 0) return nullptr;
  // Workers that searched after the Pop have not seen these runnables in any queue, so Queue announces them again.
  for (size_t i = 1; i < count; ++i) Queue(worker, taken[i]);
  return taken[0];
}

Runnable* ThreadPool::Steal(PoolWorker& thief) {
  const auto records = static_cast<uint32_t>(records_.load(std::memory_order_acquire));
  decltype(thief.queue)::Batch batch;
  for (uint32_t i = 0; i < records; ++i) {
    PoolWorker& victim = *workers_[++thief.next_victim % records];
    if (&victim == &thief || victim.queue.size() == 0) continue;
    const size_t count = victim.queue.Steal(batch);
    if (count == 0) continue;
    thief.steals.store(thief.steals.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    for (size_t k = 1; k < count; ++k) Queue(thief, batch[k]);
    return batch[0];
  }
  return nullptr;
}

// Searches the shared queue and the other workers' queues for a while, then sleeps until there may be something to run.
Runnable* ThreadPool::Search(PoolWorker& worker) {
  for (;;) {
    if (!worker.is_searching) worker.is_searching = parking_.StartSearch(threads_);
    // If the event source wants a poll, one round is enough, because Park then polls, which may find work too.
    const int rounds = worker.is_searching && !polling_.is_wanted() ? kSearchRounds : 1;
    for (int round = 0; round < rounds; ++round) {
      Runnable* runnable = TakeShared(worker);
      if (runnable == nullptr) runnable = Steal(worker);
      if (runnable == nullptr) {
        Pause();
        continue;
      }
      if (std::exchange(worker.is_searching, false)) {
        parking_.FoundWork([this] { return HasWork(); });
      }
      return runnable;
    }
    if (is_stopping_.load(std::memory_order_seq_cst)) return nullptr;
    worker.rights.store(internal::Rights::kAll, std::memory_order_relaxed);  // the last turn's actor may be fenced
    Runnable* own = nullptr;  // what an event made runnable while this worker polled
    worker.is_searching = parking_.Park(
        worker.spot, worker.is_searching, [this] { return HasWork(); },
        [&worker, &own] {
          own = worker.slot.Take();
          if (own == nullptr) own = worker.queue.Pop();
          return own != nullptr;
        });
    resumed_.fetch_add(1, std::memory_order_relaxed);
    worker.timer.Woke();
    worker.ring.NoteTime(static_cast<uint64_t>(CoarseNow().nanos()));
    // seq_cst: pairs with the store in AwaitNextRound. Either the watchdog sees, before it sleeps, that this worker is
    // not parked any more, or this load sees that the watchdog sleeps.
    if (watchdog_sleeps_.load(std::memory_order_seq_cst)) WakeWatchdog();
    if (own == nullptr) continue;
    if (std::exchange(worker.is_searching, false)) parking_.FoundWork([this] { return HasWork(); });
    return own;
  }
}

bool ThreadPool::HasWork() const {
  if (!shared_.empty()) return true;
  const int records = records_.load(std::memory_order_acquire);
  for (int i = 0; i < records; ++i) {
    if (workers_[static_cast<size_t>(i)]->queue.size() != 0) return true;
  }
  return false;
}

bool ThreadPool::WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action) {
  // `turn` is only compared: its actor may have ended, and another may have been made at the same address.
  if (own_threads_.WhileInUserCode(turn, is_meant, action)) return true;
  // A turn that has just ended on one worker may have begun again on another, so that two workers name it as their
  // current turn. Only the second is in it, so all workers are asked.
  const int records = records_.load(std::memory_order_acquire);
  for (int i = 0; i < records; ++i) {
    if (workers_[static_cast<size_t>(i)]->WhileInUserCode(turn, is_meant, action)) return true;
  }
  return false;
}

bool ThreadPool::BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) {
  const internal::Worker* here = internal::ThisWorker();
  UNDERSTUDY_CHECK(here == nullptr || &here->executor != this, "a worker of the pool would wait for the pool");
  blocked_.fetch_add(1, std::memory_order_seq_cst);
  bool answer = false;
  {
    absl::MutexLock lock(&notify_mu_);
    while (!(answer = done())) {
      const absl::Duration left = deadline - clock().Now();
      if (left <= absl::ZeroDuration()) break;
      notified_.WaitWithTimeout(&notify_mu_, left);
    }
  }
  blocked_.fetch_sub(1, std::memory_order_seq_cst);
  return answer;
}

void ThreadPool::Notify() {
  if (blocked_.load(std::memory_order_seq_cst) == 0) return;
  absl::MutexLock lock(&notify_mu_);
  notified_.SignalAll();
}

}  // namespace understudy
