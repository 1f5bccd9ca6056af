// ThreadPool: an Executor of worker threads that steal work from each other,
// and one thread for timers.
//
// Each worker has a queue; work scheduled by a worker goes to its own, other
// work to a shared one; a worker with nothing to do takes half of another's.
// Idle workers park. Within one queue order is first in, first out.
// Threads: any. Destroy it after everything scheduled has run; callbacks of
// timers that are not due then never run.
#ifndef UNDERSTUDY_ACTORS_THREAD_POOL_H_
#define UNDERSTUDY_ACTORS_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/worker.h"
#include "understudy/actors/timer_queue.h"

namespace understudy {

struct ThreadPoolOptions {
  // 0: one for each CPU that this process may use.
  int threads = 0;
};

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(ThreadPoolOptions options = {});
  ~ThreadPool() override;

  Clock& clock() override { return Clock::Real(); }
  void Schedule(Runnable* runnable) override;
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) override;
  bool Cancel(uint64_t timer) override;
  bool WhileInUserCode(Runnable* turn, absl::FunctionRef<void()> action) override;
  absl::StatusOr<uint32_t> NewOwnThread() override { return 0; }
  void EndOwnThread(uint32_t) override {}
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override;
  void Notify() override;

  int thread_count() const { return static_cast<int>(workers_.size()); }

 private:
  struct Worker final : internal::Worker {
    using internal::Worker::Worker;
    absl::Mutex mu;
    std::deque<Runnable*> queue ABSL_GUARDED_BY(mu);
    std::thread thread;
  };

  void Work(size_t index);
  Runnable* Take(size_t index, uint64_t round);
  Runnable* TakeShared();
  Runnable* Steal(size_t thief);
  void Park();
  void RunTimers();

  // Constant after construction.
  std::vector<std::unique_ptr<Worker>> workers_;

  std::atomic<int64_t> queued_{0};
  std::atomic<int> idle_{0};
  std::atomic<bool> stopping_{false};

  absl::Mutex shared_mu_;
  std::deque<Runnable*> shared_ ABSL_GUARDED_BY(shared_mu_);

  absl::Mutex park_mu_;
  absl::CondVar parked_;

  absl::Mutex timer_mu_;
  absl::CondVar timer_changed_;
  TimerQueue<absl::AnyInvocable<void()>> timers_ ABSL_GUARDED_BY(timer_mu_);
  std::thread timer_thread_;

  absl::Mutex notify_mu_;
  absl::CondVar notified_;
  std::atomic<int> blocked_{0};
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_THREAD_POOL_H_
