// ThreadPool: the watchdog, which finds workers that are stuck in a handler, and the number of workers.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/internal/scheduling/pool_worker.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

using internal::PoolWorker;
using internal::StuckWatch;

// The time between two rounds while a worker runs.
constexpr absl::Duration kWatchPeriod = absl::Milliseconds(2);
// The time between two rounds while no worker runs but some have run since the last round. The watchdog does not sleep
// yet, so that a worker that wakes up need not wake it.
constexpr absl::Duration kQuietWatchPeriod = absl::Milliseconds(5);

}  // namespace

bool ThreadPool::AddWorker() {
  if (is_stopping_.load(std::memory_order_relaxed)) return false;
  const int records = records_.load(std::memory_order_relaxed);
  PoolWorker* worker = nullptr;
  for (int i = 0; i < records && worker == nullptr; ++i) {
    // acquire: pairs with the release store in Returned.
    if (workers_[static_cast<size_t>(i)]->is_free.load(std::memory_order_acquire))
      worker = workers_[static_cast<size_t>(i)].get();
  }
  if (worker == nullptr) {
    if (records == workers_max_) return false;
    workers_[static_cast<size_t>(records)] = std::make_unique<PoolWorker>(
        *this, StuckWatch(options_.take_over_after, options_.name_after), static_cast<uint32_t>(records));
    worker = workers_[static_cast<size_t>(records)].get();
    // release: pairs with the acquire loads of records_ by threads that go through the workers.
    records_.store(records + 1, std::memory_order_release);
  }
  worker->thread.Join();  // joins the former thread of this worker, if there was one
  worker->is_free.store(false, std::memory_order_relaxed);
  parking_.AddWorker();
  if (!worker->thread.Start("actor-worker", [this, worker] { Work(*worker); })) {
    parking_.RemoveWorker();
    worker->is_free.store(true, std::memory_order_relaxed);
    return false;
  }
  ++alive_;
  return true;
}

// Call when the turn of a worker that was taken over has returned. Returns false if enough
// other workers run, so that the calling thread must end.
bool ThreadPool::Returned(PoolWorker& worker) {
  bool goes_on = false;
  {
    absl::MutexLock lock(&workers_mu_);
    --stuck_;
    worker.slot.GiveBack();
    goes_on = alive_ - stuck_ <= threads_;
    if (!goes_on) --alive_;
    refused_now_ = std::min(refused_now_, Missing());
  }
  Notify();  // a thread may wait, in BlockUntil, for a change of these counts
  if (!goes_on) parking_.RemoveWorker();
  // release: pairs with the acquire in AddWorker.
  if (!goes_on) worker.is_free.store(true, std::memory_order_release);
  return goes_on;
}

void ThreadPool::Watch() {
  while (AwaitNextRound()) {
    rounds_.fetch_add(1, std::memory_order_relaxed);
    const MonotonicTime now = NoteTime();
    const int records = records_.load(std::memory_order_acquire);
    for (int i = 0; i < records; ++i) Inspect(*workers_[static_cast<size_t>(i)], now);
    PollIfNobodyDoes();
    if (shortage_.Observe(AddMissingWorkers(), now)) LogShortage();
  }
}

// Keeps the time for CoarseNow.
MonotonicTime ThreadPool::NoteTime() {
  const MonotonicTime now = clock().Now();
  coarse_now_.store(now.nanos(), std::memory_order_relaxed);
  return now;
}

// Returns true if workers are missing and cannot be added.
bool ThreadPool::AddMissingWorkers() {
  int refused = 0;
  bool is_short = false;
  {
    absl::MutexLock lock(&workers_mu_);
    while (Missing() > 0 && AddWorker()) {
    }
    if (is_stopping_.load(std::memory_order_relaxed)) return false;
    refused = std::max(0, Missing() - refused_now_);
    workers_refused_ += refused;
    refused_now_ = Missing();
    is_short = refused_now_ > 0;
  }
  if (refused > 0) Notify();  // a thread may wait, in BlockUntil, for a change of these counts
  return is_short;
}

