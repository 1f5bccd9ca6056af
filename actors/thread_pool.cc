#include "understudy/actors/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"

namespace understudy {
namespace {

struct Here {
  const ThreadPool* pool = nullptr;
  size_t worker = 0;
};

// Which pool's worker this thread is.
Here& ThisPlace() {
  static thread_local Here here;
  return here;
}

int AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

// Every so many rounds a worker looks at the shared queue first, so that its
// own work cannot starve it.
constexpr uint64_t kSharedFirstEvery = 61;

}  // namespace

ThreadPool::ThreadPool(ThreadPoolOptions options) {
  internal::StdAtomics::PrepareBarriers();
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(*this, this));
  for (size_t i = 0; i < workers_.size(); ++i) workers_[i]->thread = std::thread([this, i] { Work(i); });
  timer_thread_ = std::thread([this] { RunTimers(); });
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_seq_cst);
  {
    absl::MutexLock lock(&park_mu_);
    parked_.SignalAll();
  }
  {
    absl::MutexLock lock(&timer_mu_);
    timer_changed_.SignalAll();
  }
  for (const auto& worker : workers_) worker->thread.join();
  timer_thread_.join();
}

void ThreadPool::Schedule(Runnable* runnable) {
  const Here& here = ThisPlace();
  if (here.pool == this) {
    Worker& worker = *workers_[here.worker];
    absl::MutexLock lock(&worker.mu);
    worker.queue.push_back(runnable);
  } else {
    absl::MutexLock lock(&shared_mu_);
    shared_.push_back(runnable);
  }
  // Pairs with Park: either this sees the idle worker, or the worker sees this
  // work before it sleeps. Both need one total order.
  queued_.fetch_add(1, std::memory_order_seq_cst);
  if (idle_.load(std::memory_order_seq_cst) > 0) {
    absl::MutexLock lock(&park_mu_);
    parked_.Signal();
  }
}

void ThreadPool::Work(size_t index) {
  ThisPlace() = {.pool = this, .worker = index};
  internal::WorkerScope scope(*workers_[index]);
  for (uint64_t round = 1;; ++round) {
    Runnable* runnable = Take(index, round);
    if (runnable != nullptr) {
      queued_.fetch_sub(1, std::memory_order_relaxed);
      workers_[index]->RunTurn(*runnable);
    } else if (stopping_.load(std::memory_order_seq_cst)) {
      return;
    } else {
      Park();
    }
  }
}

Runnable* ThreadPool::Take(size_t index, uint64_t round) {
  if (round % kSharedFirstEvery == 0) {
    if (Runnable* runnable = TakeShared(); runnable != nullptr) return runnable;
  }
  {
    Worker& worker = *workers_[index];
    absl::MutexLock lock(&worker.mu);
    if (!worker.queue.empty()) {
      Runnable* runnable = worker.queue.front();
      worker.queue.pop_front();
      return runnable;
    }
  }
  if (Runnable* runnable = TakeShared(); runnable != nullptr) return runnable;
  return Steal(index);
}

Runnable* ThreadPool::TakeShared() {
  absl::MutexLock lock(&shared_mu_);
  if (shared_.empty()) return nullptr;
  Runnable* runnable = shared_.front();
  shared_.pop_front();
  return runnable;
}

// Half of another worker's queue, its older half; the first of it is returned.
Runnable* ThreadPool::Steal(size_t thief) {
  for (size_t step = 1; step < workers_.size(); ++step) {
    Worker& victim = *workers_[(thief + step) % workers_.size()];
    std::deque<Runnable*> taken;
    {
      absl::MutexLock lock(&victim.mu);
      const size_t count = (victim.queue.size() + 1) / 2;
      for (size_t i = 0; i < count; ++i) {
        taken.push_back(victim.queue.front());
        victim.queue.pop_front();
      }
    }
    if (taken.empty()) continue;
    Runnable* first = taken.front();
    taken.pop_front();
    Worker& own = *workers_[thief];
    absl::MutexLock lock(&own.mu);
    for (Runnable* runnable : taken) own.queue.push_back(runnable);
    return first;
  }
  return nullptr;
}

void ThreadPool::Park() {
  absl::MutexLock lock(&park_mu_);
  idle_.fetch_add(1, std::memory_order_seq_cst);
  while (queued_.load(std::memory_order_seq_cst) <= 0 && !stopping_.load(std::memory_order_seq_cst)) {
    parked_.Wait(&park_mu_);
  }
  idle_.fetch_sub(1, std::memory_order_seq_cst);
}

uint64_t ThreadPool::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  absl::MutexLock lock(&timer_mu_);
  const bool is_earliest = time < timers_.Next();
  const uint64_t id = timers_.Add(time, std::move(callback));
  if (is_earliest) timer_changed_.Signal();
  return id;
}

bool ThreadPool::Cancel(uint64_t timer) {
  absl::MutexLock lock(&timer_mu_);
  return timers_.Remove(timer);
}

void ThreadPool::RunTimers() {
  absl::MutexLock lock(&timer_mu_);
  while (!stopping_.load(std::memory_order_seq_cst)) {
    const MonotonicTime now = clock().Now();
    if (absl::optional<absl::AnyInvocable<void()>> due = timers_.PopDue(now)) {
      timer_mu_.Unlock();
      (*due)();
      due.reset();
      timer_mu_.Lock();
    } else if (timers_.empty()) {
      timer_changed_.Wait(&timer_mu_);
    } else {
      timer_changed_.WaitWithTimeout(&timer_mu_, timers_.Next() - now);
    }
  }
}

bool ThreadPool::WhileInUserCode(Runnable* turn, absl::FunctionRef<void()> action) {
  for (const auto& worker : workers_) {
    if (worker->WhileInUserCode(turn, action)) return true;
  }
  return false;
}

bool ThreadPool::BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) {
  UNDERSTUDY_CHECK(ThisPlace().pool != this, "a worker of the pool would wait for the pool");
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
