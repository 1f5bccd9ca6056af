// What the names of one peer may cost.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/names/name_net.h"
#include "understudy/transport/names/comparison_budgets.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_table.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Node a, whose peer b says what the test writes.
class NameBoundsTest : public ::testing::Test {
 protected:
  void Meet(PeerProof proof) { table_.OnSessionBegun("b", 2, NameNet::At(200), Fingerprints::kNotTold, proof); }
  absl::Status Tell(const proto::NameChanges& changes) {
    const absl::Status status = table_.OnChanges("b", changes.SerializeAsString());
    table_.OnChangesEntered("b");
    return status;
  }
  absl::Status Claim(absl::string_view name, uint32_t signatures = 0) {
    proto::NameChanges changes;
    proto::NameClaim& claim = *changes.add_changes()->mutable_claim();
    claim.set_name(std::string(name));
    claim.set_serial(1);
    claim.set_number(++last_);
    claim.set_signatures(signatures);
    return Tell(changes);
  }
  absl::Status Release(absl::string_view name, uint64_t number) {
    proto::NameChanges changes;
    changes.add_changes()->mutable_release()->set_name(std::string(name));
    changes.mutable_changes(0)->mutable_release()->set_number(number);
    return Tell(changes);
  }
  absl::Status Vacate(absl::string_view name) {
    proto::NameChanges changes;
    changes.add_changes()->mutable_vacancy()->set_name(std::string(name));
    changes.mutable_changes(0)->mutable_vacancy()->set_number(++last_);
    return Tell(changes);
  }
  absl::Status Define(uint32_t number, int mailboxes, size_t name_bytes) {
    proto::NameChanges changes;
    proto::SignatureSet& set = *changes.add_definitions();
    set.set_number(number);
    for (int i = 0; i < mailboxes; ++i) set.add_mailboxes()->set_name(std::string(name_bytes, 'm'));
    return Tell(changes);
  }
  // Defines sets of 64 mailboxes until a claim with one of them is refused. Returns the number of the refused set.
  uint32_t DefineUntilRefused(size_t name_bytes) {
    const int64_t refused = table_.counters("b").claims_refused;
    for (uint32_t set = 1; set < 2000; ++set) {
      const bool is_ok = Define(set, 64, name_bytes).ok() && Claim("b/probe", set).ok();
      if (!is_ok || table_.counters("b").claims_refused > refused) return set;
    }
    return 0;
  }
  std::vector<std::string> Changes() {
    std::vector<std::string> changes;
    for (const NameTable::Change& change : table_.TakeChanges()) changes.push_back(NameNet::TextOf(change));
    return changes;
  }

  NameTable table_{"a", [](absl::string_view, absl::string_view) { return true; }};
  uint64_t last_ = 0;
};

TEST_F(NameBoundsTest, TheNamesOfOneSetOfMailboxesShareThem) {
  Meet(PeerProof::kProved);
  ASSERT_TRUE(Define(1, 64, 1000).ok());
  ASSERT_TRUE(Claim("b/1", 1).ok());
  ASSERT_TRUE(Claim("b/2", 1).ok());
  const std::vector<NameTable::Change> changes = table_.TakeChanges();
  ASSERT_THAT(changes, SizeIs(2));
  ASSERT_THAT(*changes[0].entry.mailboxes, SizeIs(64));
  EXPECT_EQ(changes[0].entry.mailboxes, changes[1].entry.mailboxes);
  EXPECT_EQ(table_.Find("b/2")->mailboxes, changes[0].entry.mailboxes);
}

TEST_F(NameBoundsTest, APeerWhoseIdentityIsNotProvedHasFewNamesAndFurtherClaimsAreRefused) {
  constexpr size_t kNames = limits::kUnprovedNameBytesMax / limits::EnteredBytes(8);
  Meet(PeerProof::kUnproved);
  for (size_t i = 0; i < kNames; ++i) ASSERT_TRUE(Claim(absl::StrCat("b/", 100000 + i)).ok());
  EXPECT_THAT(Changes(), SizeIs(kNames));
  EXPECT_EQ(table_.names_of("b"), kNames);
  EXPECT_TRUE(Claim("b/200000").ok());
  EXPECT_TRUE(Claim("b/200001").ok());
  EXPECT_TRUE(Vacate("b/200002").ok());
  EXPECT_THAT(Changes(), ElementsAre("too many b/200000 of b")) << "it is told once in a session";
  EXPECT_EQ(table_.counters("b").claims_refused, 2);
  EXPECT_EQ(table_.names_of("b"), kNames);
  ASSERT_TRUE(Claim("b/100000").ok());
  EXPECT_THAT(Changes(), ElementsAre("hide b/100000", "show b/100000 b")) << "a later claim to the same name";
  ASSERT_TRUE(Release("b/100001", 2).ok());
  ASSERT_TRUE(Claim("b/200000").ok());
  EXPECT_THAT(Changes(), ElementsAre("hide b/100001", "show b/200000 b"));
}