// Waits until the watchdog's next round is due. Returns false if the watchdog must end.
bool ThreadPool::AwaitNextRound() {
  absl::MutexLock lock(&watch_mu_);
  absl::Duration period = kWatchPeriod;
  if (const uint64_t resumed = resumed_.load(std::memory_order_relaxed); resumed != seen_resumed_) {
    seen_resumed_ = resumed;
    if (!IsAnyRunning()) period = kQuietWatchPeriod;
  } else {
    watchdog_sleeps_.store(true, std::memory_order_seq_cst);
    // The watchdog does not sleep while no thread holds the turn to poll (invariant 2 of Polling).
    while (!watch_ends_ && !IsAnyRunning() && !polling_.is_wanted()) watch_changed_.Wait(&watch_mu_);
    NoteTime();
    watchdog_sleeps_.store(false, std::memory_order_seq_cst);
    seen_resumed_ = resumed_.load(std::memory_order_relaxed);
  }
  if (!watch_ends_) watch_changed_.WaitWithTimeout(&watch_mu_, period);
  return !watch_ends_;
}

bool ThreadPool::IsAnyRunning() const {
  absl::MutexLock lock(&workers_mu_);
  return parking_.parked() < alive_;
}

void ThreadPool::WakeWatchdog() {
  absl::MutexLock lock(&watch_mu_);
  watch_changed_.Signal();
}

void ThreadPool::StopWatchdog() {
  {
    absl::MutexLock lock(&watch_mu_);
    watch_ends_ = true;
    watch_changed_.Signal();
  }
  watchdog_.Join();
}

void ThreadPool::Inspect(PoolWorker& worker, MonotonicTime now) {
  if (worker.spot.is_parked()) {
    worker.watch.Reset();
    return;
  }
  const uint64_t handlers = worker.handlers.load(std::memory_order_relaxed);
  // Few sections of user code in a whole round: perhaps all of one turn, behind which the slot waits.
  const bool is_slow = handlers - worker.watch.handlers() <= uint64_t{limits::kMessagesPerTurnMax};
  const StuckWatch::Verdict verdict = worker.watch.Observe(handlers, now);
  worker.watched_since.store(worker.watch.since().nanos(), std::memory_order_relaxed);
  worker.watched_handlers.store(worker.watch.handlers(), std::memory_order_relaxed);
  switch (verdict) {
    case StuckWatch::Verdict::kNothing:
      if (is_slow && parking_.parked() > 0) EmptySlot(worker);
      break;
    case StuckWatch::Verdict::kTakeOver:
      if (TakeOver(worker)) worker.watch.TookOver();
      break;
    case StuckWatch::Verdict::kName:
      Name(worker);
      break;
  }
}

// Moves what is in the slot of a worker to the shared queue, if its turn has lasted for a whole round of the watchdog.
void ThreadPool::EmptySlot(PoolWorker& worker) {
  if (!worker.TrySeize()) return;
  // A worker looks at the round before each turn (Next). Its queue needs no help: others steal from it.
  const bool is_long = worker.seen_round + 1 < rounds_.load(std::memory_order_relaxed);
  Runnable* const next = is_long ? worker.slot.Take() : nullptr;
  worker.EndSeizure();
  if (next == nullptr) return;
  shared_.Push(next);
  parking_.AnnounceFromOutside();
}

// Moves the contents of a stuck worker's slot and queue to the shared queue. Returns false if
// the worker is in kernel code or in a later section of user code, so that it is not stuck.
bool ThreadPool::TakeOver(PoolWorker& worker) {
  Runnable* next = nullptr;
  {
    // Held until stuck_ is counted up, so that Returned, which locks it too, counts down afterwards.
    absl::MutexLock lock(&workers_mu_);
    if (!worker.TrySeize()) return false;
    const bool is_same = worker.handlers.load(std::memory_order_relaxed) == worker.watch.handlers();
    const bool is_first = is_same && !worker.slot.is_taken_over();
    if (is_first) next = worker.slot.TakeOver();
    worker.EndSeizure();
    if (!is_first) return is_same;  // true for a later handler of a turn during which the worker was taken over before
    ++stuck_;
    ++takeovers_;
  }
  // The queue needs no seizure: any thread may steal from it, and its owner adds nothing while it is taken over.
  if (next != nullptr) shared_.Push(next);
  decltype(worker.queue)::Batch batch;
  while (const size_t count = worker.queue.Steal(batch)) shared_.Push(batch.data(), count);
  if (!shared_.empty()) parking_.AnnounceFromOutside();
  Notify();
  return true;
}

void ThreadPool::Name(PoolWorker& worker) {
  if (!worker.TrySeize()) return;
  const bool is_same = worker.handlers.load(std::memory_order_relaxed) == worker.watch.handlers();
  const bool is_told = is_same && log_.Wants(LogSeverity::kWarning);
  const std::string who = is_told ? worker.current.load(std::memory_order_relaxed)->Describe() : "";
  worker.EndSeizure();
  if (!is_same) return;
  worker.watch.Named();
  {
    absl::MutexLock lock(&workers_mu_);
    ++long_handlers_;
  }
  if (!is_told) return;
  log_.Write(LogSeverity::kWarning,
             absl::StrCat("a handler has been running for ", absl::FormatDuration(worker.watch.running()), ": ", who,
                          "; it holds a thread: let it await, or give its actor a thread of its own"));
}

