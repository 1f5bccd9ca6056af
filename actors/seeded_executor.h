// SeededExecutor: an Executor of one thread with virtual time, whose every
// choice comes from a seed, so that a seed replays a run.
//
// Of all that is runnable, the seed picks what runs next. Time stands still
// while anything is runnable, and then jumps to the next timer. Nothing runs
// but inside RunOne, RunUntilIdle, Advance and BlockUntil, on the thread that
// calls them.
//
// Threads: one at a time; only Schedule, RunAt, Cancel and Notify may come from
// others. Lifetime: outlives the systems that use it.
#ifndef UNDERSTUDY_ACTORS_SEEDED_EXECUTOR_H_
#define UNDERSTUDY_ACTORS_SEEDED_EXECUTOR_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/timer_queue.h"

namespace understudy {

class SeededExecutor final : public Executor {
 public:
  explicit SeededExecutor(uint64_t seed);

  uint64_t seed() const { return seed_; }
  Clock& clock() override { return clock_; }
  void Schedule(Runnable* runnable) override;
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) override;
  bool Cancel(uint64_t timer) override;
  // Runs and lets time pass until `done`, or until `deadline`, or until there
  // is nothing left to run.
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override;
  void Notify() override {}

  // Runs one thing that can run now; false when there is none.
  bool RunOne();
  // Runs all that can run without time passing. CHECKs after `steps_max`
  // steps: something runs for ever.
  void RunUntilIdle(int64_t steps_max = 100'000'000);
  // Lets time pass, running what falls due in its order.
  void Advance(absl::Duration duration);
  // Time until the next timer; infinite without one.
  absl::Duration UntilNextTimer();
  int64_t steps() const { return steps_; }

 private:
  // Starts at an arbitrary fixed wall time, so that runs are alike.
  class VirtualClock final : public Clock {
   public:
    MonotonicTime Now() override { return now; }
    absl::Time WallNow() override;
    MonotonicTime now = MonotonicTime::FromNanos(1'000'000'000);
  };

  bool FireDue();
  bool StepTo(MonotonicTime limit);

  const uint64_t seed_;
  Random random_;
  VirtualClock clock_;
  int64_t steps_ = 0;
  absl::Mutex mu_;
  std::vector<Runnable*> runnable_ ABSL_GUARDED_BY(mu_);
  TimerQueue<absl::AnyInvocable<void()>> timers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_SEEDED_EXECUTOR_H_