TEST_F(NameBoundsTest, AnOwnerHereIsNotDisturbedByAClaimBeyondTheBound) {
  Meet(PeerProof::kUnproved);
  const std::string lot(255, 'l');
  ASSERT_TRUE(table_.Claim(lot, Pid(1, 1, 1), NameNet::At(300), {}).ok());
  for (size_t i = 0; i < limits::kUnprovedNameBytesMax / limits::EnteredBytes(255); ++i) {
    ASSERT_TRUE(Claim(absl::StrCat(std::string(249, 'b'), 100000 + i)).ok());
  }
  while (const auto part = table_.TakePart("b")) ASSERT_EQ(part->held, nullptr);
  ASSERT_TRUE(Claim(lot).ok());
  const auto part = table_.TakePart("b");
  ASSERT_TRUE(part.has_value());
  ASSERT_EQ(part->changes.changes_size(), 1);
  EXPECT_TRUE(part->changes.changes(0).has_refusal());
  EXPECT_EQ(table_.Find(lot)->node, "a");
}

TEST_F(NameBoundsTest, APeerWhoseIdentityIsProvedMayHaveMoreNames) {
  constexpr size_t kNames = limits::kUnprovedNameBytesMax / limits::EnteredBytes(8) + 10;
  Meet(PeerProof::kProved);
  for (size_t i = 0; i < kNames; ++i) ASSERT_TRUE(Claim(absl::StrCat("b/", 100000 + i)).ok());
  EXPECT_EQ(table_.names_of("b"), kNames);
  EXPECT_EQ(table_.counters("b").claims_refused, 0);
}

TEST_F(NameBoundsTest, VacanciesAreNamesAndOnesThatEndMakeRoom) {
  constexpr size_t kNames = limits::kUnprovedNameBytesMax / limits::EnteredBytes(8);
  Meet(PeerProof::kUnproved);
  for (size_t i = 0; i < kNames; ++i) ASSERT_TRUE(Vacate(absl::StrCat("b/", 100000 + i)).ok());
  Changes();
  EXPECT_TRUE(Vacate("b/200000").ok());
  EXPECT_THAT(Changes(), IsEmpty());
  ASSERT_TRUE(Release("b/100000", 1).ok());
  ASSERT_TRUE(Claim("b/200000").ok());
  EXPECT_THAT(Changes(), ElementsAre("not vacant b/100000", "show b/200000 b"));
}

TEST_F(NameBoundsTest, SetsOfMailboxesCountByTheMemoryThatTheyTakeAndLessIsFreeWithoutProof) {
  Meet(PeerProof::kProved);
  const uint32_t of_proved = DefineUntilRefused(0);
  EXPECT_GT(of_proved, 1U);
  EXPECT_LE(of_proved, 1 + limits::kNameSignatureBytesMax / (64 * limits::kNameMailboxBytes));
  Meet(PeerProof::kUnproved);
  const uint32_t of_unproved = DefineUntilRefused(1000);
  EXPECT_GT(of_unproved, 1U);
  EXPECT_LE(of_unproved, 1 + limits::kUnprovedNameSignatureBytesMax / (64 * 1000));
}

TEST_F(NameBoundsTest, ClaimsWithASetOfMailboxesBeyondTheBoundAreRefusedAndTheOthersAreEntered) {
  Meet(PeerProof::kUnproved);
  const uint32_t refused = DefineUntilRefused(1000);
  EXPECT_THAT(Changes(), Contains("too many b/probe of b"));
  EXPECT_EQ(table_.counters("b").claims_refused, 1);
  EXPECT_EQ(table_.Find("b/probe"), absl::nullopt) << "the earlier claim to the name has ended";
  EXPECT_TRUE(Define(refused + 1, 64, 1000).ok());
  EXPECT_TRUE(Claim("b/1", refused).ok());
  EXPECT_TRUE(Claim("b/2", refused + 1).ok());
  EXPECT_EQ(table_.counters("b").claims_refused, 3);
  EXPECT_EQ(table_.names_of("b"), 0);
  EXPECT_TRUE(Claim("b/3", 1).ok());
  EXPECT_TRUE(Define(refused + 2, 1, 1).ok()) << "a small one has room";
  EXPECT_TRUE(Claim("b/4", refused + 2).ok());
  EXPECT_THAT(Changes(), ElementsAre("show b/3 b", "show b/4 b"));
  EXPECT_FALSE(Define(refused, 1, 1).ok()) << "it is defined";
}

