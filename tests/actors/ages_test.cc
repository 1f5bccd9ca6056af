// How long messages have waited, as it is told from outside.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/waiting_mark.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

using internal::Envelope;
using internal::WaitingMark;

constexpr absl::Duration kExact = absl::Milliseconds(100);

void ExpectAge(absl::Duration age, absl::Duration expected) {
  EXPECT_GE(age, expected - kExact);
  EXPECT_LE(age, expected + kExact);
}

MonotonicTime At(absl::Duration time) { return MonotonicTime() + time; }

TEST(WaitingMarkTest, AMarkKeepsTheTimeAndTheEnvelope) {
  for (const absl::Duration now : {absl::Milliseconds(70), absl::Seconds(3), absl::Hours(50), absl::Hours(24 * 400)}) {
    for (const absl::Duration waited :
         {absl::ZeroDuration(), absl::Milliseconds(900), absl::Hours(1), absl::Hours(9)}) {
      if (waited > now) continue;
      Envelope envelope;
      envelope.arriving = 0x7fff'1234'5678;
      envelope.sender_life = 99;
      envelope.sender_cell = 0xdcfedcba;
      EXPECT_FALSE(WaitingMark::IsOn(envelope));
      WaitingMark::Put(envelope, At(now - waited));
      WaitingMark::Put(envelope, At(now));  // the first one counts
      EXPECT_TRUE(WaitingMark::IsOn(envelope));
      EXPECT_EQ(envelope.sender().cell(), 0xdcfedcbaU) << "with the generation of its node";
      EXPECT_EQ(reinterpret_cast<uintptr_t>(envelope.gates()), 0x7fff'1234'5678U);
      ExpectAge(At(now) - WaitingMark::TimeOf(envelope, At(now)), waited);
      ExpectAge(At(now) - WaitingMark::TakeOff(envelope, At(now)), waited);
      EXPECT_EQ(envelope.arriving, 0x7fff'1234'5678U);
      EXPECT_EQ(envelope.sender_cell, 0xdcfedcbaU);
    }
  }
  Envelope ahead;
  WaitingMark::Put(ahead, At(absl::Seconds(61)));
  EXPECT_EQ(WaitingMark::TimeOf(ahead, At(absl::Seconds(60))), At(absl::Seconds(60))) << "its sender's clock was ahead";
}

// Handles `late` only once it is told to.
class Shop final : public Actor {
 public:
  Mailbox<"late", int> late{this};
  Mailbox<"other", int> other{this};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return shut_; }

 private:
  Behavior shut_{"shut", On(open, [this](int) { return open_; }), On(other, [](int) {})};
  Behavior open_{"open", On(late, [](int) {}), On(other, [](int) {})};
};

class AgesTest : public ::testing::Test {
 protected:
  ActorInfo Look(Pid pid) { return InspectActor(system_, pid).value_or(ActorInfo()); }

  SeededExecutor executor_{1};
  ActorSystem system_{{.name = "shop",
                       .executor = &executor_,
                       .seed = 1,
                       .log = &LogSink::Null(),
                       .closed_mail_limit = absl::InfiniteDuration()}};
};

TEST_F(AgesTest, AMessageThatDoesNotWakeItsActorAgesFromItsSend) {
  const Ref<Shop> shop = system_.Spawn<Shop>();
  executor_.RunUntilIdle();
  EXPECT_EQ(Look(shop.pid()).oldest_age, absl::ZeroDuration());
  shop[&Shop::late].Tell(1);
  executor_.Advance(absl::Seconds(10));
  shop[&Shop::late].Tell(2);
  executor_.Advance(absl::Seconds(5));
  const int64_t steps = executor_.steps();
  const ActorInfo info = Look(shop.pid());
  EXPECT_EQ(executor_.steps(), steps) << "the look gives the actor no turn";
  EXPECT_EQ(info.state, ActorState::kIdle);
  EXPECT_EQ(info.waiting, 2);
  ExpectAge(info.oldest_age, absl::Seconds(15));
  EXPECT_EQ(info.mailboxes[0].oldest_age, info.oldest_age);
  EXPECT_EQ(info.mailboxes[1].oldest_age, absl::ZeroDuration());
  ExpectAge(OldestMessageAge(system_), absl::Seconds(15));
}

