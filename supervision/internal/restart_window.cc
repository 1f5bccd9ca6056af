#include "understudy/supervision/internal/restart_window.h"

#include <algorithm>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"

namespace understudy {

bool RestartWindow::Add(MonotonicTime now) {
  absl::MutexLock lock(&mu_);
  while (!attempts_.empty() && now - attempts_.front() > period_) attempts_.pop_front();
  attempts_.push_back(now);
  const auto count = static_cast<int>(attempts_.size());
  // intensity + 1 times are enough to know that there were too many; more would only use memory.
  if (count > intensity_ + 1) attempts_.pop_front();
  return count <= intensity_;
}

int RestartWindow::CountAt(MonotonicTime now) const {
  absl::MutexLock lock(&mu_);
  const auto first = std::partition_point(attempts_.begin(), attempts_.end(),
                                          [&](MonotonicTime attempt) { return now - attempt > period_; });
  return static_cast<int>(attempts_.end() - first);
}

}  // namespace understudy