TEST_F(NameBoundsTest, MoreSetsOfMailboxesThanANodeMayHaveAreABadFrame) {
  Meet(PeerProof::kUnproved);
  for (uint32_t set = 1; set <= limits::kNameSignatureSetsMax; ++set) ASSERT_TRUE(Define(set, 1, 0).ok()) << set;
  EXPECT_FALSE(Define(limits::kNameSignatureSetsMax + 1, 1, 0).ok());
}

// ---- The number of names ----

// Node a tells its names to node b, which takes it that a node has at most three; a itself has at most `names_max`.
class NameCountTest : public ::testing::Test {
 protected:
  static bool Allow(absl::string_view, absl::string_view) { return true; }
  void Begin(size_t names_max) {
    teller_ = std::make_unique<NameTable>("a", Allow, LocalTypes(), names_max);
    teller_->OnSessionBegun("b", 2, NameNet::At(200));
    listener_.OnSessionBegun("a", 1, NameNet::At(200));
    Tell();
  }
  void Claim(absl::string_view name) {
    ASSERT_EQ(teller_->Claim(name, Pid(1, 1, ++serial_), NameNet::At(300), {}), absl::OkStatus());
  }
  void Release(absl::string_view name) { ASSERT_TRUE(teller_->Release(name, teller_->Find(name)->pid)); }
  void Tell() {
    while (const absl::optional<NameFeed::Part> part = teller_->TakePart("b")) told_.push_back(part->changes);
  }
  void Arrive() {
    for (; !told_.empty(); told_.pop_front()) {
      ASSERT_EQ(listener_.OnChanges("a", told_.front().SerializeAsString()), absl::OkStatus());
      listener_.OnChangesEntered("a");
      while (const absl::optional<NameFeed::Part> part = listener_.TakePart("a")) {
        ASSERT_EQ(teller_->OnChanges("b", part->changes.SerializeAsString()), absl::OkStatus());
      }
      Tell();
    }
  }

  std::unique_ptr<NameTable> teller_;
  NameTable listener_{"b", Allow, LocalTypes(), 3};
  std::deque<proto::NameChanges> told_;
  uint64_t serial_ = 0;
};

// A name keeps its place among the changes that wait to be told, so its next claim may be told before the release of
// another name that made room for that claim.
TEST_F(NameCountTest, AClaimThatIsToldBeforeTheReleaseThatMadeRoomForItIsEntered) {
  Begin(3);
  for (const absl::string_view name : {"1", "2", "3"}) Claim(name);
  Tell();
  while (teller_->feed("b")->parts_untaken() < limits::kNamePartsUntakenMax) {
    Release("3");
    Claim("3");
    Tell();
  }
  Release("1");
  Claim("4");
  Release("2");
  Claim("1");
  Tell();
  EXPECT_EQ(teller_->feed("b")->size(), 3U) << "the changes wait until the peer has taken earlier parts";
  Arrive();
  EXPECT_TRUE(listener_.Find("4").has_value());
  EXPECT_FALSE(listener_.Find("2").has_value());
  EXPECT_EQ(listener_.names_of("a"), 3U);
  EXPECT_EQ(listener_.counters("a").claims_refused, 0);
}

TEST_F(NameCountTest, OfAPeerTwiceTheNamesThatANodeMayHaveAreEnteredAndFurtherClaimsAreRefused) {
  Begin(9);
  for (const absl::string_view name : {"1", "2", "3", "4", "5"}) Claim(name);
  teller_->Vacate("6", Pid());
  for (const absl::string_view name : {"7", "8"}) Claim(name);
  Tell();
  Arrive();
  EXPECT_EQ(listener_.names_of("a"), 5U);
  EXPECT_TRUE(listener_.IsVacant("6"));
  EXPECT_EQ(listener_.counters("a").claims_refused, 2);
  teller_->Vacate("9", Pid());
  Tell();
  Arrive();
  EXPECT_FALSE(listener_.IsVacant("9"));
  Release("1");
  Claim("7 again");
  Tell();
  Arrive();
  EXPECT_TRUE(listener_.Find("7 again").has_value());
}

