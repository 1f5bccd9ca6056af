// AskTable without an actor: its slots, deadlines, waiters, and what its owner is told to do.
#include "understudy/actors/internal/asks/ask_table.h"

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Pid kCallee(1, 2, 3);

MonotonicTime At(int64_t seconds) { return MonotonicTime::FromNanos(seconds * 1'000'000'000); }
Waiter Somebody() { return {.handle = std::noop_coroutine()}; }
Answer Good(int value = 1) { return {.payload = Payload::Of(value)}; }
Answer Bad() { return {.status = absl::DataLossError("bad")}; }

// 0 if no ask is due.
uint64_t NextDue(AskTable& table, MonotonicTime now) {
  const absl::optional<DueAsk> due = table.NextDue(now);
  return due.has_value() ? due->id : 0;
}

struct TextOf {
  std::string operator()(const TellCallee& tell) const { return "tell " + tell.callee.ToString(); }
  std::string operator()(const EndNameWatch& ends) const { return "unwatch " + std::to_string(ends.watch); }
  std::string operator()(const RemoveName& removed) const { return "remove " + removed.name; }
  std::string operator()(const ReopenMailbox& reopens) const { return "reopen " + std::to_string(reopens.mailbox); }
  std::string operator()(const TakeBackMessage& waits) const { return "take back from " + waits.receiver.ToString(); }
  std::string operator()(const StopWaitingForNode&) const { return "stop waiting"; }
  std::string operator()(const EndSpan& ended) const { return "end span " + std::to_string(ended.span.id); }
  std::string operator()(const EndStreams& ended) const { return ItemBits(ended.ask) != 0 ? "end streams" : "?"; }
};
std::vector<std::string> Texts(const std::vector<AskAction>& actions) {
  std::vector<std::string> texts;
  for (const AskAction& action : actions) texts.push_back(std::visit(TextOf(), action));
  return texts;
}

TEST(AskTableTest, AnEntryLivesFromAddToTake) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  EXPECT_NE(id, 0U);
  EXPECT_TRUE(table.Has(id));
  EXPECT_EQ(table.CalleeOf(id), kCallee);
  EXPECT_TRUE(table.IsUnderWay(id));
  const absl::optional<Waiter> nobody = table.Answered(id, Good(7));
  ASSERT_TRUE(nobody.has_value());
  EXPECT_FALSE(table.IsUnderWay(id));
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
  EXPECT_TRUE(table.IsUnderWay(next));
  EXPECT_FALSE(table.IsUnderWay(old));
  EXPECT_TRUE(table.CalleeOf(old).is_null());
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
  EXPECT_EQ(NextDue(table, At(0)), 0U);
  EXPECT_EQ(NextDue(table, At(5)), early);
  (void)table.Answered(answered, Good());
  EXPECT_EQ(table.NextDeadline(), At(2)) << "nobody awaits it: it is forgotten then";
  EXPECT_EQ(NextDue(table, At(5)), answered);
  EXPECT_EQ(NextDue(table, At(5)), late);
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
  EXPECT_EQ(NextDue(table, At(4)), id);
  EXPECT_EQ(NextDue(table, At(9)), 0U);
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
  while (NextDue(table, At(1)) != 0) {
  }
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
  using Calls = std::vector<std::pair<Pid, uint64_t>>;
  EXPECT_THAT(table.AsksForCalls(Calls{{kAsker, 9}}), ElementsAre(ids[0], ids[1], ids[2]));
  EXPECT_TRUE(table.Answered(ids[0], Good()).has_value());
  (void)table.Take(ids[1]);
  (void)table.Add(kCallee, At(1));  // in the place of the one that was taken
  EXPECT_THAT(table.AsksForCalls(Calls{{kAsker, 9}}), ElementsAre(ids[2]));
  EXPECT_THAT(table.AsksForCalls(Calls{{kAsker, 10}, {kOther, 9}}), ElementsAre(ids[3], ids[4]));
  while (NextDue(table, At(1)) != 0) {
  }
  EXPECT_THAT(table.AsksForCalls(Calls{{kAsker, 10}}), ElementsAre());
  // Many, one after the other and together.
  for (int i = 0; i < 5000; ++i) {
    const uint64_t id = table.Add(kCallee, At(1));
    table.NoteForCall(id, kAsker, 1);
    if (i % 2 == 0) (void)table.Take(id);
  }
  EXPECT_EQ(table.AsksForCalls(Calls{{kAsker, 1}}).size(), 2500U);
}

TEST(AskTableTest, AGroupWakesWhenOneOfItsCountsIsZero) {
  AskTable table;
  std::vector<uint64_t> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(table.Add(kCallee, At(1)));
  // Two good ones of four: hopeless with three bad.
  GroupWait group{.answers_left = 4, .good_left = 2, .bad_left = 3, .waiter = Somebody()};
  const std::vector<PendingId> pendings = {{.id = ids[0]}, {.id = ids[1]}, {.id = ids[2]}, {.id = ids[3]}};
  EXPECT_FALSE(table.Join(pendings, group)) << "it may go on without some of the answers";
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
  const PendingId pending{.id = id};
  EXPECT_DEATH((void)table.Join({&pending, 1}, group), "twice in one group");
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
            const absl::optional<DueAsk> next = table.NextDue(At(now));
            ASSERT_EQ(next.has_value() ? next->id : 0, id) << "seed " << seed;
            const bool is_freed = std::holds_alternative<NobodyAwaits>(next->answer);
            ASSERT_EQ(is_freed, !model[id].is_awaited) << "seed " << seed;
            ASSERT_EQ(table.Take(id).has_value(), !is_freed) << "seed " << seed;
            model.erase(id);
          }
          ASSERT_FALSE(table.NextDue(At(now)).has_value());
        }
      }
      ASSERT_EQ(table.size(), model.size());
    }
  }
}

