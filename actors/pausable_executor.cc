#include "understudy/actors/pausable_executor.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/worker.h"

namespace understudy {

void PausableExecutor::Schedule(Runnable* runnable) {
  if (free_turns_.empty()) free_turns_.push_back(turns_.emplace_back(std::make_unique<Turn>(*this)).get());
  Turn* const turn = free_turns_.back();
  free_turns_.pop_back();
  turn->runnable = runnable;
  executor_.Schedule(turn);
}

void PausableExecutor::RunTurn(Turn& turn) {
  Runnable* const runnable = std::exchange(turn.runnable, nullptr);
  free_turns_.push_back(&turn);
  if (is_paused_) {
    held_turns_.push_back(runnable);
    return;
  }
  internal::WorkerScope scope(worker_);
  worker_.ring.NoteTime(static_cast<uint64_t>(clock().Now().nanos()));
  worker_.RunTurn(*runnable);
}

uint64_t PausableExecutor::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  Arm(++last_timer_, time, std::move(callback));
  return last_timer_;
}

void PausableExecutor::Arm(uint64_t timer, MonotonicTime time, absl::AnyInvocable<void()> callback) {
  timers_[timer] = executor_.RunAt(
      time, [this, timer, callback = std::move(callback)]() mutable { Fire(timer, std::move(callback)); });
}

void PausableExecutor::Fire(uint64_t timer, absl::AnyInvocable<void()> callback) {
  timers_.erase(timer);
  if (is_paused_) {
    held_timers_[timer] = std::move(callback);
  } else {
    callback();
  }
}

bool PausableExecutor::Cancel(uint64_t timer) {
  if (held_timers_.erase(timer) > 0) return true;
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return false;
  const bool is_cancelled = executor_.Cancel(found->second);
  timers_.erase(found);
  return is_cancelled;
}

void PausableExecutor::Resume() {
  is_paused_ = false;
  for (Runnable* runnable : std::exchange(held_turns_, {})) Schedule(runnable);
  for (auto& [timer, callback] : std::exchange(held_timers_, {})) {
    Arm(timer, clock().Now(), std::move(callback));
  }
}

}  // namespace understudy
