#include "understudy/transport/metrics/health.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace understudy::internal {
namespace {

std::string Seconds(absl::Duration time) { return absl::FormatDuration(absl::Trunc(time, absl::Milliseconds(100))); }

}  // namespace

absl::Status WorkersPulse::Look(const std::vector<WorkerInfo>& workers, MonotonicTime now) {
  if (workers.empty()) return absl::OkStatus();  // the executor does not tell
  const WorkerInfo* freest = &workers.front();
  uint64_t entered = 0;
  int64_t waiting_turns = 0;
  for (const WorkerInfo& worker : workers) {
    if (worker.running < freest->running) freest = &worker;
    entered += worker.handlers_entered;
    waiting_turns += worker.waiting_turns;
  }
  if (freest->running >= stuck_after_) {
    return absl::UnavailableError(absl::StrCat("all ", workers.size(), " workers are in a handler for ",
                                               Seconds(freest->running), " or longer; one is in ", freest->doing));
  }
  if (waiting_turns == 0 || !still_since_.has_value() || entered != entered_) {
    entered_ = entered;
    if (waiting_turns == 0) {
      still_since_.reset();
    } else {
      still_since_ = now;
    }
    return absl::OkStatus();
  }
  if (now - *still_since_ < stuck_after_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(waiting_turns, " actors wait for a worker, and no worker has begun a ",
                                             "handler for ", Seconds(now - *still_since_)));
}

TimersPulse::~TimersPulse() {
  if (timer_ != 0) (void)executor_.Cancel(timer_);
}

absl::Status TimersPulse::Look(MonotonicTime now) {
  // acquire: pairs with the callback's release store; nothing else is handed over.
  if (has_run_ == nullptr || has_run_->load(std::memory_order_acquire)) {
    has_run_ = std::make_shared<std::atomic<bool>>(false);
    set_at_ = now;
    timer_ = executor_.RunAt(now, [has_run = has_run_] { has_run->store(true, std::memory_order_release); });
    return absl::OkStatus();
  }
  if (now - set_at_ < stuck_after_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("a timer that was due ", Seconds(now - set_at_), " ago has not run"));
}

absl::Status HeartbeatsPulse(absl::Duration overdue, absl::Duration stuck_after) {
  if (overdue < stuck_after) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("heartbeats to peers have been due for ", Seconds(overdue)));
}

Health::Health(ActorSystem& system, const Node* node, absl::Duration stuck_after)
    : system_(system),
      node_(node),
      stuck_after_(stuck_after),
      workers_(stuck_after),
      timers_(system.executor(), stuck_after) {}

absl::Status Health::Live() {
  const MonotonicTime now = system_.clock().Now();
  absl::Status workers = workers_.Look(system_.executor().Workers(), now);
  absl::Status timers = timers_.Look(now);
  if (!workers.ok()) return workers;
  if (!timers.ok() || node_ == nullptr) return timers;
  return HeartbeatsPulse(node_->heartbeats_overdue(), stuck_after_);
}

absl::Status Health::Ready() const {
  const NodeState state = node_ == nullptr ? NodeState::kReady : node_->state();
  if (state == NodeState::kDraining || system_.is_stopping()) {
    return absl::UnavailableError(absl::StrCat(system_.name(), " drains"));
  }
  if (state == NodeState::kStarting) {
    return absl::UnavailableError(absl::StrCat("the tree of ", system_.name(), " has not started"));
  }
  return absl::OkStatus();
}

}  // namespace understudy::internal
