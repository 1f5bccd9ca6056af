// ActorTest: the fixture of actors' tests. It has a TestSystem, keeps its dead
// letters, and ends every test by checking that nothing was lost.
//
//   TEST_F(CounterTest, Adds) {
//     Ref<Counter> counter = system().Spawn<Counter>();
//     counter[&Counter::add].Tell(1);
//     EXPECT_EQ(Ask(counter[&Counter::total], TotalRequest())->value, 1);
//   }
//
// TearDown: each mailbox's ledger balances, and so does their sum; after a
// shutdown, in which time passes, every actor has ended by itself, and no
// message waits.
// A test with systems of its own calls ExpectNothingLost for each.
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

// The ledger of each mailbox balances, and their sum is the system's. Only while
// no turn runs.
void ExpectLedgersBalance(const ActorSystem& system);
// They do, now and after `system` has been shut down, which none of its actors
// outlives or has to be killed for; then nothing waits in any mailbox.
void ExpectNothingLost(TestSystem& system);

class ActorTest : public ::testing::Test {
 protected:
  // Its seed is UNDERSTUDY_SEED, else 1.
  ActorTest();
  void TearDown() override { ExpectNothingLost(system_); }

  TestSystem& system() { return system_; }
  const std::vector<DeadLetter>& dead_letters() const { return dead_letters_; }
  MessageLedger Ledger() { return system_.Ledger(); }

  // Asks and lets time pass until there is an answer, at most `timeout`.
  template <class Q, class R>
  absl::StatusOr<R> Ask(const Channel<Call<Q, R>>& channel, Q request, absl::Duration timeout = absl::Seconds(1)) {
    return system_.Ask(channel, std::move(request), timeout);
  }
  // The reason that `pid` ends with, which it does within a minute or has done.
  // For one that had ended when this was called it is NoProcess.
  ExitReason EndOf(Pid pid);
  // The same of what `cause` makes end, or what follows from it: it is watched
  // before that runs, whatever the seed.
  ExitReason EndOf(Pid pid, absl::FunctionRef<void()> cause);

 private:
  TestSystem system_;
  std::vector<DeadLetter> dead_letters_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_ACTOR_TEST_H_
