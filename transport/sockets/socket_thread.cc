#include "understudy/transport/sockets/socket_thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::internal {
namespace {

constexpr int kEventsPerWait = 64;

}  // namespace

int PollTimeout(absl::Duration within) {
  const absl::Duration longest = absl::Milliseconds(std::numeric_limits<int>::max());
  const absl::Duration bounded = std::clamp(within, absl::ZeroDuration(), longest);
  return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(bounded, absl::Milliseconds(1))));
}

SocketThread& SocketThread::Process() {
  static auto* const thread = new SocketThread;
  return *thread;
}

SocketThread::SocketThread() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  UNDERSTUDY_CHECK(epoll_ >= 0 && wake_ >= 0, "epoll or eventfd: ", strerror(errno));
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = 0}};
  UNDERSTUDY_CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0, "epoll_ctl: ", strerror(errno));
  StartThread([this] { Run(); }).detach();
}

absl::StatusOr<uint64_t> SocketThread::Watch(int descriptor, uint32_t events, Ready ready) {
  absl::MutexLock lock(&mu_);
  const uint64_t watch = ++last_;
  watched_[watch] = std::make_shared<Watched>(Watched{.descriptor = descriptor, .ready = std::move(ready)});
  epoll_event event = {.events = events, .data = {.u64 = watch}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return watch;
  const int error = errno;
  watched_.erase(watch);
  return absl::ResourceExhaustedError(absl::StrCat("cannot watch descriptor ", descriptor, ": ", strerror(error)));
}

void SocketThread::Forget(uint64_t watch) {
  absl::MutexLock lock(&mu_);
  const auto watched = watched_.find(watch);
  if (watched == watched_.end()) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, watched->second->descriptor, nullptr);
  watched_.erase(watched);
}

void SocketThread::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  bool is_first = false;
  {
    absl::MutexLock lock(&mu_);
    is_first = due_.emplace(std::make_pair(time, ++last_), std::move(callback)).first == due_.begin();
  }
  if (is_first) eventfd_write(wake_, 1);
}

void SocketThread::RunDue() {
  while (true) {
    absl::AnyInvocable<void()> callback;
    {
      absl::MutexLock lock(&mu_);
      if (due_.empty() || due_.begin()->first.first > Clock::Real().Now()) return;
      callback = std::move(due_.begin()->second);
      due_.erase(due_.begin());
    }
    callback();
  }
}

void SocketThread::Run() {
  std::array<epoll_event, kEventsPerWait> events;
  while (true) {
    RunDue();
    absl::Duration wait = absl::InfiniteDuration();
    {
      absl::MutexLock lock(&mu_);
      if (!due_.empty()) wait = std::min(wait, due_.begin()->first.first - Clock::Real().Now());
    }
    const int count = epoll_wait(epoll_, events.data(), kEventsPerWait, PollTimeout(wait));
    for (int i = 0; i < count; ++i) {
      const uint64_t watch = events[i].data.u64;  // a copy: the kernel's structure is packed
      if (watch == 0) {
        eventfd_t value = 0;
        eventfd_read(wake_, &value);
        continue;
      }
      std::shared_ptr<Watched> watched;
      {
        absl::MutexLock lock(&mu_);
        const auto found = watched_.find(watch);
        if (found != watched_.end()) watched = found->second;
      }
      if (watched != nullptr) watched->ready(events[i].events);
    }
  }
}

}  // namespace understudy::internal
