// TimerThread: runs callbacks at given times on a thread of its own, so that no
// timer waits for a handler to return.
//
// Arming and cancelling take no lock; only the timer thread uses the wheel. Any
// thread. Callbacks that are not due when the destructor is called never run.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_THREAD_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_THREAD_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/scheduling/os_thread.h"
#include "understudy/actors/internal/scheduling/timer_table.h"
#include "understudy/actors/internal/scheduling/timer_wheel.h"
#include "understudy/actors/time_sketch.h"

namespace understudy::internal {

class TimerThread {
 public:
  explicit TimerThread(Clock& clock);
  ~TimerThread();
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  // Like Executor::RunAt and Cancel. A cancelled callback is destroyed later, on the timer thread.
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback);
  bool Cancel(uint64_t timer);

  // Timers in the wheel, cancelled ones included, when the timer thread last looked.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  // How much later than their times timers were called.
  TimeSketch lateness() const {
    absl::MutexLock lock(&mu_);
    return lateness_;
  }

 private:
  using Table = TimerTable<absl::AnyInvocable<void()>>;

  void Work();
  void RunDue();
  void SweepCancelled();
  bool SleepUntil(MonotonicTime time);
  void Wake();

  Clock& clock_;
  Table table_;
  TimerWheel<Table::Entry> wheel_;  // used by the timer thread only
  std::atomic<size_t> size_{0};
  // The time until which the timer thread sleeps, in nanoseconds; 0 while it is awake.
  std::atomic<int64_t> sleeps_until_{0};
  mutable absl::Mutex mu_;
  absl::CondVar changed_;
  bool is_woken_ ABSL_GUARDED_BY(mu_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  TimeSketch lateness_ ABSL_GUARDED_BY(mu_);
  OsThread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_THREAD_H_