TEST_F(AgesTest, ItKeepsItsAgeWhenItIsSorted) {
  const Ref<Shop> shop = system_.Spawn<Shop>();
  executor_.RunUntilIdle();
  shop[&Shop::late].Tell(1);
  executor_.Advance(absl::Seconds(10));
  shop[&Shop::other].Tell(2);
  executor_.RunUntilIdle();
  executor_.Advance(absl::Seconds(5));
  ExpectAge(Look(shop.pid()).mailboxes[0].oldest_age, absl::Seconds(15));
  shop[&Shop::late].Tell(3);
  executor_.Advance(absl::Seconds(1));
  ExpectAge(Look(shop.pid()).mailboxes[0].oldest_age, absl::Seconds(16));
  shop[&Shop::open].Tell(4);
  executor_.RunUntilIdle();
  EXPECT_EQ(Look(shop.pid()).oldest_age, absl::ZeroDuration());
  EXPECT_EQ(OldestMessageAge(system_), absl::ZeroDuration());
}

TEST_F(AgesTest, TheOldestComesFirst) {
  std::vector<Pid> pids;
  for (int i = 0; i < 3; ++i) {
    const Ref<Shop> shop = system_.Spawn<Shop>();
    executor_.RunUntilIdle();
    for (int k = 0; k <= i; ++k) shop[&Shop::late].Tell(k);
    executor_.Advance(absl::Seconds(10));
    pids.push_back(shop.pid());
  }
  (void)system_.Spawn<Shop>();
  executor_.RunUntilIdle();
  std::vector<Pid> by_age;
  for (const ActorInfo& info : TopActors(system_, 10, TopBy::kAge)) by_age.push_back(info.pid);
  EXPECT_EQ(by_age, pids);
  EXPECT_EQ(TopActors(system_, 1).front().pid, pids.back()) << "it has the most";
}

TEST_F(AgesTest, AMessageSentBeforeTheStartAgesFromTheSpawn) {
  executor_.Advance(absl::Hours(1));
  const Ref<Shop> shop = system_.Spawn<Shop>();
  shop[&Shop::late].Tell(1);  // before it has started
  executor_.RunUntilIdle();
  executor_.Advance(absl::Seconds(2));
  ExpectAge(Look(shop.pid()).oldest_age, absl::Seconds(2));
}

// Blocks its thread in each handler until the test goes on.
class Blocker final : public Actor {
 public:
  Mailbox<"block", int> block{this};
  Mailbox<"wait", int> wait{this};
  Blocker(absl::Notification* begun, absl::Notification* go_on) : begun_(begun), go_on_(go_on) {}
  StartResult Start() override { return blocking_; }

 private:
  void Block(int) {
    begun_->Notify();
    go_on_->WaitForNotification();
  }
  absl::Notification* const begun_;
  absl::Notification* const go_on_;
  Behavior blocking_{"blocking", On(block, &Blocker::Block), On(wait, [](int) {})};
};

TEST(AgesOfThreadsTest, AMessageSentDuringAHandlerAgesFromTheHandlersBegin) {
  absl::Notification begun;
  absl::Notification go_on;
  ActorSystem system({.threads = {.threads = 1}, .log = &LogSink::Null()});
  const Ref<Blocker> blocker = system.Spawn<Blocker>(&begun, &go_on);
  blocker[&Blocker::block].Tell(1);
  begun.WaitForNotification();
  blocker[&Blocker::wait].Tell(2);
  ActorInfo info;
  const MonotonicTime deadline = Clock::Real().Now() + absl::Seconds(60);
  do {
    info = InspectActor(system, blocker.pid()).value_or(ActorInfo());
  } while (info.oldest_age < absl::Milliseconds(50) && Clock::Real().Now() < deadline);
  EXPECT_GE(info.oldest_age, absl::Milliseconds(50));
  EXPECT_LT(info.oldest_age, absl::Seconds(60));
  ASSERT_EQ(info.mailboxes.size(), 2U);
  EXPECT_EQ(info.mailboxes[0].oldest_age, absl::ZeroDuration());
  EXPECT_EQ(info.mailboxes[1].oldest_age, info.oldest_age);
  go_on.Notify();
}

TEST(AgesOfThreadsTest, TheTimeOfAPoolIsNotOldAlthoughItSlept) {
  ThreadPool pool({.threads = 1});
  const MonotonicTime deadline = Clock::Real().Now() + absl::Seconds(60);
  // The watchdog falls asleep soon, as no actor runs.
  for (int look = 0; look < 50; ++look) {
    const MonotonicTime now = Clock::Real().Now();
    MonotonicTime coarse = pool.CoarseNow();
    while (coarse < now && Clock::Real().Now() < deadline) coarse = pool.CoarseNow();
    EXPECT_GE(coarse, now);
  }
}

}  // namespace
}  // namespace understudy
