// AskTable without an actor: its slots, deadlines and waiters.
#include "understudy/actors/internal/asks/ask_table.h"

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;

constexpr Pid kCallee(1, 2, 3);

MonotonicTime At(int64_t seconds) { return MonotonicTime::FromNanos(seconds * 1'000'000'000); }
Waiter Somebody() { return {.handle = std::noop_coroutine()}; }
Answer Good(int value = 1) { return {.payload = Payload::Of(value)}; }
Answer Bad() { return {.status = absl::DataLossError("bad")}; }

TEST(AskTableTest, AnEntryLivesFromAddToTake) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  EXPECT_NE(id, 0U);
  EXPECT_TRUE(table.Has(id));
  EXPECT_EQ(table.CalleeOf(id), kCallee);
  EXPECT_FALSE(table.IsAnswered(id));
  const absl::optional<Waiter> nobody = table.Answered(id, Good(7));
  ASSERT_TRUE(nobody.has_value());
  EXPECT_EQ(nobody->handle, nullptr);
  EXPECT_TRUE(table.HasGoodAnswer(id));
  absl::optional<Answer> answer = table.Take(id);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->payload.As<int>(), 7);
  EXPECT_FALSE(table.Has(id));
  EXPECT_EQ(table.size(), 0U);
  EXPECT_FALSE(table.Take(id).has_value()) << "once";
}

TEST(AskTableTest, ASlotIsUsedAgainAndItsOldIdMeansNothing) {
  AskTable table;
  const uint64_t old = table.Add(kCallee, At(1));
  (void)table.Take(old);
  const uint64_t next = table.Add(Pid(), At(1));
  EXPECT_EQ(table.slots(), 1U);
  EXPECT_NE(next, old);
  EXPECT_FALSE(table.Answered(old, Good()).has_value()) << "it comes too late";
  EXPECT_FALSE(table.IsAnswered(next));
  EXPECT_TRUE(table.CalleeOf(old).is_null());
  EXPECT_EQ(table.FindNotes(old), nullptr);
}

TEST(AskTableTest, TheFirstAnswerWinsAndWakesItsWaiterOnce) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  table.Await(id, Somebody());
  const absl::optional<Waiter> woken = table.Answered(id, Bad());
  ASSERT_TRUE(woken.has_value());
  EXPECT_NE(woken->handle, nullptr);
  EXPECT_FALSE(table.Answered(id, Good()).has_value());
  EXPECT_EQ(table.Take(id)->status, absl::DataLossError("bad"));
}

TEST(AskTableTest, DeadlinesComeInTheirOrder) {
  AskTable table;
  const uint64_t late = table.Add(kCallee, At(3));
  const uint64_t early = table.Add(kCallee, At(1));
  const uint64_t answered = table.Add(kCallee, At(2));
  const uint64_t never = table.Add(kCallee, MonotonicTime::InfiniteFuture());
  EXPECT_EQ(table.NextDeadline(), At(1));
  EXPECT_EQ(table.PopDue(At(0)), 0U);
  EXPECT_EQ(table.PopDue(At(5)), early);
  (void)table.Take(early);
  (void)table.Answered(answered, Good());
  EXPECT_EQ(table.NextDeadline(), At(2)) << "nobody awaits it: it is forgotten then";
  EXPECT_EQ(table.PopDue(At(5)), answered);
  (void)table.Take(answered);
  EXPECT_EQ(table.PopDue(At(5)), late);
  (void)table.Take(late);
  EXPECT_TRUE(table.NextDeadline().is_infinite());
  EXPECT_TRUE(table.Has(never));
}

TEST(AskTableTest, WhatIsAwaitedAndAnsweredHasNoDeadline) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  table.Await(id, Somebody());
  (void)table.Answered(id, Good());
  EXPECT_TRUE(table.NextDeadline().is_infinite());
  table.StopWaiting(id);
  EXPECT_EQ(table.NextDeadline(), At(1)) << "nobody will take it";
}

TEST(AskTableTest, ADeadlineMayBeMoved) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(9));
  table.SetDeadline(id, At(2));
  EXPECT_EQ(table.NextDeadline(), At(2));
  table.SetDeadline(id, At(4));
  EXPECT_EQ(table.NextDeadline(), At(4));
  EXPECT_EQ(table.PopDue(At(4)), id);
  EXPECT_EQ(table.PopDue(At(9)), 0U);
}

