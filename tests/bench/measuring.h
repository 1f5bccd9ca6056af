// What a benchmark's actors share: sends and asks that end the run when they fail, and how a plain thread waits for
// actors.
//
// Written against the public headers only; for any executor.
#ifndef UNDERSTUDY_TESTS_BENCH_MEASURING_H_
#define UNDERSTUDY_TESTS_BENCH_MEASURING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/thread_pool.h"

namespace understudy::bench {

// Of mailboxes that stand beside the unbounded ones of the peers. No send may
// be refused: that ends the run.
inline constexpr int64_t kLargeCapacity = 100'000'000;
// What is spawned at once where many are to be alive, or to have lived.
inline constexpr int kSpawnBatch = 1000;
// The deadline of each ask.
inline constexpr absl::Duration kAskTimeout = absl::Seconds(5);

// By which an actor tells a plain thread that the work is done. Report from any
// thread, once; it outlives the actors that have it.
class Finish {
 public:
  explicit Finish(ActorSystem& system) : executor_(system.executor()) {}

  void Report(int64_t count) {
    Executor& executor = executor_;
    count_ = count;
    done_.Notify();
    executor.Notify();
  }
  // The count. CHECKs that it comes.
  int64_t Await() {
    // A thread that is blocked by the pool is woken whenever an actor ends, and would be measured too.
    const bool is_done =
        dynamic_cast<ThreadPool*>(&executor_) != nullptr
            ? done_.WaitForNotificationWithTimeout(kWorkTimeout)
            : executor_.BlockUntil([&] { return done_.HasBeenNotified(); }, executor_.clock().Now() + kWorkTimeout);
    UNDERSTUDY_CHECK(is_done, "the workload did not end within ", absl::FormatDuration(kWorkTimeout));
    return count_;
  }

 private:
  static constexpr absl::Duration kWorkTimeout = absl::Minutes(10);

  Executor& executor_;
  int64_t count_ = 0;  // before done_ is notified
  absl::Notification done_;
};

// Measures real time, whatever clock the system has.
class Stopwatch {
 public:
  double Seconds() const { return absl::ToDoubleSeconds(Clock::Real().Now() - began_); }

 private:
  const MonotonicTime began_ = Clock::Real().Now();
};

// Not inline: what it says of the refusal is not put together in the actors that are measured.
[[noreturn]] void EndRefused(const absl::Status& refusal);

// Sends; a refusal ends the run.
template <class C, class M>
void SendOrDie(const C& channel, M message) {
  const absl::Status sent = channel.Send(std::move(message));
  if (ABSL_PREDICT_FALSE(!sent.ok())) EndRefused(sent);
}

// The answer, asked from a plain thread; a failure ends the run.
template <class C>
typename C::Reply AskOrDie(ActorSystem& system, const C& channel, typename C::Request request) {
  absl::StatusOr<typename C::Reply> answer = system.Ask(channel, std::move(request), absl::Minutes(1));
  UNDERSTUDY_CHECK(answer.ok(), "an ask failed: ", answer.status().ToString());
  return *std::move(answer);
}

// An actor that has answered has started: before, it holds few messages.
template <class C>
void AwaitStarted(ActorSystem& system, const C& call) {
  (void)AskOrDie(system, call, typename C::Request());
}

// Ends these actors, and waits until the system has no other either.
void EndActors(ActorSystem& system, const std::vector<Pid>& actors);
// Waits until at most so many actors are left.
void AwaitActorsLeft(ActorSystem& system, int64_t actors_max);

struct Measurement {
  // Operations that the actors saw done.
  int64_t count = 0;
  double seconds = 0;
  // Resident memory that was added; only of workloads that measure it.
  int64_t bytes = 0;
  // How long each operation took; only of workloads that do one at a time.
  std::vector<absl::Duration> latencies;
};

// A workload, in workloads/lives.cc. Ends by shutting the system down.
Measurement RunIdleMemory(ActorSystem& system, int64_t operations);

// Spawns, tells something of 8 or 80 bytes and sees ended so many actors,
// `rounds` times; gives the resident memory after each round.
template <size_t kBytes>
std::vector<int64_t> ResidentAfterRounds(ActorSystem& system, int64_t actors, int rounds);

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_MEASURING_H_
