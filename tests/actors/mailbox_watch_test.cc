// The warning about mailboxes that stay closed with mail (semantics 2.3).
#include "understudy/actors/internal/system/mailbox_watch.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/router.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/testing/null_router.h"
#include "understudy/tests/actors/letter.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// `item` and `call` are closed but for one message at a time, after `open`.
class Shutter final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Mailbox<"call", Call<Letter, Letter>> call{this, {.capacity_messages = 2}};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return shut_; }

 private:
  Behavior shut_{"shut", On(open, [this](int) { return open_; })};
  Behavior open_{"open", On(item, [this](int) { return shut_; }), On(call, [this](const Letter& asked) {
                   Become(shut_);
                   return asked;
                 })};
};

class MailboxWatchTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLimit = absl::Seconds(40);
  MailboxWatchTest() : system_({.executor = &executor_, .seed = 1, .log = &log_, .closed_mail_limit = kLimit}) {}

  SeededExecutor executor_{1};
  KeptLog log_;
  ActorSystem system_;
};

TEST_F(MailboxWatchTest, OneLineTellsOfAMailboxThatIsClosedWithMailForLong) {
  Ref<Shutter> shutter = system_.Spawn<Shutter>();
  executor_.Advance(2 * kLimit);
  EXPECT_THAT(log_.lines(), IsEmpty()) << "closed, but without mail";
  shutter[&Shutter::item].Tell(1);
  shutter[&Shutter::item].Tell(2);
  executor_.Advance(kLimit / 2);
  EXPECT_THAT(log_.lines(), IsEmpty());
  executor_.Advance(3 * kLimit);
  ASSERT_THAT(log_.lines(), SizeIs(1)) << "and only one";
  EXPECT_EQ(log_.lines()[0],
            "mailbox item of " + shutter.pid().ToString() +
                " has been closed for 40s with 2 messages: its behavior neither takes nor drops them, or a "
                "scoped close, or a handler that awaits, holds it closed");
}

TEST(MailboxWatchLimitTest, WithoutALimitItLooksNowAndThenAndNotAllTheTime) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.executor = &executor, .seed = 1, .log = &log, .closed_mail_limit = -absl::Seconds(1)});
  system.Spawn<Shutter>()[&Shutter::item].Tell(1);
  executor.RunUntilIdle(/*steps_max=*/100);
  executor.Advance(absl::Seconds(1));
  EXPECT_THAT(log.lines(), SizeIs(1));
  EXPECT_LT(executor.steps(), 1000);
}

TEST(MailboxWatchLimitTest, InATestSystemItDoesNotLook) {
  TestSystem system;
  system.Spawn<Shutter>()[&Shutter::item].Tell(1);
  system.RunUntilIdle();
  const auto steps_of = [&](absl::Duration duration) {
    const int64_t before = system.seeded_executor().steps();
    system.Advance(duration);
    return system.seeded_executor().steps() - before;
  };
  const int64_t nothing = steps_of(absl::Nanoseconds(1));
  EXPECT_EQ(steps_of(absl::Hours(24)), nothing);
  EXPECT_THAT(system.ClosedMailboxes(), SizeIs(1));
}

TEST_F(MailboxWatchTest, OneThatLetsAMessageOutNowAndThenIsNotCounted) {
  Ref<Shutter> shutter = system_.Spawn<Shutter>();
  for (int i = 0; i < 20; ++i) shutter[&Shutter::item].Tell(i);
  for (int i = 0; i < 10; ++i) {
    executor_.Advance(kLimit / 2);
    shutter[&Shutter::open].Tell(1);
  }
  executor_.RunUntilIdle();
  EXPECT_THAT(log_.lines(), IsEmpty());
  EXPECT_THAT(system_.ClosedMailboxes(), SizeIs(1));
}

TEST_F(MailboxWatchTest, IntrospectionSaysWhichAreClosedAndForHowLong) {
  Ref<Shutter> shutter = system_.Spawn<Shutter>();
  executor_.RunUntilIdle();
  EXPECT_THAT(system_.ClosedMailboxes(), IsEmpty());
  shutter[&Shutter::item].Tell(1);
  EXPECT_EQ(system_.ClosedMailboxes().at(0).closed_for, absl::ZeroDuration()) << "first seen now";
  executor_.Advance(absl::Seconds(5));
  const std::vector<ClosedMailbox> closed = system_.ClosedMailboxes();
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_EQ(closed[0].actor, shutter.pid());
  EXPECT_EQ(closed[0].mailbox, "item");
  EXPECT_EQ(closed[0].waiting, 1);
  EXPECT_EQ(closed[0].closed_for, absl::Seconds(5));
  shutter[&Shutter::open].Tell(1);
  executor_.RunUntilIdle();
  EXPECT_THAT(system_.ClosedMailboxes(), IsEmpty());
}

