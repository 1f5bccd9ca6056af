#include "understudy/transport/node_drain.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

// The result of a Shutdown. Shared with the thread that runs it, because ShutDown may return before that thread ends.
struct End {
  bool in_time = false;  // written before `notification` is notified
  absl::Notification notification;
};

}  // namespace

void NodeDrain::AwaitShutDown() {
  if (shutting_down_.joinable()) shutting_down_.join();
}

uint64_t NodeDrain::AddFirst(std::function<void(absl::Duration)> step) {
  absl::MutexLock lock(&first_mu_);
  first_.emplace(++last_first_, std::move(step));
  return last_first_;
}

void NodeDrain::RemoveFirst(uint64_t id) {
  absl::MutexLock lock(&first_mu_);
  first_.erase(id);
}

int NodeDrain::Once(absl::Duration within, const std::function<int(absl::Duration)>& drain) {
  {
    absl::MutexLock lock(&mu_);
    if (std::exchange(has_begun_, true)) {
      mu_.Await(absl::Condition(+[](absl::optional<int>* status) { return status->has_value(); }, &status_));
      return *status_;
    }
  }
  const MonotonicTime began = Clock::Real().Now();
  const auto elapsed = [began] { return Clock::Real().Now() - began; };
  {
    absl::MutexLock lock(&first_mu_);
    for (const auto& [id, step] : first_) step(std::max(absl::ZeroDuration(), within / 2 - elapsed()));
  }
  const int status = drain(std::max(absl::ZeroDuration(), within - elapsed()));
  absl::MutexLock lock(&mu_);
  status_ = status;
  return status;
}

bool NodeDrain::ShutDown(absl::Duration within) {
  auto ended = std::make_shared<End>();
  shutting_down_ = std::thread([this, within, ended] {
    ended->in_time = system_.Shutdown(within);
    ended->notification.Notify();
  });
  if (!ended->notification.WaitForNotificationWithTimeout(within + kStuckAfter)) {
    // The system's log names the actor whose handler does not return. Release: pairs with the load in is_stuck().
    is_stuck_.store(true, std::memory_order_release);
    return false;
  }
  return ended->in_time;
}

}  // namespace understudy::internal
