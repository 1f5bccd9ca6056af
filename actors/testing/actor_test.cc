#include "understudy/actors/testing/actor_test.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {
namespace {

// Records the exit reason of another actor.
class EndNote final : public Actor {
 public:
  EndNote(Pid pid, absl::optional<ExitReason>* reason) : pid_(pid), reason_(*reason) {}
  StartResult Start() override {
    watch_ = context().Monitor(pid_, [this](const Down& down) { reason_ = down.reason; });
    return Behavior("watching", After(absl::InfiniteDuration(), [] {}));
  }

 private:
  const Pid pid_;
  absl::optional<ExitReason>& reason_;
  MonitorHandle watch_;
};

}  // namespace

void ExpectLedgersBalance(const ActorSystem& system) {
  MessageLedger sum;
  for (const MailboxLedger& mailbox : system.MailboxLedgers()) {
    EXPECT_TRUE(mailbox.messages.balances()) << mailbox;
    sum += mailbox.messages;
  }
  MessageLedger all = system.Ledger();
  EXPECT_TRUE(all.balances()) << all;
  all.refused = 0;  // refused messages are not counted by mailbox
  EXPECT_EQ(sum, all);
}

void ExpectNothingLost(TestSystem& system) {
  system.RunUntilIdle();
  ExpectLedgersBalance(system);
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1))) << "an actor had to be killed";
  EXPECT_EQ(system.live_actors(), 0);
  ExpectLedgersBalance(system);
  for (const MailboxLedger& mailbox : system.MailboxLedgers()) EXPECT_EQ(mailbox.messages.waiting, 0) << mailbox;
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

ExitReason ActorTest::EndOf(Pid pid, absl::FunctionRef<void()> cause) {
  absl::optional<ExitReason> reason;
  const Ref<EndNote> note = system_.Spawn<EndNote>(pid, &reason);
  system_.RunUntilIdle();
  cause();
  (void)system_.executor().BlockUntil([&] { return reason.has_value(); }, system_.Now() + absl::Minutes(1));
  system_.Kill(note.pid());
  system_.RunUntilIdle();
  if (reason.has_value()) return *std::move(reason);
  ADD_FAILURE() << pid << " lives on";
  return ExitReason();
}

}  // namespace understudy