// Logs the handlers that hold workers, those that have run longest first, because the line names only some of them.
void ThreadPool::LogShortage() {
  if (!log_.Wants(LogSeverity::kError)) return;
  struct Holder {
    absl::Duration running;
    std::string who;
  };
  std::vector<Holder> holders;
  const int records = records_.load(std::memory_order_acquire);
  for (int i = 0; i < records; ++i) {
    PoolWorker& worker = *workers_[static_cast<size_t>(i)];
    if (worker.spot.is_parked() || !worker.TrySeize()) continue;
    if (worker.slot.is_taken_over() && worker.handlers.load(std::memory_order_relaxed) == worker.watch.handlers()) {
      holders.push_back({worker.watch.running(), worker.current.load(std::memory_order_relaxed)->Describe()});
    }
    worker.EndSeizure();
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) { return a.running > b.running; });
  constexpr size_t kNamedMax = 10;
  std::string line;
  {
    absl::MutexLock lock(&workers_mu_);
    line =
        absl::StrCat("handlers that do not return hold ", stuck_, " of ", alive_, " workers, and no more can be added",
                     alive_ == workers_max_ ? " (ThreadPoolOptions::surplus_threads_max)"
                                            : " (the operating system refuses threads)");
  }
  for (size_t i = 0; i < holders.size() && i < kNamedMax; ++i) {
    absl::StrAppend(&line, i == 0 ? ": " : ", ", holders[i].who, " for ", absl::FormatDuration(holders[i].running));
  }
  if (holders.size() > kNamedMax) absl::StrAppend(&line, ", and ", holders.size() - kNamedMax, " more");
  log_.Write(LogSeverity::kError, absl::StrCat(line, "; let them await, or give their actors threads of their own"));
}

std::vector<WorkerInfo> ThreadPool::Workers() {
  std::vector<WorkerInfo> workers;
  const MonotonicTime now = clock().Now();
  const int records = records_.load(std::memory_order_acquire);
  for (int i = 0; i < records; ++i) {
    PoolWorker& worker = *workers_[static_cast<size_t>(i)];
    if (worker.is_free.load(std::memory_order_relaxed)) continue;
    WorkerInfo& info = workers.emplace_back();
    info.is_parked = worker.spot.is_parked();
    info.waiting_turns = static_cast<int64_t>(worker.queue.size());
    info.steals = worker.steals.load(std::memory_order_relaxed);
    if (!info.is_parked && worker.TrySeize()) {
      Runnable* const turn = worker.current.load(std::memory_order_relaxed);
      info.turn = turn;
      info.doing = turn->Describe();
      info.is_taken_over = worker.slot.is_taken_over();
      const uint64_t handlers = worker.handlers.load(std::memory_order_relaxed);
      if (worker.watched_handlers.load(std::memory_order_relaxed) == handlers) {
        info.running = now - MonotonicTime::FromNanos(worker.watched_since.load(std::memory_order_relaxed));
      }
      worker.EndSeizure();
    }
    info.handlers_entered = worker.handlers.load(std::memory_order_relaxed);
  }
  return workers;
}

ThreadPoolStats ThreadPool::stats() const {
  ThreadPoolStats stats{.threads = threads_, .parked = parking_.parked(), .own_threads = own_threads_.size()};
  stats.timer_lateness = timers_.lateness();
  stats.rounds = static_cast<int64_t>(rounds_.load(std::memory_order_relaxed));
  // A worker that is added takes over the record, with its counts, of one that has ended. relaxed: a count never falls.
  const int records = records_.load(std::memory_order_acquire);
  for (int i = 0; i < records; ++i) {
    const PoolWorker& worker = *workers_[static_cast<size_t>(i)];
    stats.steals += worker.steals.load(std::memory_order_relaxed);
    stats.handlers_entered += worker.handlers.load(std::memory_order_relaxed);
  }
  absl::MutexLock lock(&workers_mu_);
  stats.workers = alive_;
  stats.surplus = alive_ - threads_;
  stats.stuck = stuck_;
  stats.takeovers = takeovers_;
  stats.long_handlers = long_handlers_;
  stats.workers_refused = workers_refused_;
  return stats;
}

}  // namespace understudy
