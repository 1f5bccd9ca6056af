// TimerThread: calls back at given times, on a thread of its own, so that no
// timer waits behind a handler.
//
// Any thread. Lifetime: what is not due at its end never runs.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TIMER_THREAD_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TIMER_THREAD_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/os_thread.h"
#include "understudy/actors/timer_queue.h"

namespace understudy::internal {

class TimerThread {
 public:
  explicit TimerThread(Clock& clock);
  ~TimerThread();
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  // As Executor's.
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback);
  bool Cancel(uint64_t timer);

 private:
  void Work();

  Clock& clock_;
  absl::Mutex mu_;
  absl::CondVar changed_;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  TimerQueue<absl::AnyInvocable<void()>> timers_ ABSL_GUARDED_BY(mu_);
  OsThread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TIMER_THREAD_H_
