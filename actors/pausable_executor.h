// PausableExecutor: the share of one process in a SeededExecutor that several
// simulated processes use. While the share is paused none of its turns and timers
// runs, as in a process that was stopped by SIGSTOP; the other processes go on.
//
//   PausableExecutor of_b(executor);
//   TestSystem b(executor, of_b, /*seed=*/7, "b");
//   of_b.Pause();
//   executor.Advance(absl::Seconds(10));     // b does nothing
//   of_b.Resume();                           // turns and timers that fell due meanwhile become runnable
//
// While nothing is paused, a run with this executor makes the same choices from a seed
// as one without it. Turns of this executor must not call SeededExecutor::HoldHere.
// Threads: one. Lifetime: outlives the systems that use it; the SeededExecutor must not
// run anything after this object is destroyed.
#ifndef UNDERSTUDY_ACTORS_PAUSABLE_EXECUTOR_H_
#define UNDERSTUDY_ACTORS_PAUSABLE_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/seeded_executor.h"

namespace understudy {

class PausableExecutor final : public Executor {
 public:
  explicit PausableExecutor(SeededExecutor& executor) : executor_(executor), worker_(*this) {}

  void Pause() { is_paused_ = true; }
  void Resume();
  bool is_paused() const { return is_paused_; }

  Clock& clock() override { return executor_.clock(); }
  void Schedule(Runnable* runnable) override;
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) override;
  bool Cancel(uint64_t timer) override;
  bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action) override {
    return executor_.WhileInUserCode(turn, is_meant, action);
  }
  absl::StatusOr<uint32_t> NewOwnThread() override { return 0; }
  void EndOwnThread(uint32_t) override {}
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override {
    return executor_.BlockUntil(done, deadline);
  }
  void Notify() override {}

 private:
  class OwnWorker final : public internal::Worker {
   public:
    explicit OwnWorker(Executor& its_executor) : Worker(its_executor, nullptr) {}
  };
  // Represents one runnable in the seeded executor, so that RunTurn can hold it back.
  class Turn final : public Runnable {
   public:
    explicit Turn(PausableExecutor& executor) : executor_(executor) {}
    void Run() override { executor_.RunTurn(*this); }
    Runnable* runnable = nullptr;

   private:
    PausableExecutor& executor_;
  };

  void RunTurn(Turn& turn);
  void Arm(uint64_t timer, MonotonicTime time, absl::AnyInvocable<void()> callback);
  void Fire(uint64_t timer, absl::AnyInvocable<void()> callback);

  SeededExecutor& executor_;
  OwnWorker worker_;
  bool is_paused_ = false;
  std::vector<std::unique_ptr<Turn>> turns_;
  std::vector<Turn*> free_turns_;
  std::vector<Runnable*> held_turns_;  // their turn came while this executor was paused
  uint64_t last_timer_ = 0;
  std::map<uint64_t, uint64_t> timers_;  // timers that have not fired: from this executor's id to the seeded one's
  std::map<uint64_t, absl::AnyInvocable<void()>> held_timers_;  // timers that fired while this executor was paused
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PAUSABLE_EXECUTOR_H_
