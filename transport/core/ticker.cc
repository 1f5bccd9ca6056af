#include "understudy/transport/core/ticker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::internal {
namespace {

// A time that is not so many steps of a grid ahead is put on a finer one.
constexpr int64_t kStepsAheadMin = 8;
// The finest: waking up takes about as long.
constexpr absl::Duration kStepMin = absl::Microseconds(50);

}  // namespace

Ticker::Ticker() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  UNDERSTUDY_CHECK(wake_ >= 0, "eventfd: ", strerror(errno));
  thread_ = StartThread([this] { Run(); });
}

Ticker::~Ticker() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
}

void Ticker::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  bool is_first = false;
  {
    absl::MutexLock lock(&mu_);
    const auto entry = due_.emplace(std::make_pair(time, ++last_), std::move(callback)).first;
    is_first = entry == due_.begin();
  }
  if (is_first) eventfd_write(wake_, 1);
}

std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> Ticker::ToFunctionOnGrid(
    absl::Duration grid) {
  UNDERSTUDY_CHECK(grid > absl::ZeroDuration(), "a grid of ", absl::FormatDuration(grid), ": expected a positive one");
  return [this, grid, begin = Clock::Real().Now()](MonotonicTime time, absl::AnyInvocable<void()> callback) {
    RunAt(OnGrid(time, Clock::Real().Now(), begin, grid), std::move(callback));
  };
}

MonotonicTime Ticker::OnGrid(MonotonicTime time, MonotonicTime now, MonotonicTime begin, absl::Duration grid) {
  if (time.is_infinite()) return time;
  const absl::Duration ahead = time - now;
  while (grid * kStepsAheadMin > ahead) {
    if (grid < kStepMin) return time;
    grid /= 2;
  }
  return begin + absl::Ceil(time - begin, grid);
}

absl::Duration Ticker::Overdue() {
  absl::MutexLock lock(&mu_);
  const MonotonicTime due = due_.empty() ? MonotonicTime::InfiniteFuture() : due_.begin()->first.first;
  const MonotonicTime first = std::min(runs_since_, due);
  return first.is_infinite() ? absl::ZeroDuration() : std::max(absl::ZeroDuration(), Clock::Real().Now() - first);
}

void Ticker::Run() {
  while (true) {
    absl::AnyInvocable<void()> callback;
    absl::Duration wait = absl::InfiniteDuration();
    {
      absl::MutexLock lock(&mu_);
      runs_since_ = MonotonicTime::InfiniteFuture();
      if (!due_.empty()) {
        const auto first = due_.begin();
        wait = first->first.first - Clock::Real().Now();
        if (wait <= absl::ZeroDuration()) {
          callback = std::move(first->second);
          runs_since_ = first->first.first;
          due_.erase(first);
        }
      }
      if (callback == nullptr && stopping_) return;
    }
    if (callback != nullptr) {
      callback();
      continue;
    }
    // poll waits by the monotonic clock.
    pollfd woken = {.fd = wake_, .events = POLLIN, .revents = 0};
    const timespec timeout = absl::ToTimespec(wait);
    ppoll(&woken, 1, wait == absl::InfiniteDuration() ? nullptr : &timeout, nullptr);
    eventfd_t value = 0;
    eventfd_read(wake_, &value);
  }
}

}  // namespace understudy::internal