TEST_F(MailboxWatchTest, LookingRunsNoTurn) {
  Ref<Shutter> shutter = system_.Spawn<Shutter>();
  executor_.RunUntilIdle();
  shutter[&Shutter::item].Tell(1);
  EXPECT_THAT(system_.ClosedMailboxes(), SizeIs(1));
  EXPECT_FALSE(executor_.RunOne());
}

// Closed, with calls that expire in their order of arrival.
class Brief final : public Actor {
 public:
  Mailbox<"call", Call<int, int>> call{this, {.capacity_messages = 100'000, .time_to_live = absl::Hours(1)}};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

using TimeToLiveTest = ActorTest;

TEST_F(TimeToLiveTest, ACallThatExpiresIsFoundInATimeThatDoesNotGrowWithTheCallsThatWait) {
  constexpr int kCalls = 10'000;
  const Ref<Brief> brief = system().Spawn<Brief>();
  RunTask(system().Spawn<Script>(), [brief](Script& self) -> Task<> {
    std::vector<Pending<int>> asked;
    for (int i = 0; i < kCalls; ++i) {
      asked.push_back(brief[&Brief::call].Ask(i, absl::Hours(2)));
      auto pause = self.context().Sleep(absl::Milliseconds(1));
      (void)co_await pause;
    }
    for (const Pending<int>& call : asked) EXPECT_TRUE(IsExpired((co_await call).status()));
  });
  const auto timed = [this](absl::Duration time) {
    const std::clock_t began = std::clock();
    system().Advance(time);
    return std::clock() - began;
  };
  const std::clock_t asking = timed(absl::Minutes(30));
  EXPECT_EQ(Ledger().waiting, kCalls + 1) << "with the task";
  EXPECT_LT(timed(absl::Minutes(45)), 3 * asking) << "a walk for each would be 5 * 10^7 steps";
  EXPECT_EQ(Ledger().of(Disposition::kExpired), kCalls);
}

// Stands for a node whose session has ended, so its calls are never cancelled.
class SilentRouter final : public NullRouter {
 public:
  void Post(Signal signal) override { answers.push_back(signal.status); }
  std::vector<absl::Status> answers;
};

class ExpiredCallTest : public ActorTest {
 protected:
  ExpiredCallTest() : shutter_(system().Spawn<Shutter>()) {
    system().InstallRouter(&router_);
    system().RunUntilIdle();
  }
  ~ExpiredCallTest() override { system().InstallRouter(nullptr); }
  // With reserved room, or Full.
  absl::Status Call(absl::Duration within) {
    const Pid stranger(*system().InternPeer("far", NodeIncarnation{7}), 1, 1);
    const uint32_t mailbox = shutter_[&Shutter::call].mailbox();
    const RoomRequest room{
        .node = stranger.place(), .to = shutter_.pid(), .mailbox = mailbox, .amount = {.messages = 1, .bytes = 6}};
    const ReservedRoom reserved = system().Reserve(room);
    system().RunUntilIdle();
    if (reserved.amount.messages == 0) return MakeError(ErrorKind::kFull, "nothing was reserved");
    internal::Message message{.from = stranger,
                              .to = shutter_.pid(),
                              .mailbox = mailbox,
                              .ask = ++last_ask_,
                              .deadline = system().Now() + within,
                              .admission = Admission::kReserved};
    message.payload = internal::Payload::OfWireBytes("Lhello");
    absl::Status sent = system().Deliver(std::move(message));
    system().RunUntilIdle();
    return sent;
  }

  SilentRouter router_;
  Ref<Shutter> shutter_;
  uint64_t last_ask_ = 0;
};

TEST_F(ExpiredCallTest, AnExpiredCallLeavesAClosedMailboxThatIsFull) {
  EXPECT_TRUE(Call(absl::Seconds(1)).ok());
  EXPECT_TRUE(Call(absl::Seconds(60)).ok());
  EXPECT_TRUE(IsFull(Call(absl::Seconds(60))));
  EXPECT_THAT(router_.answers, IsEmpty()) << "none has expired";
  system().Advance(absl::Seconds(2));
  EXPECT_EQ(Ledger().waiting, 2) << "as long as nobody needs the room";
  EXPECT_TRUE(IsFull(Call(absl::Seconds(60)))) << "this one makes room, for the next";
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 1);
  ASSERT_THAT(router_.answers, SizeIs(1));
  EXPECT_TRUE(IsExpired(router_.answers[0]));
  EXPECT_TRUE(Call(absl::Seconds(60)).ok());
  EXPECT_EQ(Ledger().waiting, 2);
}

}  // namespace
}  // namespace understudy
