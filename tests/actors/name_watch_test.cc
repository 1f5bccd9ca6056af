// Watches of names: what a watcher is told, and how a watch ends (context.h).
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Notes each change, behind `prefix`.
absl::Status WatchBook(Script& self, std::string prefix) {
  return self.context().WatchName("book", [&self, prefix = std::move(prefix)](const NameChange& change) {
    self.Note(absl::StrCat(prefix, change.name, change.pid.is_null() ? " free" : " taken"));
  });
}

class NameWatchTest : public ActorTest {
 protected:
  // The owner of the name that is watched.
  Ref<Script> NewBook() { return system().Spawn<Script>(SpawnOptions{.registered_as = "book"}); }

  std::vector<std::string> notes_;
  Ref<Script> script_ = system().Spawn<Script>(nullptr, nullptr, &notes_);
};

TEST_F(NameWatchTest, AWatchTellsEachOwnerAsAnEvent) {
  Do(script_, [](Script& self) { EXPECT_TRUE(WatchBook(self, "").ok()); });
  Ref<Script> book = NewBook();
  system().RunUntilIdle();
  system().Kill(book.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("book taken", "book free"));
}

TEST_F(NameWatchTest, WatchingANameAgainTakesThePlaceOfTheEarlierWatch) {
  RunTask(script_, [](Script& self) -> Task<> {
    EXPECT_TRUE(WatchBook(self, "first: ").ok());
    auto pause = self.context().Sleep(absl::Seconds(1));
    (void)co_await pause;  // two changes wait
    EXPECT_TRUE(WatchBook(self, "second: ").ok());
  });
  system().RunUntilIdle();
  system().Kill(NewBook().pid());
  system().RunUntilIdle();
  const Ref<Script> book = NewBook();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(notes_, ElementsAre("second: book taken"));
  system().Kill(book.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("second: book taken", "second: book free"));
}

TEST_F(NameWatchTest, NoChangeOfANameIsToldAfterUnwatchName) {
  RunTask(script_, [](Script& self) -> Task<> {
    self.context().UnwatchName("book");  // which is not watched
    EXPECT_TRUE(WatchBook(self, "").ok());
    auto pause = self.context().Sleep(absl::Seconds(1));
    (void)co_await pause;
    self.context().UnwatchName("book");
  });
  system().RunUntilIdle();
  const Ref<Script> book = NewBook();
  system().Advance(absl::Seconds(1));
  system().Kill(book.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(NameWatchTest, WhatIsNoNameIsNotWatched) {
  Do(script_, [](Script& self) {
    for (const std::string& name : {std::string(), std::string(limits::kNameBytesMax + 1, 'x'), std::string("a\n")}) {
      EXPECT_EQ(self.context().WatchName(name, [&self] { self.Note("told"); }), ValidateName(name));
    }
  });
  (void)NewBook();
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(NameWatchTest, AnActorWatchesABoundedNumberOfNames) {
  Do(script_, [](Script& self) {
    for (size_t i = 0; i < limits::kNamesWatchedPerActorMax; ++i) {
      ASSERT_TRUE(self.context().WatchName(absl::StrCat(i)).ok());
    }
    const absl::Status full = self.context().WatchName("book");
    EXPECT_TRUE(IsFull(full)) << full;
    EXPECT_TRUE(self.context().WatchName("0").ok()) << "it is watched already";
    self.context().UnwatchName("0");
    EXPECT_TRUE(self.context().WatchName("book").ok());
  });
  system().RunUntilIdle();
}

TEST_F(NameWatchTest, HoweverOftenANameChangesAWatcherThatIsBusyIsToldOfTheFirstAndTheLastChangeEachInItsPlace) {
  RunTask(script_, [](Script& self) -> Task<> {
    EXPECT_TRUE(WatchBook(self, "").ok());
    auto pause = self.context().Sleep(absl::Seconds(1));
    (void)co_await pause;
  });
  system().RunUntilIdle();
  constexpr int kTimes = 100;
  for (int i = 1; i <= kTimes; ++i) {
    const Ref<Script> book = NewBook();
    system().RunUntilIdle();
    if (i == 1 || i == kTimes) script_[&Script::note].Tell(absl::StrCat("note ", i));
    system().Kill(book.pid());
    system().RunUntilIdle();
  }
  EXPECT_THAT(notes_, IsEmpty());
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(notes_, ElementsAre("book taken", "note 1", "note 100", "book free"));
}

}  // namespace
}  // namespace understudy
