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
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/timer_queue.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/random.h"

namespace understudy {

class SeededExecutor final : public Executor {
 public:
  explicit SeededExecutor(uint64_t seed);

  uint64_t seed() const { return seed_; }
  Clock& clock() override { return clock_; }
  void Schedule(Runnable* runnable) override;
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) override;
  bool Cancel(uint64_t timer) override;
  bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action) override;
  // Every turn runs on the one thread.
  absl::StatusOr<uint32_t> NewOwnThread() override { return 0; }
  void EndOwnThread(uint32_t) override {}
  // Runs and lets time pass until `done`, or until `deadline`, or until there
  // is nothing left to run.
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override;
  void Notify() override {}

  // In user code of a turn: this handler does not return for `duration`.
  // Meanwhile other turns and timers run, as if by other workers, and the turn
  // is in user code as WhileInUserCode sees it. From 5 ms on its worker has been
  // taken over, and counts as that.
  void HoldHere(absl::Duration duration);
  // Workers taken over from held handlers so far.
  int64_t takeovers() const { return takeovers_; }
  // Who was held for a second or longer, as a watchdog would name them.
  const std::vector<std::string>& long_handlers() const { return long_handlers_; }

  // Runs one thing that can run now; false when there is none.
  bool RunOne();
  // Runs all that can run without time passing. CHECKs after `steps_max`
  // steps: something runs for ever.
  void RunUntilIdle(int64_t steps_max = 100'000'000);
  // Lets time pass, running what falls due in its order.
  void Advance(absl::Duration duration);
  // Sets the wall clock forward, or back; as a time service would.
  void StepWallClock(absl::Duration step) { clock_.stepped += step; }
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
    absl::Duration stepped;
  };

  // What runs a turn here; with a held handler there are several.
  class SeededWorker final : public internal::Worker {
   public:
    explicit SeededWorker(Executor& its_executor) : Worker(its_executor, nullptr) {}
  };

  bool FireDue();
  bool StepTo(MonotonicTime limit);

  const uint64_t seed_;
  Random random_;
  VirtualClock clock_;
  int64_t steps_ = 0;
  SeededWorker worker_;
  std::vector<internal::Worker*> held_;  // innermost last
  int64_t takeovers_ = 0;
  std::vector<std::string> long_handlers_;
  absl::Mutex mu_;
  std::vector<Runnable*> runnable_ ABSL_GUARDED_BY(mu_);
  TimerQueue<absl::AnyInvocable<void()>> timers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_SEEDED_EXECUTOR_H_
