// RestartWindow: counts the restarts of the last `period` on the monotonic clock, and
// says when there are more than `intensity`. A restart exactly `period` ago still
// counts. After OTP's supervisor:add_restart.
//
// Owner only, except for CountAt. Memory: one time for each allowed restart, and one more.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_WINDOW_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_WINDOW_H_

#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy {

class RestartWindow {
 public:
  // Requires intensity >= 0 and period > 0.
  RestartWindow(int intensity, absl::Duration period) : intensity_(intensity), period_(period) {}

  // Counts one restart at `now`, which must not be earlier than in the last call. Returns
  // false if there were more than `intensity` restarts within `period`.
  [[nodiscard]] bool Add(MonotonicTime now);

  // The restarts in the period that ended with the last Add; at most `intensity` + 1.
  int count() const {
    absl::MutexLock lock(&mu_);
    return static_cast<int>(attempts_.size());
  }
  // The restarts in the period that ends at `now`; at most `intensity` + 1. Any thread.
  int CountAt(MonotonicTime now) const;

 private:
  const int intensity_;
  const absl::Duration period_;
  mutable absl::Mutex mu_;
  std::deque<MonotonicTime> attempts_ ABSL_GUARDED_BY(mu_);  // oldest first
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_WINDOW_H_
