// MailChoice without an actor: the test chooses the results of guards and predicates.
#include "understudy/actors/internal/turn/mail_choice.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/envelope_ring.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/internal/turn/rank_turns.h"
#include "understudy/actors/message.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;

struct Clause {
  int mailbox = 0;
  int rank = 0;
  uint16_t quota = kQuotaDefault;
  bool has_predicate = false;
};

class MailChoiceTest : public testing::Test {
 protected:
  ~MailChoiceTest() override {
    for (Envelope* envelope : made_) Envelope::Delete(envelope);
  }
  static BehaviorPtr Table(const std::vector<Clause>& clauses) {
    BehaviorDraft draft;
    for (const Clause& clause : clauses) {
      ClauseDraft made(MessageHandler::Dropping(), clause.mailbox);
      made.MakeExtra().rank = clause.rank;
      made.MakeExtra().quota = clause.quota;
      if (clause.has_predicate) made.MakeExtra().AddPredicate<int>([](int) { return true; });
      draft.Add(std::move(made));
    }
    return BehaviorPtr(BehaviorTable::Make("table", std::move(draft)));
  }
  static ClauseSet All() { return ClauseSet().set(); }
  Envelope* Ring(const std::vector<uint64_t>& stamps) {
    Envelope* newest = nullptr;
    for (const uint64_t stamp : stamps) {
      made_.push_back(Envelope::Make(EnvelopeKind::kMessage, TypeOf<int>(), /*has_call_part=*/false));
      made_.back()->stamp = stamp;
      Append(newest, made_.back());
    }
    return newest;
  }
  // Returns a predicate that accepts messages with a stamp of at least `from`.
  static auto TakesFrom(uint64_t from) {
    return [from](const ClauseExtra& /*clause*/, const Envelope& message) {
      return absl::optional<bool>(message.stamp >= from);
    };
  }

  std::vector<Envelope*> made_;
  RankTurns turns_;
};

TEST_F(MailChoiceTest, TheOldestMessageOfAllMailboxesIsNext) {
  const BehaviorPtr table = Table({{.mailbox = 0}, {.mailbox = 1}});
  MailChoice choice(*table, All());
  EXPECT_TRUE(choice.empty());
  EXPECT_EQ(choice.oldest(), UINT64_MAX);
  ASSERT_TRUE(choice.Add(0, Ring({4, 5}), TakesFrom(0)));
  ASSERT_TRUE(choice.Add(1, Ring({3, 9}), TakesFrom(0)));
  EXPECT_EQ(choice.oldest(), 3);
  const Choice next = choice.Choose(turns_);
  EXPECT_EQ(next.envelope->stamp, 3);
  EXPECT_EQ(next.before->stamp, 9) << "the newest precedes the oldest in the ring";
  EXPECT_EQ(next.clause, 1);
}

TEST_F(MailChoiceTest, AMailboxWhoseGuardDoesNotHoldHasNoMessage) {
  const BehaviorPtr table = Table({{.mailbox = 0}, {.mailbox = 1}});
  MailChoice choice(*table, All().reset(0));
  ASSERT_TRUE(choice.Add(0, Ring({1}), TakesFrom(0)));
  EXPECT_TRUE(choice.empty());
  ASSERT_TRUE(choice.Add(1, Ring({2}), TakesFrom(0)));
  EXPECT_EQ(choice.Choose(turns_).envelope->stamp, 2);
}

TEST_F(MailChoiceTest, TheFirstClauseWhosePredicateTakesTheMessageGetsIt) {
  const BehaviorPtr table = Table({{.has_predicate = true}, {}});
  MailChoice both(*table, All());
  ASSERT_TRUE(both.Add(0, Ring({1, 2}), TakesFrom(2)));
  EXPECT_EQ(both.Choose(turns_).clause, 1) << "the predicate does not take the oldest, the second clause does";
  MailChoice first(*table, All().reset(1));
  ASSERT_TRUE(first.Add(0, Ring({1, 2, 3}), TakesFrom(2)));
  const Choice next = first.Choose(turns_);
  EXPECT_EQ(next.envelope->stamp, 2);
  EXPECT_EQ(next.before->stamp, 1);
  EXPECT_EQ(next.clause, 0);
}

TEST_F(MailChoiceTest, APredicateThatEndsTheChoiceIsTheLastThatIsAsked) {
  const BehaviorPtr table = Table({{.has_predicate = true}});
  MailChoice choice(*table, All());
  int asked = 0;
  EXPECT_FALSE(choice.Add(0, Ring({1, 2}), [&](const ClauseExtra&, const Envelope&) {
    ++asked;
    return absl::optional<bool>();
  }));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(choice.empty());
}

TEST_F(MailChoiceTest, RanksTakeTurnsByTheirQuotas) {
  const BehaviorPtr table = Table({{.mailbox = 0, .rank = 0}, {.mailbox = 1, .rank = 1, .quota = 2}});
  Envelope* const low = Ring({1, 2});
  Envelope* const high = Ring({3, 4});
  std::vector<size_t> clauses;
  for (int i = 0; i < 4; ++i) {
    MailChoice choice(*table, All());
    ASSERT_TRUE(choice.Add(0, low, TakesFrom(0)));
    ASSERT_TRUE(choice.Add(1, high, TakesFrom(0)));
    clauses.push_back(choice.Choose(turns_).clause);
  }
  EXPECT_THAT(clauses, ElementsAre(1, 1, 0, 0)) << "the higher rank is served first, twice";
}

TEST_F(MailChoiceTest, AMailboxOfTwoRanksHasTheFirstMessageOfEach) {
  const BehaviorPtr table = Table({{.rank = 1, .quota = 1, .has_predicate = true}, {.rank = 0, .quota = 1}});
  MailChoice choice(*table, All());
  ASSERT_TRUE(choice.Add(0, Ring({1, 2, 3}), TakesFrom(3)));
  EXPECT_EQ(choice.oldest(), 1);
  EXPECT_EQ(choice.Choose(turns_).envelope->stamp, 3);
  EXPECT_EQ(choice.Choose(turns_).envelope->stamp, 1);
}

}  // namespace
}  // namespace understudy::internal
