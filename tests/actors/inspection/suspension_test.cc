// Actors that are suspended from outside (ActorSystem::Suspend), in virtual time.
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

// Counts of what the actors of a test have done.
struct Done {
  int taken = 0;
  int beats = 0;
  int resumed = 0;
  int stop_requests = 0;
};

// Takes items, beats each minute, and sleeps a second for each nap.
class Desk final : public Actor {
 public:
  Mailbox<"item", int> item{this, {.capacity_messages = 3}};
  Mailbox<"nap", int> nap{this};
  explicit Desk(Done* done) : done_(done) {}
  StartResult Start() override {
    context().TrapStops([this](const StopRequest&) {
      ++done_->stop_requests;
      context().Stop();
    });
    return working_;
  }

 private:
  Task<> Nap(int) {
    auto sleeping = context().Sleep(absl::Seconds(1));
    (void)co_await sleeping;
    ++done_->resumed;
  }
  Done* const done_;
  Behavior working_{"working", On(item, [this](int) { ++done_->taken; }), On(nap, &Desk::Nap),
                    Every(absl::Minutes(1), [this] { ++done_->beats; })};
};

// Takes one item after another, in the process style.
class Clerk final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  explicit Clerk(Done* done) : done_(done) {}
  StartResult Start() override { return Work(); }

 private:
  Task<> Work() {
    for (;;) {
      auto next = Receive(On(item, [this](int) { ++done_->taken; }));
      co_await next;
    }
  }
  Done* const done_;
};

class SuspensionTest : public testing::Test {
 protected:
  SuspensionTest() {
    desk_ = system_.Spawn<Desk>(&done_);
    system_.RunUntilIdle();
  }
  void Suspend(absl::Duration time) {
    system_.Suspend(desk_.pid(), time);
    system_.RunUntilIdle();
  }
  absl::optional<ActorInfo> Look() { return InspectActor(system_, desk_.pid()); }

  Done done_;
  TestSystem system_;
  Ref<Desk> desk_;
};

TEST_F(SuspensionTest, ItsMailWaitsUntilTheTimeIsOver) {
  Suspend(absl::Seconds(30));
  desk_[&Desk::item].Tell(1);
  desk_[&Desk::item].Tell(2);
  system_.Advance(absl::Seconds(29));
  EXPECT_EQ(done_.taken, 0);
  system_.Advance(absl::Seconds(1));
  EXPECT_EQ(done_.taken, 2);
  EXPECT_EQ(Look()->suspended_for, absl::ZeroDuration());
}

TEST_F(SuspensionTest, ItAcceptsMessagesUntilAMailboxIsFull) {
  Suspend(absl::Seconds(30));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(desk_[&Desk::item].Send(i).ok());
  EXPECT_FALSE(desk_[&Desk::item].Send(3).ok());
  system_.Resume(desk_.pid());
  system_.RunUntilIdle();
  EXPECT_EQ(done_.taken, 3);
}

TEST_F(SuspensionTest, TimersAndHandlersThatHaveBegunGoOn) {
  desk_[&Desk::nap].Tell(0);
  system_.RunUntilIdle();
  Suspend(absl::Minutes(2));
  system_.Advance(absl::Seconds(61));
  EXPECT_EQ(done_.resumed, 1);
  EXPECT_EQ(done_.beats, 1);
}

TEST_F(SuspensionTest, ResumeEndsItAndALaterCallCountsFromItsOwnTime) {
  Suspend(absl::Seconds(30));
  desk_[&Desk::item].Tell(1);
  system_.Advance(absl::Seconds(20));
  Suspend(absl::Seconds(30));
  system_.Advance(absl::Seconds(29));
  EXPECT_EQ(done_.taken, 0);
  system_.Resume(desk_.pid());
  system_.Resume(desk_.pid());
  system_.RunUntilIdle();
  EXPECT_EQ(done_.taken, 1);
  Suspend(absl::Minutes(1));
  Suspend(absl::Seconds(1));
  desk_[&Desk::item].Tell(2);
  system_.Advance(absl::Seconds(1));
  EXPECT_EQ(done_.taken, 2);
}

TEST_F(SuspensionTest, ItCanBeStoppedAndKilled) {
  Suspend(absl::Hours(1));
  system_.RequestStop(desk_.pid());
  system_.RunUntilIdle();
  EXPECT_EQ(done_.stop_requests, 1);
  EXPECT_FALSE(Look().has_value());

  desk_ = system_.Spawn<Desk>(&done_);
  system_.RunUntilIdle();
  Suspend(absl::Hours(1));
  system_.Kill(desk_.pid());
  system_.RunUntilIdle();
  EXPECT_FALSE(Look().has_value());
  system_.Suspend(desk_.pid(), absl::Hours(1));  // has ended
  system_.Advance(absl::Hours(2));
}

TEST_F(SuspensionTest, InspectionTellsItWithItsTime) {
  desk_[&Desk::item].Tell(1);
  Suspend(absl::Seconds(30));
  system_.Advance(absl::Seconds(10));
  const absl::optional<ActorInfo> info = Look();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->suspended_for, absl::Seconds(20));
  for (const MailboxInfo& mailbox : info->mailboxes) EXPECT_EQ(ClosedByName(mailbox.closed_by), "suspension");
  system_.Resume(desk_.pid());
  system_.RunUntilIdle();
  const absl::optional<ActorInfo> resumed = Look();
  ASSERT_TRUE(resumed.has_value());
  for (const MailboxInfo& mailbox : resumed->mailboxes) EXPECT_EQ(ClosedByName(mailbox.closed_by), "open");
}

TEST_F(SuspensionTest, AnEndlessOneIsShortened) {
  Suspend(absl::InfiniteDuration());
  EXPECT_EQ(Look()->suspended_for, limits::kSuspensionMax);
}

TEST_F(SuspensionTest, AnActorInTheProcessStyleTakesNothing) {
  const Ref<Clerk> clerk = system_.Spawn<Clerk>(&done_);
  system_.RunUntilIdle();
  system_.Suspend(clerk.pid(), absl::Seconds(30));
  system_.RunUntilIdle();
  clerk[&Clerk::item].Tell(1);
  system_.Advance(absl::Seconds(29));
  EXPECT_EQ(done_.taken, 0);
  system_.Advance(absl::Seconds(1));
  EXPECT_EQ(done_.taken, 1);
}

}  // namespace
}  // namespace understudy