TEST(AskTableTest, OneAskAfterTheOtherLeavesNoDeadlinesBehind) {
  AskTable table;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t id = table.Add(kCallee, At(i + 5));
    (void)table.Answered(id, Good());
    (void)table.Take(id);
    ASSERT_EQ(table.deadlines(), 0U);
  }
}

TEST(AskTableTest, StaleDeadlinesAreCleaned) {
  AskTable table;
  std::vector<uint64_t> window;
  for (int i = 0; i < 10000; ++i) {
    window.push_back(table.Add(kCallee, At(i + 100000)));
    if (window.size() < 8) continue;
    (void)table.Take(window.front());
    window.erase(window.begin());
    ASSERT_LE(table.deadlines(), 64U);
  }
  EXPECT_EQ(table.slots(), 8U);
}

TEST(AskTableTest, AtItsLimitThereIsNoEntryAndAfterwardsNoMemory) {
  AskTable table;
  for (size_t i = 0; i < limits::kAsksPerActorMax; ++i) ASSERT_NE(table.Add(kCallee, At(1)), 0U);
  EXPECT_EQ(table.Add(kCallee, At(1)), 0U);
  for (const uint64_t id : table.All()) (void)table.Take(id);
  EXPECT_EQ(table.slots(), 0U);
  EXPECT_NE(table.Add(kCallee, At(1)), 0U);
}

TEST(AskTableTest, KnowsWhatIsAskedForACallUntilItIsAnsweredOrTaken) {
  AskTable table;
  constexpr Pid kAsker(1, 5, 6);
  constexpr Pid kOther(1, 7, 8);
  std::vector<uint64_t> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(table.Add(kCallee, At(1)));
  for (const int i : {0, 1, 2}) table.NoteForCall(ids[i], kAsker, 9);
  table.NoteForCall(ids[3], kAsker, 10);
  table.NoteForCall(ids[4], kOther, 9);
  EXPECT_THAT(table.AsksForCall(kAsker, 9), ElementsAre(ids[0], ids[1], ids[2]));
  EXPECT_TRUE(table.Answered(ids[0], Good()).has_value());
  (void)table.Take(ids[1]);
  (void)table.Add(kCallee, At(1));  // in the place of the one that was taken
  EXPECT_THAT(table.AsksForCall(kAsker, 9), ElementsAre(ids[2]));
  EXPECT_THAT(table.AsksForCall(kOther, 9), ElementsAre(ids[4]));
  for (const uint64_t id : table.All()) (void)table.Take(id);
  EXPECT_THAT(table.AsksForCall(kAsker, 10), ElementsAre());
  // Many, one after the other and together.
  for (int i = 0; i < 5000; ++i) {
    const uint64_t id = table.Add(kCallee, At(1));
    table.NoteForCall(id, kAsker, 1);
    if (i % 2 == 0) (void)table.Take(id);
  }
  EXPECT_EQ(table.AsksForCall(kAsker, 1).size(), 2500U);
}

TEST(AskTableTest, AGroupWakesWhenOneOfItsCountsIsZero) {
  AskTable table;
  std::vector<uint64_t> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(table.Add(kCallee, At(1)));
  // Two good ones of four: hopeless with three bad.
  GroupWait group{.answers_left = 4, .good_left = 2, .bad_left = 3, .waiter = Somebody()};
  for (const uint64_t id : ids) table.Join(id, &group);
  EXPECT_EQ(table.Answered(ids[0], Good())->handle, nullptr);
  EXPECT_EQ(table.Answered(ids[3], Bad())->handle, nullptr);
  EXPECT_NE(table.Answered(ids[2], Good())->handle, nullptr);
  EXPECT_EQ(table.Answered(ids[1], Good())->handle, nullptr) << "it was woken already";
  EXPECT_LT(table.AnsweredAs(ids[0]), table.AnsweredAs(ids[3]));
  EXPECT_LT(table.AnsweredAs(ids[3]), table.AnsweredAs(ids[2]));
}

TEST(AskTableTest, AnAnswerThatIsDestroyedMayComeBack) {
  struct Comes {
    AskTable* table;
    ~Comes() {
      if (table != nullptr) (void)table->Add(kCallee, At(1));
    }
    Comes(AskTable* t) : table(t) {}  // NOLINT
    Comes(Comes&& other) noexcept : table(std::exchange(other.table, nullptr)) {}
  };
  AskTable table;
  for (int i = 0; i < 3; ++i) {
    const uint64_t id = table.Add(kCallee, At(1));
    (void)table.Answered(id, {.payload = Payload::Of(Comes(&table))});
  }
  (void)table.TakeAnswers();
  EXPECT_EQ(table.size(), 6U);
}

