// TimerThread: calls back at given times, on a thread of its own, so that no
// timer waits behind a handler.
//
// Arming and cancelling take no lock; the thread alone has the wheel. Any
// thread. Lifetime: what is not due at its end never runs.
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

namespace understudy::internal {

class TimerThread {
 public:
  explicit TimerThread(Clock& clock);
  ~TimerThread();
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  // As Executor's. What a cancelled callback holds is destroyed later.
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback);
  bool Cancel(uint64_t timer);

  // Timers armed or cancelled whose memory is in use, as the thread saw it last.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  using Table = TimerTable<absl::AnyInvocable<void()>>;

  void Work();
  void RunDue();
  void SweepCancelled();
  bool SleepUntil(MonotonicTime time);
  void Wake();

  Clock& clock_;
  Table table_;
  TimerWheel<Table::Entry> wheel_;  // the thread's
  std::atomic<size_t> size_{0};
  // Until when the thread sleeps, in nanoseconds; 0 while it does not.
  std::atomic<int64_t> sleeps_until_{0};
  absl::Mutex mu_;
  absl::CondVar changed_;
  bool is_woken_ ABSL_GUARDED_BY(mu_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  OsThread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_THREAD_H_
