// ActorTest: the fixture of actors' tests. It has a TestSystem, keeps its dead
// letters, and ends every test by checking that nothing was lost.
//
//   TEST_F(CounterTest, Adds) {
//     Ref<Counter> counter = system().Spawn<Counter>();
//     counter[&Counter::add].Tell(1);
//     EXPECT_EQ(Ask(counter[&Counter::total], TotalRequest())->value, 1);
//   }
//
// TearDown expects that the ledgers of each mailbox and of the system balance. Then
// it shuts the system down, which lets time pass, and expects that no actor had to be
// killed and no message waits. A test with systems of its own calls ExpectNothingLost for
// each.
#ifndef UNDERSTUDY_ACTORS_TESTING_ACTOR_TEST_H_
#define UNDERSTUDY_ACTORS_TESTING_ACTOR_TEST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"

namespace understudy {

// Expects that the ledger of each mailbox balances, and that their sum is the system's
// ledger. Call while no turn runs.
void ExpectLedgersBalance(const ActorSystem& system);
// Expects that the ledgers balance, shuts `system` down, and expects that no actor had to
// be killed, no actor is left, no message waits, and the ledgers balance again.
void ExpectNothingLost(TestSystem& system);

class ActorTest : public ::testing::Test {
 protected:
  // The system's seed is the value of the environment variable UNDERSTUDY_SEED, or 1 if it is not set.
  ActorTest();
  void TearDown() override { ExpectNothingLost(system_); }

  TestSystem& system() { return system_; }
  const std::vector<DeadLetter>& dead_letters() const { return dead_letters_; }
  MessageLedger Ledger() { return system_.Ledger(); }

  // Asks, and lets time pass until there is an answer or `timeout` is over.
  template <class Q, class R>
  absl::StatusOr<R> Ask(const Channel<Call<Q, R>>& channel, Q request, absl::Duration timeout = absl::Seconds(1)) {
    return system_.Ask(channel, std::move(request), timeout);
  }
  // Lets time pass until `pid` has ended, and returns its exit reason. Returns NoProcess
  // if it had ended before the call. Fails the test if it lives on for a minute.
  ExitReason EndOf(Pid pid);
  // Like EndOf above, for an actor that ends because of `cause`, which EndOf calls. The
  // actor is monitored before `cause` runs, so its exit reason is known with every seed.
  ExitReason EndOf(Pid pid, absl::FunctionRef<void()> cause);

 private:
  TestSystem system_;
  std::vector<DeadLetter> dead_letters_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_ACTOR_TEST_H_
