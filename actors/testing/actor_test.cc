#include "understudy/actors/testing/actor_test.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {

void ExpectNothingLost(TestSystem& system) {
  system.RunUntilIdle();
  EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1))) << "an actor had to be killed";
  EXPECT_EQ(system.live_actors(), 0);
  const MessageLedger ledger = system.Ledger();
  EXPECT_TRUE(ledger.balances()) << ledger.ToString();
  EXPECT_EQ(ledger.waiting, 0) << ledger.ToString();
}

ActorTest::ActorTest() : system_(SeedFromEnvironment().value_or(1)) {
  system_.SubscribeDeadLetters([this](const DeadLetter& letter) { dead_letters_.push_back(letter); });
}

ExitReason ActorTest::EndOf(Pid pid) {
  absl::StatusOr<ExitReason> reason = system_.AwaitEnd(pid, absl::Minutes(1));
  if (reason.ok()) return *reason;
  ADD_FAILURE() << pid << " lives on: " << reason.status();
  return ExitReason();
}

}  // namespace understudy
