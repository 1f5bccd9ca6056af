// The code that the benchmarks' actors share: sends and asks that end the run when they fail, and a way for a plain
// thread to wait for actors.
//
// Uses only the public headers, and runs on any executor.
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

// The capacity of mailboxes whose counterparts in the peers are unbounded. A refused send ends the run.
inline constexpr int64_t kLargeCapacity = 100'000'000;
// How many actors are spawned at once by the workloads that need many actors.
inline constexpr int kSpawnBatch = 1000;
// The deadline of each ask.
inline constexpr absl::Duration kAskTimeout = absl::Seconds(5);

// Finish: an actor tells a plain thread that the work is done. Report is called once, on any thread; the Finish must
// outlive the actors that use it.
class Finish {
 public:
  explicit Finish(ActorSystem& system) : executor_(system.executor()) {}

  void Report(int64_t count) {
    Executor& executor = executor_;
    count_ = count;
    done_.Notify();
    executor.Notify();
  }
  // Waits for Report and returns its count. CHECKs that Report is called within kWorkTimeout.
  int64_t Await() {
    // A thread that blocks in the pool (BlockUntil) is woken whenever an actor ends, and these wake-ups would be
    // measured too.
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

// A stopwatch of real time, even if the system has a virtual clock.
class Stopwatch {
 public:
  double Seconds() const { return absl::ToDoubleSeconds(Clock::Real().Now() - began_); }

 private:
  const MonotonicTime began_ = Clock::Real().Now();
};

// Not inline, so that the code that formats the refusal is not inlined into the measured actors.
[[noreturn]] void EndRefused(const absl::Status& refusal);

// Sends `message`; a refused send ends the run.
template <class C, class M>
void SendOrDie(const C& channel, M message) {
  const absl::Status sent = channel.Send(std::move(message));
  if (ABSL_PREDICT_FALSE(!sent.ok())) EndRefused(sent);
}

// Asks from a plain thread and returns the answer; an error ends the run.
template <class C>
typename C::Reply AskOrDie(ActorSystem& system, const C& channel, typename C::Request request) {
  absl::StatusOr<typename C::Reply> answer = system.Ask(channel, std::move(request), absl::Minutes(1));
  UNDERSTUDY_CHECK(answer.ok(), "an ask failed: ", answer.status().ToString());
  return *std::move(answer);
}

// Waits until the actor has started, because an actor that has not started keeps few messages. An answer shows that the
// actor has started.
template <class C>
void AwaitStarted(ActorSystem& system, const C& call) {
  (void)AskOrDie(system, call, typename C::Request());
}

// Ends these actors, and waits until no other actor of the system is left either.
void EndActors(ActorSystem& system, const std::vector<Pid>& actors);
// Waits until at most `actors_max` actors are left.
void AwaitActorsLeft(ActorSystem& system, int64_t actors_max);

struct Measurement {
  // Operations that the actors counted as done.
  int64_t count = 0;
  double seconds = 0;
  // Resident memory that the run added; only workloads that measure memory set it.
  int64_t bytes = 0;
  // How long each operation took; only workloads that do one operation at a time set it.
  std::vector<absl::Duration> latencies;
};

// A workload, defined in workloads/lives.cc. It shuts the system down at its end.
Measurement RunIdleMemory(ActorSystem& system, int64_t operations);

// Spawns `actors` actors, sends each a message of kBytes (8 or 80) and waits until they have ended, `rounds` times.
// Returns the resident memory in bytes after each round.
template <size_t kBytes>
std::vector<int64_t> ResidentAfterRounds(ActorSystem& system, int64_t actors, int rounds);

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_MEASURING_H_
