#include "understudy/transport/node_drain.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/transport/core/node_core.h"

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

bool NodeDrain::Advance(NodeState state) {
  absl::MutexLock watches(&watches_mu_);
  {
    absl::MutexLock lock(&mu_);
    if (state <= state_) return false;
    state_ = state;
  }
  for (const auto& [id, watch] : watches_) watch(state);
  return true;
}

NodeState NodeDrain::state() const {
  absl::MutexLock lock(&mu_);
  return state_;
}

uint64_t NodeDrain::AddWatch(std::function<void(NodeState)> watch) {
  absl::MutexLock watches(&watches_mu_);
  watch(state());
  watches_.emplace(++last_watch_, std::move(watch));
  return last_watch_;
}

void NodeDrain::RemoveWatch(uint64_t id) {
  absl::MutexLock watches(&watches_mu_);
  watches_.erase(id);
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
  if (!Advance(NodeState::kDraining)) {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(+[](absl::optional<int>* status) { return status->has_value(); }, &status_));
    return *status_;
  }
  absl::Duration left = std::max(within, absl::ZeroDuration());
  {
    const MonotonicTime began = Clock::Real().Now();
    const auto elapsed = [began] { return Clock::Real().Now() - began; };
    absl::MutexLock lock(&first_mu_);
    for (const auto& [id, step] : first_) {
      step(std::max(absl::ZeroDuration(), within / 2 - elapsed()));
      left = std::max(absl::ZeroDuration(), within - elapsed());
    }
  }
  const int status = drain(left);
  absl::MutexLock lock(&mu_);
  status_ = status;
  return status;
}

void NodeDrain::LogBegin(absl::Duration within, const NodeCore::OpenWork& work) {
  began_ = system_.clock().Now();
  system_.log().Write(LogSeverity::kInfo, absl::StrCat("node ", system_.name(), " drains within ",
                                                       absl::FormatDuration(std::max(within, absl::ZeroDuration())),
                                                       " (actors: ", system_.live_actors(), ", names in the cluster: ",
                                                       work.names, ", unanswered calls of peers: ", work.calls, ")"));
}

void NodeDrain::LogEnd() {
  const std::string limit = absl::FormatDuration(within_);
  std::string how = absl::StrCat("its actors ended within ", limit);
  if (is_stuck()) {
    how = absl::StrCat("its time of ", limit, " was over, and a handler has not returned");
  } else if (!in_order_ && took_ >= within_) {
    how = absl::StrCat("its time of ", limit, " was over, and the actors that were left were killed");
  } else if (!in_order_) {
    how = absl::StrCat(how, ", but one was killed because it exceeded a shorter limit of its own");
  }
  const absl::Duration took = absl::Trunc(system_.clock().Now() - began_, absl::Milliseconds(1));
  system_.log().Write(LogSeverity::kInfo,
                      absl::StrCat("node ", system_.name(), " has drained in ", absl::FormatDuration(took), ": ", how));
}

bool NodeDrain::ShutDown(absl::Duration within) {
  within_ = std::max(within, absl::ZeroDuration());
  const MonotonicTime began = system_.clock().Now();
  auto ended = std::make_shared<End>();
  shutting_down_ = std::thread([this, within = within_, ended] {
    ended->in_time = system_.Shutdown(within);
    ended->notification.Notify();
  });
  if (!ended->notification.WaitForNotificationWithTimeout(within_ + kStuckAfter)) {
    // The system's log names the actor whose handler does not return. Release: pairs with the load in is_stuck().
    is_stuck_.store(true, std::memory_order_release);
    return false;
  }
  took_ = system_.clock().Now() - began;
  in_order_ = ended->in_time;
  return in_order_;
}

}  // namespace understudy::internal
