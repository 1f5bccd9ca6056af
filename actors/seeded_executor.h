// SeededExecutor: an Executor of one thread with virtual time, whose every
// choice comes from a seed, so that a seed replays a run.
//
// The seed picks which of the runnable turns runs next. Time stands still while
// a turn is runnable, and then jumps to the next timer. Turns and timers run only
// inside RunOne, RunUntilIdle, Advance and BlockUntil, on the thread that calls
// them.
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
  // Runs turns and lets time pass until `done` is true, `deadline` is reached, or
  // nothing is left to run. Returns done().
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override;
  void Notify() override {}

  // Simulates a handler that does not return for `duration`; call it in user code of a
  // turn. Meanwhile other turns and timers run, as if by other workers, and the calling
  // turn counts as in user code (WhileInUserCode). Counts as a takeover if `duration` is
  // at least limits::kTakeOverAfter (5 ms).
  void HoldHere(absl::Duration duration);
  // How many calls of HoldHere counted as takeovers so far.
  int64_t takeovers() const { return takeovers_; }
  // The actors that were held for limits::kNameHandlerAfter (1 s) or longer, described as
  // a watchdog would name them.
  const std::vector<std::string>& long_handlers() const { return long_handlers_; }

  // Runs one due timer or one turn. Returns false if there is none.
  bool RunOne();
  // Runs everything that can run without time passing. CHECKs that this takes at most
  // `steps_max` steps, because more of them suggest an endless loop.
  void RunUntilIdle(int64_t steps_max = 100'000'000);
  // Lets time pass, and runs what falls due in order of its time.
  void Advance(absl::Duration duration);
  // Sets the wall clock forward or back, as a time service would.
  void StepWallClock(absl::Duration step) { clock_.stepped += step; }
  // Time until the next timer; infinite without one.
  absl::Duration UntilNextTimer();
  int64_t steps() const { return steps_; }

 private:
  // Starts at an arbitrary fixed wall time, so that runs with one seed are the same.
  class VirtualClock final : public Clock {
   public:
    MonotonicTime Now() override { return now; }
    absl::Time WallNow() override;
    MonotonicTime now = MonotonicTime::FromNanos(1'000'000'000);
    absl::Duration stepped;
  };

  // The worker that runs a turn. There are several while handlers are held (HoldHere).
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
  std::vector<internal::Worker*> held_;  // workers whose handlers are held, innermost last
  int64_t takeovers_ = 0;
  std::vector<std::string> long_handlers_;
  absl::Mutex mu_;
  std::vector<Runnable*> runnable_ ABSL_GUARDED_BY(mu_);
  TimerQueue<absl::AnyInvocable<void()>> timers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_SEEDED_EXECUTOR_H_
