#include "understudy/supervision/internal/restart_window.h"

#include "understudy/actors/clock.h"

namespace understudy {

bool RestartWindow::Add(MonotonicTime now) {
  while (!attempts_.empty() && now - attempts_.front() > period_) attempts_.pop_front();
  attempts_.push_back(now);
  const bool within = count() <= intensity_;
  // intensity + 1 times are enough to know that there were too many; more would only use memory.
  if (count() > intensity_ + 1) attempts_.pop_front();
  return within;
}

}  // namespace understudy