TEST(AskTableTest, AGroupThatNeedsAllItsAnswersSaysSo) {
  AskTable table;
  const uint64_t answered = table.Add(kCallee, At(1));
  const uint64_t missing = table.Add(kCallee, At(1));
  (void)table.Answered(answered, Good());
  // The group has counted the answer that came before it began. An id without an entry has one too.
  GroupWait all{.answers_left = 1, .good_left = 4, .bad_left = 4, .waiter = Somebody()};
  const std::vector<PendingId> pendings = {{.id = answered}, {.id = missing}, {.id = 0}};
  EXPECT_TRUE(table.Join(pendings, all));
  EXPECT_TRUE(table.NextDeadline() == At(1)) << "of the one that has no answer";
  EXPECT_NE(table.Answered(missing, Good())->handle, nullptr);
  EXPECT_TRUE(table.NextDeadline().is_infinite()) << "the answers are kept for the group";
}

TEST(AskTableTest, EachCloseOfAMailboxIsTakenOnce) {
  AskTable table;
  const uint64_t id = table.Add(Pid(), MonotonicTime::InfiniteFuture());
  EXPECT_FALSE(table.TakeClose(id, 3)) << "it keeps none";
  for (const int mailbox : {3, 5, 3}) EXPECT_TRUE(table.CloseUntilAnswered(id, mailbox));
  EXPECT_TRUE(table.TakeClose(id, 3));
  EXPECT_TRUE(table.TakeClose(id, 3));
  EXPECT_FALSE(table.TakeClose(id, 3));
  EXPECT_TRUE(table.TakeClose(id, 5));
  (void)table.Take(id);
  EXPECT_FALSE(table.TakeClose(id, 5)) << "an ask that is gone";
  EXPECT_FALSE(table.CloseUntilAnswered(id, 5));
}

TEST(AskTableTest, AnAskThatReusesASlotKeepsNothingOfTheEarlierOne) {
  AskTable table;
  const uint64_t id = table.Add(Pid(), At(1));
  table.LooksUp(id, "seat", 7);
  (void)table.Take(id);
  const uint64_t next = table.Add(Pid(), At(1));
  table.Await(next, Somebody());
  const absl::optional<DueAsk> due = table.NextDue(At(1));
  ASSERT_TRUE(due.has_value());
  EXPECT_TRUE(std::holds_alternative<NoAnswerCame>(due->answer));
  EXPECT_THAT(due->actions, IsEmpty());
}

TEST(AskTableTest, AnAnswerEndsOnceWhatTheAskKeptUp) {
  AskTable table;
  const uint64_t id = table.Add(Pid(), At(1));
  EXPECT_TRUE(table.CloseUntilAnswered(id, 3));
  table.LooksUp(id, "seat", 7);
  EXPECT_TRUE(table.Answered(id, Good()).has_value());
  EXPECT_FALSE(table.CloseUntilAnswered(id, 5)) << "it has its answer";
  EXPECT_THAT(Texts(table.Settle(id)), ElementsAre("unwatch 7", "reopen 3"));
  EXPECT_THAT(table.Settle(id), IsEmpty());
  EXPECT_FALSE(table.TakeClose(id, 3));
}

TEST(AskTableTest, APublicationThatFailsRemovesTheName) {
  AskTable table;
  const uint64_t published = table.Add(Pid(), At(1));
  table.Publishes(published, "seat");
  EXPECT_TRUE(table.Answered(published, Good()).has_value());
  EXPECT_THAT(table.Settle(published), IsEmpty());
  const uint64_t refused = table.Add(Pid(), At(1));
  table.Publishes(refused, "seat");
  EXPECT_TRUE(table.Answered(refused, Bad()).has_value());
  EXPECT_THAT(Texts(table.Settle(refused)), ElementsAre("remove seat"));
  EXPECT_THAT(table.Settle(refused), IsEmpty());
}

TEST(AskTableTest, TheCalleeOfAnAskThatIsGivenUpIsToldUnlessTheAskHasAnAnswer) {
  AskTable table;
  const uint64_t id = table.Add(kCallee, At(1));
  EXPECT_THAT(Texts(table.GiveUp(id)), ElementsAre("tell " + kCallee.ToString()));
  EXPECT_THAT(table.GiveUp(table.Add(Pid(), At(1))), IsEmpty()) << "there is nobody to tell";
  EXPECT_TRUE(table.Answered(id, Bad()).has_value());
  EXPECT_THAT(table.GiveUp(id), IsEmpty());
}