TEST(AskTableDeathTest, TwoWaitersAreACheck) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  table.Await(id, Somebody());
  EXPECT_DEATH(table.Await(id, Somebody()), "awaited by two coroutines");
  GroupWait group;
  EXPECT_DEATH(table.Join(id, &group), "twice in one group");
}

// Against a plain map.
TEST(AskTableTest, DoesWhatAMapOfAsksWouldDo) {
  struct Entry {
    MonotonicTime deadline;
    bool is_answered = false;
    bool is_awaited = false;
  };
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    AskTable table;
    std::map<uint64_t, Entry> model;
    std::vector<uint64_t> all;
    int64_t now = 0;
    const auto some = [&]() -> uint64_t { return all.empty() ? 99 : all[random.Below(all.size())]; };
    for (int step = 0; step < 400; ++step) {
      switch (random.Below(6)) {
        case 0:
        case 1: {
          const MonotonicTime deadline = At(now + 1 + static_cast<int64_t>(random.Below(20)));
          const uint64_t id = table.Add(kCallee, deadline);
          ASSERT_FALSE(model.contains(id));
          model[id] = {.deadline = deadline};
          all.push_back(id);
          break;
        }
        case 2: {
          const uint64_t id = some();
          const bool counts = model.contains(id) && !model[id].is_answered;
          ASSERT_EQ(table.Answered(id, Good()).has_value(), counts);
          if (counts) model[id].is_answered = true;
          break;
        }
        case 3: {
          const uint64_t id = some();
          ASSERT_EQ(table.Take(id).has_value(), model.erase(id) > 0);
          break;
        }
        case 4: {
          const uint64_t id = some();
          if (!model.contains(id) || model[id].is_answered || model[id].is_awaited) break;
          table.Await(id, Somebody());
          model[id].is_awaited = true;
          break;
        }
        default: {
          now += 3;
          std::vector<std::pair<MonotonicTime, uint64_t>> due;
          for (const auto& [id, entry] : model) {
            if (entry.deadline <= At(now) && !(entry.is_answered && entry.is_awaited))
              due.emplace_back(entry.deadline, id);
          }
          // Equal deadlines come in the order of asking, which the model keeps by hand.
          const auto asked = [&](uint64_t id) { return std::find(all.begin(), all.end(), id) - all.begin(); };
          std::sort(due.begin(), due.end(), [&](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : asked(a.second) < asked(b.second);
          });
          for (const auto& [time, id] : due) {
            ASSERT_EQ(table.PopDue(At(now)), id) << "seed " << seed;
            (void)table.Take(id);
            model.erase(id);
          }
          ASSERT_EQ(table.PopDue(At(now)), 0U);
        }
      }
      ASSERT_EQ(table.size(), model.size());
    }
  }
}

TEST(AskTableTest, EachCloseOfAMailboxIsTakenOnce) {
  AskTable table;
  const uint64_t id = table.Add(Pid(), MonotonicTime::InfiniteFuture());
  EXPECT_FALSE(table.TakeClose(id, 3)) << "an ask without notes";
  table.NotesOf(id).closes = {3, 5, 3};
  EXPECT_TRUE(table.TakeClose(id, 3));
  EXPECT_TRUE(table.TakeClose(id, 3));
  EXPECT_FALSE(table.TakeClose(id, 3));
  EXPECT_TRUE(table.TakeClose(id, 5));
  (void)table.Take(id);
  EXPECT_FALSE(table.TakeClose(id, 5)) << "an ask that is gone";
}

TEST(AskTableTest, NotesAreMadeAtFirstUse) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  EXPECT_EQ(table.FindNotes(id), nullptr);
  table.NotesOf(id).closes.push_back(3);
  EXPECT_THAT(table.FindNotes(id)->closes, ElementsAre(3));
  (void)table.Take(id);
  const uint64_t next = table.Add(kCallee, At(1));
  EXPECT_EQ(table.FindNotes(next), nullptr) << "its slot had some";
}

}  // namespace
}  // namespace understudy::internal
