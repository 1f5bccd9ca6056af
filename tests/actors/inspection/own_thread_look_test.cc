// Looks at actors with threads of their own.
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/tests/actors/inspection/blocker.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ActorInfo Inspect(ActorSystem& system, Pid pid) {
  const absl::optional<ActorInfo> info = InspectActor(system, pid);
  EXPECT_TRUE(info.has_value()) << pid;
  return info.value_or(ActorInfo());
}

TEST(OwnThreadLookTest, AHandlerIsStuckByTheSameRuleAsOnAWorker) {
  absl::Notification begun;
  absl::Notification go_on;
  ActorSystem system;
  const Ref<Blocker> blocker = system.Spawn<Blocker>(SpawnOptions{.thread = SpawnThread::kOwn}, &begun, &go_on);
  // Messages before it, in the same turn perhaps, do not count.
  for (const int message : {0, 0, 1}) blocker[&Blocker::block].Tell(message);
  const MonotonicTime told = Clock::Real().Now();
  begun.WaitForNotification();
  ActorInfo info = Inspect(system, blocker.pid());
  EXPECT_THAT(info.doing, HasSubstr("block"));
  EXPECT_LE(info.doing_for, Clock::Real().Now() - told);
  const absl::Notification never;
  while (info.state != ActorState::kStuck) {
    EXPECT_EQ(info.state, ActorState::kRunning);
    EXPECT_LT(info.doing_for, limits::kNameHandlerAfter);
    (void)never.WaitForNotificationWithTimeout(absl::Milliseconds(10));
    info = Inspect(system, blocker.pid());
  }
  EXPECT_GE(Clock::Real().Now() - told, limits::kNameHandlerAfter);
  EXPECT_GE(info.doing_for, limits::kNameHandlerAfter);
  const std::vector<ActorInfo> top = TopActors(system, 10);
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].pid, blocker.pid());
  EXPECT_EQ(ListActors(system, {.state = ActorState::kStuck}).actors.size(), 1U);
  go_on.Notify();
}

TEST(OwnThreadLookTest, AnIdleOneIsNotTold) {
  absl::Notification begun;
  absl::Notification go_on;
  ActorSystem system;
  const Ref<Blocker> blocker = system.Spawn<Blocker>(SpawnOptions{.thread = SpawnThread::kOwn}, &begun, &go_on);
  ASSERT_TRUE(system.AwaitStart(blocker.pid(), absl::Seconds(60)).ok());
  blocker[&Blocker::block].Tell(0);
  while (Inspect(system, blocker.pid()).state != ActorState::kIdle) {
  }
  EXPECT_THAT(system.executor().OwnThreads(), IsEmpty());
}

}  // namespace
}  // namespace understudy