TEST(AskTableTest, AnAskThatNobodyAwaitsIsFreedAtItsDeadline) {
  AskTable table;
  const uint64_t call = table.Add(kCallee, At(1));
  const uint64_t answered = table.Add(kCallee, At(2));
  const uint64_t publication = table.Add(Pid(), At(3));
  EXPECT_TRUE(table.Answered(answered, Good(7)).has_value());
  table.Publishes(publication, "seat");
  EXPECT_TRUE(table.CloseUntilAnswered(publication, 4));

  absl::optional<DueAsk> due = table.NextDue(At(3));
  EXPECT_EQ(due->id, call);
  EXPECT_THAT(Texts(due->actions), ElementsAre("tell " + kCallee.ToString()));
  EXPECT_TRUE(std::holds_alternative<NobodyAwaits>(due->answer));
  due = table.NextDue(At(3));
  EXPECT_EQ(due->id, answered);
  EXPECT_THAT(due->actions, IsEmpty()) << "its callee has answered";
  EXPECT_EQ(std::get<NobodyAwaits>(due->answer).answer.As<int>(), 7);
  due = table.NextDue(At(3));
  EXPECT_EQ(due->id, publication);
  EXPECT_THAT(Texts(due->actions), ElementsAre("remove seat", "reopen 4"));
  EXPECT_EQ(table.size(), 0U);
}

TEST(AskTableTest, AnAwaitedAskThatIsDueSaysWhatItsAnswerIs) {
  AskTable table;
  constexpr Pid kReceiver(1, 5, 6);
  const auto awaited = [&](Pid callee, int64_t seconds) {
    const uint64_t id = table.Add(callee, At(seconds));
    table.Await(id, Somebody());
    return id;
  };
  const uint64_t call = awaited(kCallee, 1);
  table.LooksUp(awaited(Pid(), 2), "seat", 7);
  table.WaitsForRoom(awaited(Pid(), 3), kReceiver, AskTable::RoomIn::kThisNode);
  table.WaitsForRoom(awaited(Pid(), 4), kReceiver, AskTable::RoomIn::kOtherNode);

  absl::optional<DueAsk> due = table.NextDue(At(4));
  EXPECT_EQ(due->id, call);
  EXPECT_THAT(Texts(due->actions), ElementsAre("tell " + kCallee.ToString()));
  EXPECT_TRUE(std::holds_alternative<NoAnswerCame>(due->answer));
  EXPECT_TRUE(table.IsUnderWay(call)) << "its owner answers it";
  due = table.NextDue(At(4));
  EXPECT_EQ(std::get<NameHasNoOwner>(due->answer).name, "seat");
  EXPECT_THAT(due->actions, IsEmpty());
  due = table.NextDue(At(4));
  EXPECT_EQ(std::get<NoRoomCame>(due->answer).receiver, kReceiver) << "the message is taken back from it";
  EXPECT_THAT(due->actions, IsEmpty());
  due = table.NextDue(At(4));
  EXPECT_TRUE(std::get<NoRoomCame>(due->answer).receiver.is_null()) << "the coroutine has the message";
  EXPECT_THAT(Texts(due->actions), ElementsAre("stop waiting"));
  EXPECT_FALSE(table.NextDue(At(4)).has_value());
}

TEST(AskTableTest, AtTheEndCalleesAreToldAndWaitingEnds) {
  AskTable table;
  constexpr Pid kReceiver(1, 5, 6);
  (void)table.Add(kCallee, At(1));
  EXPECT_TRUE(table.Answered(table.Add(kCallee, At(1)), Good()).has_value());
  table.LooksUp(table.Add(Pid(), At(1)), "seat", 7);
  table.Publishes(table.Add(Pid(), At(1)), "name");
  table.WaitsForRoom(table.Add(Pid(), At(1)), kReceiver, AskTable::RoomIn::kThisNode);
  table.WaitsForRoom(table.Add(Pid(), At(1)), kReceiver, AskTable::RoomIn::kOtherNode);
  EXPECT_THAT(Texts(table.End()), ElementsAre("tell " + kCallee.ToString(), "unwatch 7",
                                              "take back from " + kReceiver.ToString(), "stop waiting"));
}

TEST(AskTableTest, AwaitingAnAskWithoutAnEntryGivesAnError) {
  const Answer refused = AskTable::AnswerWithoutEntry({.asker = kCallee}, At(0));
  EXPECT_TRUE(IsFull(refused.status)) << refused.status;
  const PendingId pending{.asker = kCallee, .id = 5, .deadline = At(2)};
  EXPECT_TRUE(IsExpired(AskTable::AnswerWithoutEntry(pending, At(2)).status));
}

TEST(AskTableDeathTest, AwaitingAnAskTwiceIsACheck) {
  const PendingId pending{.asker = kCallee, .id = 5, .deadline = At(2)};
  EXPECT_DEATH((void)AskTable::AnswerWithoutEntry(pending, At(1)), "is awaited a second time");
}

}  // namespace
}  // namespace understudy::internal
