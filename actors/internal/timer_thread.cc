#include "understudy/actors/internal/timer_thread.h"

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"

namespace understudy::internal {

TimerThread::TimerThread(Clock& clock) : clock_(clock) {
  UNDERSTUDY_CHECK(thread_.Start("actor-timers", [this] { Work(); }), "no thread for timers");
}

TimerThread::~TimerThread() {
  {
    absl::MutexLock lock(&mu_);
    is_stopping_ = true;
    changed_.Signal();
  }
  thread_.Join();
}

uint64_t TimerThread::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  absl::MutexLock lock(&mu_);
  const bool is_earliest = time < timers_.Next();
  const uint64_t id = timers_.Add(time, std::move(callback));
  if (is_earliest) changed_.Signal();
  return id;
}

bool TimerThread::Cancel(uint64_t timer) {
  absl::MutexLock lock(&mu_);
  return timers_.Remove(timer);
}

void TimerThread::Work() {
  absl::MutexLock lock(&mu_);
  while (!is_stopping_) {
    const MonotonicTime now = clock_.Now();
    if (absl::optional<absl::AnyInvocable<void()>> due = timers_.PopDue(now)) {
      mu_.Unlock();
      (*due)();
      due.reset();
      mu_.Lock();
    } else if (timers_.empty()) {
      changed_.Wait(&mu_);
    } else {
      changed_.WaitWithTimeout(&mu_, timers_.Next() - now);
    }
  }
}

}  // namespace understudy::internal
