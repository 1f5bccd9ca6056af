// The start timeout bounds a start whatever the constructor or Start does, and whoever has spawned the actor (semantics
// 5.3, 5.13).
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

// What an actor does in its constructor, in Start, with its first message and in OnExit.
struct Life {
  std::function<void()> construct = [] {};
  std::function<void()> start = [] {};
  std::function<void()> handle = [] {};
  std::function<void()> exit = [] {};
  bool awaits = false;
  bool fails = false;
  bool never = false;  // its Start awaits what does not come in time
};

class Late final : public Actor {
 public:
  Mailbox<"work", int> work{this};
  Mailbox<"never", Call<int, int>> never{this};
  explicit Late(Life life) : life_(std::move(life)) { life_.construct(); }
  StartResult Start() override {
    if (life_.awaits) return Await();
    life_.start();
    if (life_.fails) return absl::InternalError("no disk");
    return working_;
  }
  void OnExit(const ExitReason& /*reason*/) override { life_.exit(); }

 private:
  Task<StartResult> Await() {
    auto asked = context().ChannelTo(never).Ask(1, absl::Milliseconds(life_.never ? 60'000 : 200));
    (void)co_await asked;
    life_.start();
    co_return working_;
  }
  const Life life_;
  Behavior working_{"working", On(work, [this](int) { life_.handle(); })};
};

class StartTimeoutTest : public ActorTest {
 protected:
  // Spawns, from a plain thread, an actor with a start timeout of a second, and sends it a message.
  void Spawn(Life life) {
    begin_ = system().Now();
    late_ = system().Spawn<Late>(SpawnOptions{.registered_as = life.awaits ? "" : "late",  //
                                              .start_within = absl::Seconds(1)},
                                 std::move(life));
    late_[&Late::work].Tell(1);
  }
  // How it ends, and when.
  ExitReason End() {
    const ExitReason reason = EndOf(late_.pid());
    took_ = system().Now() - begin_;
    return reason;
  }
  std::function<void()> HoldFor(absl::Duration time) {
    return [this, time] { system().seeded_executor().HoldHere(time); };
  }
  Ref<Late> late_;
  MonotonicTime begin_;
  absl::Duration took_;
};

TEST_F(StartTimeoutTest, BoundsAConstructorThatDoesNotReturn) {
  std::vector<ExitReason> ends;
  system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(1099),
                                   [&] { EXPECT_EQ(system().fenced_actors(), 0); });
  system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(1101), [&] {
    EXPECT_EQ(system().fenced_actors(), 1);
    EXPECT_TRUE(IsNoProcess(late_[&Late::work].Send(1)));
  });
  Spawn({.construct = HoldFor(absl::Hours(1))});
  EXPECT_EQ(End(), ExitReason::StartTimeoutHandlerRunning());
  system().RunUntilIdle();
  EXPECT_EQ(system().fenced_actors(), 0);
}

TEST_F(StartTimeoutTest, BoundsAStartThatDoesNotReturnAndFreesItsName) {
  Spawn({.start = HoldFor(absl::Hours(1))});
  system().seeded_executor().RunAt(begin_ + absl::Milliseconds(500),
                                   [&] { EXPECT_TRUE(system().registry().Find("late").has_value()); });
  system().seeded_executor().RunAt(begin_ + absl::Milliseconds(1101), [&] {
    EXPECT_EQ(system().fenced_actors(), 1);
    EXPECT_FALSE(system().registry().Find("late").has_value());
  });
  EXPECT_EQ(End(), ExitReason::StartTimeoutHandlerRunning());
}

TEST_F(StartTimeoutTest, BoundsAStartThatHasAwaitedAndDoesNotReturn) {
  Spawn({.start = HoldFor(absl::Hours(1)), .awaits = true});
  EXPECT_EQ(End(), ExitReason::StartTimeoutHandlerRunning());
}

TEST_F(StartTimeoutTest, TheConstructorsTimeCounts) {
  Spawn({.construct = HoldFor(absl::Milliseconds(900)), .awaits = true});
  EXPECT_EQ(End(), ExitReason::StartTimeout());
  EXPECT_EQ(took_, absl::Seconds(1));
}

TEST_F(StartTimeoutTest, DoesNotEndTheHandlerOfAnActorThatStartedInTime) {
  Spawn({.start = HoldFor(absl::Milliseconds(900)), .handle = HoldFor(absl::Minutes(1))});
  system().Advance(absl::Minutes(2));
  EXPECT_TRUE(late_[&Late::work].Send(1).ok());
}

// The actor started after its timeout, but before it was fenced.
TEST_F(StartTimeoutTest, DoesNotEndTheHandlerOfAnActorThatStartedLateButBeforeTheFence) {
  Spawn({.start = HoldFor(absl::Milliseconds(1050)), .handle = HoldFor(absl::Minutes(1))});
  system().Advance(absl::Minutes(2));
  EXPECT_TRUE(late_[&Late::work].Send(1).ok());
}

// OnExit gets the reason, and may take as long as it needs.
TEST_F(StartTimeoutTest, DoesNotCutShortTheEndOfAnActorWhoseStartFailed) {
  Spawn({.exit = HoldFor(absl::Seconds(5)), .fails = true});
  EXPECT_EQ(End(), ExitReason::Failed(absl::InternalError("no disk")));
  EXPECT_EQ(took_, absl::Seconds(5));
}

// An actor that has missed its start timeout may not take as long as it needs in OnExit.
TEST_F(StartTimeoutTest, BoundsTheEndOfOneThatIsOverdue) {
  Spawn({.exit = HoldFor(absl::Hours(1)), .awaits = true, .never = true});
  EXPECT_EQ(End(), ExitReason::StartTimeoutHandlerRunning());
}

TEST_F(StartTimeoutTest, LeavesNoTimerOnceTheActorHasStartedLate) {
  Spawn({.start = HoldFor(absl::Milliseconds(1050))});
  system().Advance(absl::Seconds(2));
  EXPECT_EQ(system().seeded_executor().UntilNextTimer(), absl::InfiniteDuration());
}

TEST(StartTimeoutThreadsTest, BoundsConstructorsAndStartsThatDoNotReturn) {
  for (const bool in_constructor : {false, true}) {
    absl::Notification may_return;
    const auto wait = [&] { may_return.WaitForNotification(); };
    ActorSystem system({.threads = {.threads = 1}, .log = &LogSink::Null()});
    const Ref<Late> late = system.Spawn<Late>(SpawnOptions{.start_within = absl::Milliseconds(20)},
                                              in_constructor ? Life{.construct = wait} : Life{.start = wait});
    const absl::StatusOr<ExitReason> end = system.AwaitEnd(late.pid(), absl::Seconds(30));
    EXPECT_TRUE(end.ok() && *end == ExitReason::StartTimeoutHandlerRunning()) << end.status();
    may_return.Notify();
    EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  }
}

}  // namespace
}  // namespace understudy