// ---- What other peers must be told ----

TEST_F(NameBoundsTest, APartThatChangesNoOwnNameIsNothingToOtherPeers) {
  Meet(PeerProof::kProved);
  EXPECT_TRUE(Tell({}).ok());
  EXPECT_TRUE(Claim("lot").ok());
  EXPECT_TRUE(Release("lot", 1).ok());
  EXPECT_TRUE(Release("other", 7).ok());
  EXPECT_FALSE(table_.TakeTellsOthers());
}

// Else a peer would have its parts acknowledged before they are entered, and could send more of them at once.
TEST_F(NameBoundsTest, OnlyAPartWithChangesIsCountedAndMustBeAcknowledged) {
  Meet(PeerProof::kProved);
  EXPECT_TRUE(Claim("lot").ok());
  EXPECT_TRUE(table_.TakeCounted());
  EXPECT_FALSE(table_.TakeCounted());
  EXPECT_TRUE(Tell({}).ok());
  EXPECT_FALSE(table_.TakeCounted());
}

TEST_F(NameBoundsTest, AnOwnNameThatIsLostIsToldToOtherPeers) {
  Meet(PeerProof::kProved);
  ASSERT_TRUE(table_.Claim("lot", Pid(1, 1, 1), NameNet::At(300), {}).ok());
  ASSERT_TRUE(Claim("lot").ok());
  EXPECT_TRUE(table_.TakeTellsOthers()) << "the older claim is offered ours";
  proto::NameChanges changes;
  changes.add_changes()->mutable_confirm()->set_name("lot");
  changes.mutable_changes(0)->mutable_confirm()->set_number(1);
  ASSERT_TRUE(Tell(changes).ok());
  EXPECT_TRUE(table_.TakeTellsOthers());
  EXPECT_FALSE(table_.TakeTellsOthers());
}

// ---- Budgets of comparisons ----

constexpr int64_t kAll = limits::kComparisonStepsMax;
const int64_t kHalf = absl::ToInt64Nanoseconds(limits::kComparisonStepsWithin) / 2;

TEST(ComparisonBudgetsTest, WhatAPeerUsedComesBackWithTimeAndNotWithASession) {
  ComparisonBudgets budgets;
  EXPECT_EQ(budgets.OnSessionBegun("b", NameNet::At(1000)), "b");
  EXPECT_EQ(budgets.StepsOf("b"), kAll);
  budgets.StepsOf("b") = -5 * kAll;
  budgets.OnSessionEnded("b");
  budgets.OnSessionBegun("b", NameNet::At(1000));
  EXPECT_LT(budgets.StepsOf("b"), 0);
  budgets.OnSessionBegun("b", NameNet::At(1000 + kHalf));
  EXPECT_EQ(budgets.StepsOf("b"), kAll / 2);
  budgets.OnSessionBegun("b", NameNet::At(1000 + 9 * kHalf));
  EXPECT_EQ(budgets.StepsOf("b"), kAll);
}

TEST(ComparisonBudgetsTest, FullBudgetsOfPeersWithoutASessionAreForgotten) {
  ComparisonBudgets budgets;
  budgets.OnSessionBegun("b", NameNet::At(1000));
  budgets.OnSessionBegun("c", NameNet::At(1000));
  budgets.StepsOf("c") = 0;
  budgets.OnSessionEnded("b");
  budgets.OnSessionEnded("c");
  EXPECT_EQ(budgets.size(), 1U);
  budgets.OnSessionBegun("d", NameNet::At(1000 + 3 * kHalf));
  EXPECT_EQ(budgets.size(), 1U) << "only d's";
}

TEST(ComparisonBudgetsTest, PeersBeyondTheBoundShareOneBudget) {
  ComparisonBudgets budgets;
  for (size_t i = 0; i < limits::kComparisonBudgetsMax; ++i) budgets.OnSessionBegun(absl::StrCat(i), NameNet::At(1000));
  EXPECT_EQ(budgets.OnSessionBegun("another", NameNet::At(1000)), "");
  EXPECT_EQ(budgets.OnSessionBegun("7", NameNet::At(1000)), "7");
  EXPECT_EQ(budgets.OnSessionBegun("", NameNet::At(1000)), "");
  EXPECT_EQ(budgets.size(), limits::kComparisonBudgetsMax + 1);
}

}  // namespace
}  // namespace understudy
