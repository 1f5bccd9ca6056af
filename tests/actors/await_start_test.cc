// ActorSystem::AwaitStart.
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// Starts as it is told to.
class Starter final : public Actor {
 public:
  enum class How { kAtOnce, kLater, kFails, kDeclines };
  Mailbox<"finish", int> finish{this};
  explicit Starter(How how) : how_(how) {}

  StartResult Start() override {
    switch (how_) {
      case How::kAtOnce:
        return running_;
      case How::kLater:
        return StartResult::Starting(running_);
      case How::kFails:
        return absl::DataLossError("no journal");
      case How::kDeclines:
        return StartResult::Ignore();
    }
  }

 private:
  void Finish(int) { context().FinishStart(); }
  How how_;
  Behavior running_{"running", On(finish, &Starter::Finish)};
};

using How = Starter::How;

// Spawns children whose starts fail.
class Parent final : public Actor {
 public:
  Mailbox<"spawn", size_t> spawn{this};
  Mailbox<"last", Call<int, Pid>> last{this};
  StartResult Start() override { return running_; }

 private:
  void Spawn(size_t children) {
    for (size_t i = 0; i < children; ++i) {
      last_ = context().Spawn<Starter>(SpawnOptions{.link = SpawnLink::kUnlinked}, How::kFails).pid();
    }
  }
  Pid last_;
  Behavior running_{"running", On(spawn, &Parent::Spawn), On(last, [this](int) { return last_; })};
};

class AwaitStartTest : public ActorTest {};

TEST_F(AwaitStartTest, ReturnsOkWhenTheStartIsOverAndExpiredBefore) {
  const Ref<Starter> starter = system().Spawn<Starter>(How::kLater);
  const absl::Status starting = system().AwaitStart(starter.pid(), absl::Seconds(3));
  EXPECT_TRUE(IsExpired(starting)) << starting;
  EXPECT_THAT(std::string(starting.message()), HasSubstr("has not started within 3s"));
  starter[&Starter::finish].Tell(0);
  EXPECT_EQ(system().AwaitStart(starter.pid(), absl::Seconds(3)), absl::OkStatus());
  EXPECT_EQ(system().AwaitStart(system().Spawn<Starter>(How::kAtOnce).pid(), absl::Seconds(3)), absl::OkStatus());
}

TEST_F(AwaitStartTest, TellsWhyAStartFailedAlsoWhenItFailedBefore) {
  const Ref<Starter> failing = system().Spawn<Starter>(How::kFails);
  for (const char* when : {"while it starts", "afterwards"}) {
    const absl::Status failed = system().AwaitStart(failing.pid(), absl::Seconds(3));
    EXPECT_TRUE(IsCalleeExited(failed)) << when << ": " << failed;
    EXPECT_EQ(ExitReasonOf(failed), ExitReason::Failed(absl::DataLossError("no journal"))) << when;
    system().RunUntilIdle();
  }
  // Not for ever.
  for (size_t i = 0; i < limits::kFailedStartsKeptMax; ++i) system().Spawn<Starter>(How::kFails);
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoProcess(system().AwaitStart(failing.pid(), absl::Seconds(3))));
}

TEST_F(AwaitStartTest, TellsWhyTheStartOfAChildFailedToo) {
  const Ref<Parent> parent = system().Spawn<Parent>();
  const auto fail = [&](size_t times) {
    parent[&Parent::spawn].Tell(times);
    system().RunUntilIdle();
    return *Ask(parent[&Parent::last], 0);
  };
  const Ref<Starter> root = system().Spawn<Starter>(How::kFails);
  const Pid child = fail(1);
  fail(limits::kFailedStartsKeptMax - 1);
  for (const Pid failed : {root.pid(), child}) {
    const absl::Status status = system().AwaitStart(failed, absl::Seconds(3));
    EXPECT_TRUE(IsCalleeExited(status)) << status;
    EXPECT_EQ(ExitReasonOf(status), ExitReason::Failed(absl::DataLossError("no journal")));
  }
  // Not for ever, and apart from actors without a parent.
  fail(1);
  EXPECT_TRUE(IsNoProcess(system().AwaitStart(child, absl::Seconds(3))));
  EXPECT_TRUE(IsCalleeExited(system().AwaitStart(root.pid(), absl::Seconds(3))));
}

TEST_F(AwaitStartTest, AnActorThatDeclinesOrHasEndedIsNoProcess) {
  const Ref<Starter> declines = system().Spawn<Starter>(How::kDeclines);
  EXPECT_TRUE(IsNoProcess(system().AwaitStart(declines.pid(), absl::Seconds(3))));
  const Ref<Starter> ended = system().Spawn<Starter>(How::kAtOnce);
  ASSERT_TRUE(system().AwaitStart(ended.pid(), absl::Seconds(3)).ok());
  system().Kill(ended.pid());
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoProcess(system().AwaitStart(ended.pid(), absl::Seconds(3))));
}

TEST_F(AwaitStartTest, APidOfAnotherNodeIsRefused) {
  const Pid far(*system().InternPeer("far", {7}), 1, 1);
  EXPECT_EQ(system().AwaitStart(far, absl::Seconds(3)).code(), absl::StatusCode::kInvalidArgument);
}

TEST(AwaitStartThreadsTest, AThreadThatWaitsIsWokenByTheStart) {
  for (int round = 0; round < 200; ++round) {
    ActorSystem system;
    const Ref<Starter> starter = system.Spawn<Starter>(How::kLater);
    absl::Notification waiting;
    std::thread waiter([&] {
      waiting.Notify();
      EXPECT_EQ(system.AwaitStart(starter.pid(), absl::InfiniteDuration()), absl::OkStatus());
    });
    waiting.WaitForNotification();
    starter[&Starter::finish].Tell(0);
    waiter.join();
  }
}

}  // namespace
}  // namespace understudy
