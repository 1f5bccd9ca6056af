// Tasks that await each other use no stack for it, nor does their destruction. This file is compiled without
// optimisation: there GCC does not turn the transfer from one coroutine to the next into a tail call.
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST_F(TaskStackTest, AHundredThousandSuspendedLevelsAreDestroyedWithTheirActor) {
  int answer = 0;
  const Ref<Script> script = system().Spawn<Script>();
  RunTask(script, [&](Script& self) -> Task<> { answer = co_await AnswerBelow(self, kMany); });
  system().RunUntilIdle();
  system().Kill(script.pid());
  system().RunUntilIdle();
  system().Advance(absl::Seconds(2));
  EXPECT_EQ(answer, 0);
}

class Note {
 public:
  Note(std::vector<int>& ended, int level) : ended_(ended), level_(level) {}
  ~Note() { ended_.push_back(level_); }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

 private:
  std::vector<int>& ended_;
  const int level_;
};

// Level 3 is suspended. Each level has awaited a Task before the one that it awaits.
Task<int> Suspend(Script& self, std::vector<int>& ended, int level) {
  const Note note(ended, level);
  const int one = co_await One();
  if (level < 3) co_return one + co_await Suspend(self, ended, level + 1);
  auto slept = self.context().Sleep(absl::Seconds(1));
  (void)co_await slept;
  co_return one;
}

TEST_F(TaskStackTest, WhatATaskRefersToInItsAwaiterIsThereWhileItIsDestroyed) {
  std::vector<int> ended;
  const Ref<Script> script = system().Spawn<Script>();
  RunTask(script, [&](Script& self) -> Task<> { (void)co_await Suspend(self, ended, 1); });
  system().RunUntilIdle();
  EXPECT_THAT(ended, IsEmpty());
  system().Kill(script.pid());
  system().RunUntilIdle();
  EXPECT_THAT(ended, ElementsAre(3, 2, 1));
}

TEST_F(TaskStackTest, ATaskMayBeMovedWhileItIsAwaited) {
  for (const bool is_killed : {false, true}) {
    std::vector<int> ended;
    int answer = 0;
    std::vector<Task<int>> tasks;
    const Ref<Script> script = system().Spawn<Script>();
    RunTask(script, [&](Script& self) -> Task<> {
      tasks.push_back(Suspend(self, ended, 2));
      answer = co_await tasks[0];
    });
    system().RunUntilIdle();
    const Task<int> moved = std::move(tasks[0]);
    tasks.clear();
    if (is_killed) system().Kill(script.pid());
    system().Advance(absl::Seconds(1));
    EXPECT_THAT(ended, ElementsAre(3, 2));
    EXPECT_EQ(answer, is_killed ? 0 : 2);
  }
}

}  // namespace
}  // namespace understudy
