// SpawnLink::kOneWay: the child ends with its parent; the parent is told of the child's end by OnDown alone.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ExitReason kFailed = ExitReason::Failed(absl::DataLossError("disk"));

// Notes exits as "exit …".
void Trap(Script& self) {
  self.context().TrapExits(
      [&self](const ExitEvent& event) { self.Note(absl::StrCat("exit ", event.reason.ToString())); });
}

// Traps and notes all exits, those of the parent as "parent …", and does not end.
void TrapAll(Script& self) {
  const auto note = [&self](const ExitEvent& event) {
    self.Note(absl::StrCat(event.from_parent ? "parent " : "exit ", event.reason.ToString()));
  };
  self.context().TrapExits(note, note);
}

class OneWayLinkTest : public ActorTest {
 protected:
  // A parent that traps, unless told otherwise, and its child.
  void Start(Script::Step at_childs_start = nullptr, bool parent_traps = true) {
    parent_ = system().Spawn<Script>(
        [this, at_childs_start, parent_traps](Script& self) {
          if (parent_traps) Trap(self);
          child_ =
              self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kOneWay}.OnDown([&self](const Down& down) {
                self.Note(absl::StrCat("down ", down.reason.ToString()));
              }),
                                           at_childs_start, nullptr, &childs_notes_);
        },
        nullptr, &notes_);
    system().RunUntilIdle();
  }
  void Step(Ref<Script> script, Script::Step step) {
    Do(script, std::move(step));
    system().RunUntilIdle();
  }
  void Exit(Ref<Script> script, const ExitReason& reason) {
    Step(script, [reason](Script& self) { self.context().Stop(reason); });
  }
  bool IsAlive(Ref<Script> script) { return script[&Script::note].Send("ping").ok(); }

  std::vector<std::string> notes_;
  std::vector<std::string> childs_notes_;
  Ref<Script> parent_;
  Ref<Script> child_;
};

TEST_F(OneWayLinkTest, TheChildsEndIsADownAndNoExit) {
  for (const bool parent_traps : {true, false}) {
    Start(nullptr, parent_traps);
    Exit(child_, kFailed);
    EXPECT_THAT(notes_, ElementsAre(absl::StrCat("down ", kFailed.ToString())));
    EXPECT_TRUE(IsAlive(parent_));
    system().RunUntilIdle();
    notes_.clear();
  }
}

TEST_F(OneWayLinkTest, TheChildEndsWithItsParent) {
  for (const bool is_killed : {true, false}) {
    Start();
    if (is_killed) {
      system().Kill(parent_.pid());
      system().RunUntilIdle();
    } else {
      Exit(parent_, kFailed);
    }
    EXPECT_FALSE(IsAlive(child_));
  }
}

TEST_F(OneWayLinkTest, ATrappingChildHearsOnceOfItsParentsEnd) {
  Start(TrapAll);
  Exit(parent_, kFailed);
  EXPECT_THAT(childs_notes_, ElementsAre(absl::StrCat("parent ", kFailed.ToString())));
  system().Kill(child_.pid());
}

TEST_F(OneWayLinkTest, ANormalEndOfTheParentEndsNoChild) {
  Start();
  Exit(parent_, ExitReason::Normal());
  EXPECT_TRUE(IsAlive(child_));
  system().Kill(child_.pid());
  system().RunUntilIdle();
}

TEST_F(OneWayLinkTest, AnOrdinaryLinkBesidesTellsBothOnce) {
  Start();
  Step(parent_, [this](Script& self) { self.context().Link(child_); });
  Exit(child_, kFailed);
  EXPECT_THAT(notes_,
              ElementsAre(absl::StrCat("exit ", kFailed.ToString()), absl::StrCat("down ", kFailed.ToString())));

  Start(TrapAll);
  Step(parent_, [this](Script& self) { self.context().Link(child_); });
  Exit(parent_, kFailed);
  EXPECT_THAT(childs_notes_, ElementsAre(absl::StrCat("parent ", kFailed.ToString())));
  system().Kill(child_.pid());
}

TEST_F(OneWayLinkTest, UnlinkDoesNotUndoIt) {
  Start();
  Step(parent_, [this](Script& self) { self.context().Unlink(child_); });
  Step(child_, [this](Script& self) { self.context().Unlink(parent_); });
  Exit(parent_, kFailed);
  EXPECT_FALSE(IsAlive(child_));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(OneWayLinkTest, UnlinkDoesNotTakeTheExitBackThatWaits) {
  Start(TrapAll);
  RunTask(child_, [this](Script& self) -> Task<> {
    auto pause = self.context().Sleep(absl::Seconds(1));
    (void)co_await pause;
    self.context().Unlink(parent_);
  });
  Exit(parent_, kFailed);
  EXPECT_THAT(childs_notes_, IsEmpty()) << "it waits for the handler";
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(childs_notes_, ElementsAre(absl::StrCat("parent ", kFailed.ToString())));
  system().Advance(absl::Minutes(1));
  EXPECT_FALSE(IsAlive(child_)) << "its time to stop has passed";
}

TEST(OneWayLinkSeedsTest, WhoeverEndsFirstNobodyIsLeftAndEachEndIsToldOnce) {
  ForEachSeed(100, [](uint64_t seed) {
    TestSystem system(seed);
    int downs = 0;
    Ref<Script> child;
    Ref<Script> parent = system.Spawn<Script>([&](Script& self) {
      child = self.context().Spawn<Script>(
          SpawnOptions{.link = SpawnLink::kOneWay}.OnDown([&downs](const Down&) { ++downs; }));
    });
    Do(parent, [&](Script&) { system.Exit(child.pid(), kFailed); });
    if (seed % 2 == 0) system.Kill(parent.pid());
    system.RunUntilIdle();
    EXPECT_LE(downs, 1);
    EXPECT_FALSE(child.pid().is_null() && seed % 2 == 1);
    if (!child.pid().is_null()) {
      EXPECT_FALSE(child[&Script::note].Send("ping").ok());
    }
  });
}

}  // namespace
}  // namespace understudy
