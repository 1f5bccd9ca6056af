#include "understudy/actors/seeded_executor.h"

#include <algorithm>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/turn/turn_scope.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/trace.h"

namespace understudy {

absl::Time SeededExecutor::VirtualClock::WallNow() {
  return absl::FromUnixSeconds(1'000'000'000) + absl::Nanoseconds(now.nanos()) + stepped;
}

SeededExecutor::SeededExecutor(uint64_t seed) : seed_(seed), random_(seed), worker_(*this) {}

void SeededExecutor::Schedule(Runnable* runnable) {
  absl::MutexLock lock(&mu_);
  runnable_.push_back(runnable);
}

uint64_t SeededExecutor::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  absl::MutexLock lock(&mu_);
  return timers_.Add(time, std::move(callback));
}

bool SeededExecutor::Cancel(uint64_t timer) {
  absl::MutexLock lock(&mu_);
  return timers_.Remove(timer);
}

bool SeededExecutor::FireDue() {
  absl::optional<absl::AnyInvocable<void()>> due;
  {
    absl::MutexLock lock(&mu_);
    due = timers_.PopDue(clock_.now);
  }
  if (!due) return false;
  (*due)();
  return true;
}

bool SeededExecutor::RunOne() {
  const internal::Worker* const here = internal::ThisWorker();
  UNDERSTUDY_CHECK(here == nullptr || &here->executor != this || here->lock.IsHeldByOwner(),
                   "a turn would run within a turn: a test runs them from outside, and a handler waits by co_await");
  ++steps_;
  if (FireDue()) return true;
  Runnable* runnable = nullptr;
  {
    absl::MutexLock lock(&mu_);
    if (runnable_.empty()) return false;
    const size_t choice = random_.Below(runnable_.size());
    runnable = runnable_[choice];
    runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(choice));
  }
  // This thread may hold a TraceScope, whose trace is not that of the turns that it runs.
  const TraceContext* const outside = std::exchange(internal::this_trace, nullptr);
  // Within a held handler, HoldHere has set up a worker already.
  if (internal::ThisWorker() != nullptr && &internal::ThisWorker()->executor == this) {
    internal::ThisWorker()->RunTurn(*runnable);
  } else {
    internal::WorkerScope scope(worker_);
    worker_.ring.NoteTime(static_cast<uint64_t>(clock().Now().nanos()));
    worker_.RunTurn(*runnable);
  }
  internal::this_trace = outside;
  return true;
}

bool SeededExecutor::WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant,
                                     absl::FunctionRef<void()> action) {
  for (internal::Worker* worker : held_) {
    if (worker->WhileInUserCode(turn, is_meant, action)) return true;
  }
  return false;
}

void SeededExecutor::HoldHere(absl::Duration duration) {
  internal::Worker* held = internal::ThisWorker();
  UNDERSTUDY_CHECK(held != nullptr && &held->executor == this && !held->lock.IsHeldByOwner(),
                   "HoldHere is for the user code of a turn of this executor");
  if (duration >= limits::kTakeOverAfter) ++takeovers_;
  if (duration >= limits::kNameHandlerAfter) long_handlers_.push_back(held->current.load()->Describe());
  SeededWorker other(*this);
  held_.push_back(held);
  {
    internal::WorkerScope scope(other);
    // Timer callbacks that run meanwhile must not count as part of the held turn.
    const internal::NobodysTurn nobody;
    Advance(duration);
  }
  held_.pop_back();
}

void SeededExecutor::RunUntilIdle(int64_t steps_max) {
  for (int64_t step = 0; RunOne(); ++step) {
    UNDERSTUDY_CHECK(step < steps_max, "not idle after ", steps_max, " steps: something runs for ever");
  }
}

absl::Duration SeededExecutor::UntilNextTimer() {
  absl::MutexLock lock(&mu_);
  return timers_.Next() - clock_.now;
}

// Runs one turn or timer, or else moves time to the next timer. Returns false if there is
// no timer, or the next one is after `limit`.
bool SeededExecutor::StepTo(MonotonicTime limit) {
  if (RunOne()) return true;
  absl::MutexLock lock(&mu_);
  if (timers_.empty() || timers_.Next() > limit) return false;
  clock_.now = timers_.Next();
  return true;
}

void SeededExecutor::Advance(absl::Duration duration) {
  const MonotonicTime end = clock_.now + duration;
  while (StepTo(end)) {
  }
  clock_.now = std::max(clock_.now, end);  // HoldHere in a handler may have gone further
}

bool SeededExecutor::BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) {
  while (!done()) {
    if (StepTo(deadline)) continue;
    if (!deadline.is_infinite() && deadline > clock_.now) clock_.now = deadline;
    return done();
  }
  return true;
}

}  // namespace understudy
