#include "understudy/transport/ticker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/thread.h"

namespace understudy::internal {

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

void Ticker::Run() {
  while (true) {
    absl::AnyInvocable<void()> callback;
    absl::Duration wait = absl::InfiniteDuration();
    {
      absl::MutexLock lock(&mu_);
      if (!due_.empty()) {
        const auto first = due_.begin();
        wait = first->first.first - Clock::Real().Now();
        if (wait <= absl::ZeroDuration()) {
          callback = std::move(first->second);
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
