// TestSystem: an ActorSystem on one thread with virtual time, replayed by its
// seed. Published as //:testing.
//
//   TestSystem system(/*seed=*/7);
//   Ref<Counter> counter = system.Spawn<Counter>();
//   counter[&Counter::add].Tell(1);
//   system.RunUntilIdle();
//   EXPECT_EQ(*system.Ask(counter[&Counter::total], TotalRequest(), absl::Seconds(1)), 1);
//   system.Advance(absl::Minutes(5));
//
// Actors and timers run only inside RunUntilIdle, Advance, Shutdown and the functions
// that block a thread, such as Ask and AwaitEnd. Several systems may share one
// SeededExecutor, as the nodes of a simulated cluster do. One thread.
#ifndef UNDERSTUDY_ACTORS_TEST_SYSTEM_H_
#define UNDERSTUDY_ACTORS_TEST_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/trace.h"

namespace understudy {

namespace internal {

// A base class, so that the executor is constructed before ActorSystem, which uses it.
struct ExecutorHolder {
  std::unique_ptr<SeededExecutor> own;
};

}  // namespace internal

class TestSystem : private internal::ExecutorHolder, public ActorSystem {
 public:
  explicit TestSystem(uint64_t seed = 1, std::string name = "test");
  // Shares `executor`, which must outlive this system, with other systems.
  TestSystem(SeededExecutor& executor, uint64_t seed, std::string name);
  // Like the constructor above, but turns and timers run on `share`, a PausableExecutor of `executor`.
  TestSystem(SeededExecutor& executor, Executor& share, uint64_t seed, std::string name);

  // Shuts the system down, while the trace to which its actors write still exists.
  ~TestSystem() override;

  SeededExecutor& seeded_executor() { return executor_; }

  // Runs everything that can run without time passing.
  void RunUntilIdle() { executor_.RunUntilIdle(); }
  // Lets virtual time pass, and runs what falls due.
  void Advance(absl::Duration duration) { executor_.Advance(duration); }
  MonotonicTime Now() { return executor_.clock().Now(); }
  absl::Time WallNow() { return executor_.clock().WallNow(); }
  // Sets the wall clock forward, or back.
  void StepWallClock(absl::Duration step) { executor_.StepWallClock(step); }

  // From now on spans go to `spans`, which must outlive the system (trace.h). Call before actors run.
  void TraceTo(SpanSink& spans, double sampled_ratio = 1);

  // From now on writes one line into the trace for every step of every actor. Two runs
  // with the same seed and code give the same lines.
  void StartTrace();
  // Like StartTrace above, but appends the lines to `lines`, which must outlive the system. So the
  // nodes of a cluster can share one trace.
  void StartTrace(std::vector<std::string>* lines);
  const std::vector<std::string>& trace() const { return trace_; }
  // From now on neither trace() nor a SimulationTrace gets a line of this system's actors.
  void StopTrace();
  // Adds a line of the test's own to the trace, and to the SimulationTrace if there is one.
  void AddToTrace(absl::string_view line);

 private:
  TestSystem(std::unique_ptr<SeededExecutor> own, uint64_t seed, std::string name);

  // If there is a SimulationTrace.
  void TraceIfRecorded();

  SeededExecutor& executor_;
  std::vector<std::string> trace_;
  std::vector<std::string>* lines_ = nullptr;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TEST_SYSTEM_H_
