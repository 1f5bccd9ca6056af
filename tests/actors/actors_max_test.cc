// ActorSystemOptions::actors_max: a spawn beyond it is refused.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

// Spawns two of its kind.
class Forking final : public Actor {
 public:
  Mailbox<"in", int> in{this};
  StartResult Start() override {
    for (int i = 0; i < 2; ++i) context().Spawn<Forking>(SpawnOptions{.link = SpawnLink::kUnlinked});
    return open_;
  }

 private:
  Behavior open_{"open", On(in, [](int) {})};
};

TEST(ActorsMaxTest, ASpawnBeyondItFailsItsStartWithResourceExhausted) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.executor = &executor, .log = &log, .actors_max = 100});
  std::vector<std::string> notes;
  system.Spawn<Script>([&](Script& self) {
    const auto spawn = [&] {
      const auto note = [&](const SpawnOutcome& outcome) { notes.push_back(outcome.reason.ToString()); };
      const auto note_down = [&](const Down& down) { notes.push_back("down " + down.reason.ToString()); };
      return self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kOneWay}.OnOutcome(note).OnDown(note_down));
    };
    for (int i = 0; i < 99; ++i) spawn();
    (void)self.context().Monitor(spawn(), [&](const Down& down) { notes.push_back(down.reason.ToString()); }).Keep();
  });
  executor.RunUntilIdle();
  EXPECT_EQ(system.live_actors(), 100);
  const std::string reason = "Failed(RESOURCE_EXHAUSTED: the system has 100 actors, its actors_max)";
  EXPECT_EQ(std::count(notes.begin(), notes.end(), "Normal"), 99) << "the outcome of those that started";
  notes.erase(std::remove(notes.begin(), notes.end(), "Normal"), notes.end());
  EXPECT_THAT(notes, testing::UnorderedElementsAre(reason, reason, "down " + reason));
  const Pid one_more = system.Spawn<Script>([](Script&) {}).pid();
  EXPECT_THAT(std::string(system.AwaitStart(one_more, absl::Seconds(1)).message()), testing::HasSubstr(reason));
}

// However many one turn spawns: a Pid has bits for 2^24 cells, and those that are refused take none.
TEST(ActorsMaxTest, SpawnsBeyondItInOneTurnTakeNoMemoryAndAnswerWithTheReason) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.executor = &executor, .log = &log, .actors_max = 100});
  std::vector<std::string> notes;
  system.Spawn<Script>([&](Script& self) {
    for (int i = 0; i < 10'000; ++i) self.context().Spawn<Forking>(SpawnOptions{.link = SpawnLink::kUnlinked});
    const Ref<Script> refused = self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kUnlinked});
    EXPECT_EQ(ExitReasonOf(refused[&Script::note].Send("text"))->status().code(), absl::StatusCode::kResourceExhausted);
    RunTask(Ref<Script>(self.context().Self()), [&notes, refused](Script&) -> Task<> {
      auto asked = refused[&Script::ask].Ask(1, absl::Seconds(1));
      notes.push_back((co_await asked).status().ToString());
    });
  });
  const Ref<Script> of_plain_thread = system.Spawn<Script>();
  executor.RunUntilIdle();
  EXPECT_EQ(system.live_actors(), 100);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("the system has 100 actors, its actors_max")));
  const Ref<Script> refused = system.Spawn<Script>();
  EXPECT_EQ(system.AwaitEnd(refused.pid(), absl::Seconds(1))->status().code(), absl::StatusCode::kResourceExhausted);
  system.Kill(of_plain_thread.pid());
  executor.RunUntilIdle();
  const Ref<Script> next = system.Spawn<Script>();
  executor.RunUntilIdle();
  EXPECT_EQ(system.live_actors(), 100);
  EXPECT_LT(next.pid().cell(), 256U) << "no more memory than 100 actors take";
}

TEST(ActorsMaxTest, ASpawnBeyondItEndsALinkedParentThatDoesNotTrap) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.executor = &executor, .log = &log, .actors_max = 1});
  system.Spawn<Script>([](Script& self) { self.context().Spawn<Script>(); });
  executor.RunUntilIdle();
  EXPECT_EQ(system.live_actors(), 0);
}

TEST(ActorsMaxTest, ActorsThatSpawnWithoutEndStayBelowIt) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.executor = &executor, .log = &log, .actors_max = 100});
  system.Spawn<Forking>();
  executor.RunUntilIdle(/*steps_max=*/100'000);
  EXPECT_LE(system.live_actors(), 100);
  EXPECT_GT(system.live_actors(), 10);
}

}  // namespace
}  // namespace understudy
