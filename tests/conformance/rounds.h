// WithEverySeed and OnThreads: run one scenario many times, with a new seed each time under the seeded executor, or on
// a thread pool.
//
//   void Race(ActorSystem& system, Random& random);
//   TEST(MonTest, …WithEverySeed) { WithEverySeed(Race); }
//   TEST(MonTest, …OnThreads) { OnThreads(Race); }
//
// A scenario spawns actors, waits for the events that it expects (Tally), and ends with ExpectAllEnded. After that no
// actor refers to the scenario's variables. The scenario takes each value that differs between rounds from `random`.
#ifndef UNDERSTUDY_TESTS_CONFORMANCE_ROUNDS_H_
#define UNDERSTUDY_TESTS_CONFORMANCE_ROUNDS_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {

// `.ci/long races` runs five times as many rounds (RoundsOf).
inline constexpr int kRounds = 200;

using Scenario = absl::FunctionRef<void(ActorSystem&, Random&)>;

// Counts events in actors, while a thread outside actors waits for the count. Any thread.
class Tally {
 public:
  explicit Tally(ActorSystem& system) : system_(system) {}

  void Add() {
    Executor& executor = system_.executor();  // the waiting thread may destroy the tally as soon as the count is stored
    count_.fetch_add(1, std::memory_order_seq_cst);
    executor.Notify();
  }
  int count() const { return count_.load(std::memory_order_seq_cst); }
  // Fails the test if the count has not reached `wanted` within a minute.
  void Await(int wanted) {
    const bool came =
        system_.executor().BlockUntil([&] { return count() >= wanted; }, system_.clock().Now() + absl::Minutes(1));
    EXPECT_TRUE(came) << count() << " of " << wanted;
  }

 private:
  ActorSystem& system_;
  std::atomic<int> count_{0};
};

// Under the seeded executor, runs up to `turns_max` turns. On a thread pool turns run without this call.
inline void LetSomeRun(ActorSystem& system, Random& random, uint64_t turns_max) {
  uint64_t turns = random.Below(turns_max + 1);
  (void)system.executor().BlockUntil([&] { return turns-- == 0; }, system.clock().Now());
}

// Waits until at most `count` actors are alive. By then, the actors that ended have sent their exits and Downs.
inline void AwaitLive(ActorSystem& system, int64_t count) {
  const bool ended = system.executor().BlockUntil([&] { return system.live_actors() <= count; },
                                                  system.clock().Now() + absl::Minutes(1));
  EXPECT_TRUE(ended) << system.live_actors() << " actors live on";
}

// Waits until no actor is alive. The actors must end by themselves.
inline void ExpectAllEnded(ActorSystem& system) { AwaitLive(system, 0); }

inline void WithEverySeed(Scenario scenario, int rounds = kRounds) {
  ForEachSeed(rounds, [&](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    scenario(system, random);
    EXPECT_EQ(system.live_actors(), 0) << "the scenario did not wait for its actors";
    ExpectNothingLost(system);
  });
}

inline void OnThreads(Scenario scenario, int rounds = kRounds) {
  ActorSystemOptions options;
  options.threads.threads = 4;
  options.seed = 1;
  ActorSystem system(options);
  Random random(1);
  for (int round = 0; round < RoundsOf(rounds) && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    scenario(system, random);
    EXPECT_EQ(system.live_actors(), 0) << "the scenario did not wait for its actors";
  }
  EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));
  ExpectLedgersBalance(system);
  EXPECT_EQ(system.Ledger().waiting, 0) << system.Ledger();
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_CONFORMANCE_ROUNDS_H_
