// Tasks that await each other take no stack for it. This file is built without optimisation, where GCC makes no tail
// call of a transfer from one coroutine to the next.
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

constexpr int kMany = 100'000;

using TaskStackTest = ActorTest;

Task<int> One() { co_return 1; }

TEST_F(TaskStackTest, ALoopMayAwaitAHundredThousandTasksThatDoNotSuspend) {
  int sum = 0;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    for (int i = 0; i < kMany; ++i) sum += co_await One();
  });
  system().RunUntilIdle();
  EXPECT_EQ(sum, kMany);
}

Task<int> Depth(int levels) {
  if (levels == 0) co_return 0;
  co_return 1 + co_await Depth(levels - 1);
}

TEST_F(TaskStackTest, ATaskMayRecurseAHundredThousandLevelsDeep) {
  int depth = 0;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> { depth = co_await Depth(kMany); });
  system().RunUntilIdle();
  EXPECT_EQ(depth, kMany);
}

Task<int> AnswerBelow(Script& self, int levels) {
  if (levels > 0) co_return co_await AnswerBelow(self, levels - 1);
  auto slept = self.context().Sleep(absl::Seconds(1));
  (void)co_await slept;
  co_return 7;
}

TEST_F(TaskStackTest, TheInnermostOfAHundredThousandLevelsMaySuspend) {
  int answer = 0;
  RunTask(system().Spawn<Script>(), [&](Script& self) -> Task<> { answer = co_await AnswerBelow(self, kMany); });
  system().RunUntilIdle();
  EXPECT_EQ(answer, 0);
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(answer, 7);
}

}  // namespace
}  // namespace understudy
