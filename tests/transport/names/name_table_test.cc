#include "understudy/transport/names/name_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/names/name_net.h"
#include "understudy/tests/transport/seeds.h"
#include "understudy/transport/names/name_limits.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kA = 0;
constexpr int kB = 1;
constexpr int kC = 2;

// ---- Claims ----

TEST(NameTableTest, AClaimIsShownAndToldAndItsReleaseToo) {
  NameNet net(2);
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  EXPECT_THAT(net.Changes(kA), ElementsAre("show lot a"));
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot a"));
  EXPECT_EQ(net.table(kB).Find("lot")->pid, Pid(1, 1, 1));
  EXPECT_EQ(net.table(kB).names_of("a"), 1U);
  ASSERT_TRUE(net.Release(kA, "lot"));
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("hide lot"));
  EXPECT_EQ(net.table(kB).Find("lot"), absl::nullopt);
  EXPECT_EQ(net.table(kB).names_of("a"), 0U);
}

// ---- Vacancies ----

TEST(NameTableTest, AVacancyIsShownBeforeTheOwnerIsHiddenAndEndsAfterTheNextIsShown) {
  NameNet net(2);
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  net.DeliverAll();
  net.Changes(kB);
  net.Vacate(kA, "lot");
  EXPECT_THAT(net.Changes(kA), ElementsAre("show lot a", "hide lot"));
  EXPECT_TRUE(net.table(kA).IsVacant("lot"));
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("vacant lot", "hide lot"));
  EXPECT_TRUE(net.table(kB).IsVacant("lot"));
  ASSERT_TRUE(net.Claim(kA, "lot", 2).ok());
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot a", "not vacant lot"));
  EXPECT_FALSE(net.table(kB).IsVacant("lot"));
}

TEST(NameTableTest, AVacancyGoesWhenItIsFreedAndWithTheSession) {
  NameNet net(2);
  net.Vacate(kA, "lot");
  net.Join(kA, kB);
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("vacant lot")) << "the snapshot has it";
  net.Cut(kA, kB);
  EXPECT_THAT(net.Changes(kB), ElementsAre("not vacant lot"));
  net.Join(kA, kB);
  net.DeliverAll();
  net.Changes(kB);
  net.Free(kA, "lot");
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("not vacant lot"));
  EXPECT_FALSE(net.table(kA).IsVacant("lot"));
}

TEST(NameTableTest, ALiveOwnerWinsOverAVacancy) {
  NameNet net(3);
  net.Vacate(kA, "lot");
  for (const auto& [i, j] : {std::pair(kA, kB), std::pair(kA, kC), std::pair(kB, kC)}) net.Join(i, j);
  net.DeliverAll();
  ASSERT_TRUE(net.Claim(kB, "lot", 1).ok());
  net.DeliverAll();
  for (const int node : {kA, kB, kC}) EXPECT_EQ(net.table(node).Find("lot")->node, "b");
  EXPECT_TRUE(absl::IsAlreadyExists(net.Claim(kA, "lot", 1))) << "its owner is known";
  net.Release(kB, "lot");
  net.DeliverAll();
  for (const int node : {kA, kB, kC}) EXPECT_FALSE(net.table(node).IsVacant("lot")) << "the claim ended the vacancy";
}

TEST(NameTableTest, AVacancyWithoutTheGrantIsEnteredNowhere) {
  NameNet net(2, [](absl::string_view, absl::string_view owner, absl::string_view) { return owner != "a"; });
  ASSERT_TRUE(net.Claim(kB, "other", 1).ok());
  net.Vacate(kA, "lot");
  net.Vacate(kA, "other");
  net.Join(kA, kB);
  net.DeliverAll();
  EXPECT_FALSE(net.table(kB).IsVacant("lot"));
  EXPECT_THAT(net.Changes(kB), ElementsAre("show other b"));
}

// A peer of a version that does not know vacancies reads only the releases and claims.
TEST(NameTableTest, APeerThatDoesNotKnowVacanciesSeesTheNameFreeAndThenItsOwner) {
  NameNet net(2);
  net.SetSent([](NameNet&, int, int, proto::NameChanges& changes) {
    proto::NameChanges known;
    for (const proto::NameChange& change : changes.changes()) {
      if (!change.has_vacancy()) *known.add_changes() = change;
    }
    *changes.mutable_changes() = known.changes();
    return true;
  });
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  net.Vacate(kA, "lot");
  ASSERT_TRUE(net.Claim(kA, "lot", 2).ok());
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot a", "hide lot", "show lot a"));
}

TEST(NameTableTest, ANameThatIsKnownToBeTakenIsRefusedWithItsOwner) {
  NameNet net(1);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  EXPECT_TRUE(net.Claim(kA, "lot", 1).ok());  // its owner again
  const absl::Status status = net.Claim(kA, "lot", 2);
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("node a"));
}

TEST(NameTableTest, OnlyTheOwnerReleases) {
  NameNet net(1);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  net.table(kA).Release("lot", Pid(1, 2, 2));
  EXPECT_TRUE(net.Owns(kA, "lot"));
}

TEST(NameTableTest, ANameReleasedAndClaimedByASuccessorArrivesAsTheSuccessors) {
  NameNet net(2);
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  net.Release(kA, "lot");
  ASSERT_TRUE(net.Claim(kA, "lot", 2).ok());
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot a", "hide lot", "show lot a"));
  EXPECT_EQ(net.table(kB).Find("lot")->pid, Pid(1, 1, 2));
}

TEST(NameTableTest, APeersNamesGoWithItsSessionAndOnlyThey) {
  NameNet net(2);
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "of a", 1).ok());
  ASSERT_TRUE(net.Claim(kB, "of b", 1).ok());
  net.DeliverAll();
  net.Changes(kB);
  net.Cut(kA, kB);
  EXPECT_THAT(net.Changes(kB), ElementsAre("hide of a"));
  EXPECT_TRUE(net.Owns(kB, "of b"));
}

TEST(NameTableTest, ANodeTellsItsOwnNamesAndNoneOfAPeers) {
  NameNet net(3);
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "of a", 1).ok());
  ASSERT_TRUE(net.Claim(kB, "of b", 1).ok());
  net.DeliverAll();
  net.Join(kB, kC);
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kC), ElementsAre("show of b b"));
}

// ---- Grants ----

TEST(NameTableTest, AClaimWithoutTheGrantIsEnteredNowhereAndDisturbsNoOwner) {
  // Only b is granted the name; a claims an older one.
  NameNet net(3, [](absl::string_view, absl::string_view owner, absl::string_view) { return owner == "b"; });
  for (const auto& [i, j] : std::vector<std::pair<int, int>>{{kA, kB}, {kB, kC}, {kA, kC}}) net.Join(i, j);
  ASSERT_TRUE(net.Claim(kA, "lot", 1, /*at=*/10).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 1, /*at=*/100).ok());
  EXPECT_THAT(net.Changes(kA), ElementsAre("show lot a"));
  net.DeliverAll();
  // The claimant is told by the owner, which it grants the name.
  EXPECT_THAT(net.Changes(kA), ElementsAre("show lot b", "forbidden lot by b"));
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot b", "not granted lot to a"));
  EXPECT_THAT(net.Changes(kC), ElementsAre("not granted lot to a", "show lot b"));
  EXPECT_GT(net.table(kB).counters("a").claims_refused, 0);
}

TEST(NameTableTest, ARefusalByANodeWithoutTheGrantIsOnlyCounted) {
  NameNet net(2, [](absl::string_view, absl::string_view, absl::string_view) { return false; });
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 1, /*at=*/10).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 1, /*at=*/100).ok());
  ASSERT_TRUE(net.Claim(kA, "book", 2, /*at=*/10).ok());
  ASSERT_TRUE(net.Claim(kB, "book", 2, /*at=*/100).ok());
  net.DeliverAll();
  EXPECT_TRUE(net.Owns(kA, "lot"));
  EXPECT_TRUE(net.Owns(kB, "lot"));
  EXPECT_THAT(net.Changes(kA),
              ElementsAre("show lot a", "show book a", "not granted lot to b", "refused lot by b"));  // once each
  EXPECT_EQ(net.table(kA).counters("b").refusals_ignored, 2);
  EXPECT_EQ(net.table(kA).counters("b").conflicts_lost, 0);
}

// b claimed when a had no owner, so a has forgotten the refusal.
TEST(NameTableTest, AnOwnerWithTheGrantWinsAlsoWhenItClaimsLast) {
  NameNet net(2, [](absl::string_view, absl::string_view owner, absl::string_view) { return owner == "a"; });
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kB, "lot", 1, /*at=*/10).ok());
  net.DeliverAll();
  ASSERT_TRUE(net.Claim(kA, "lot", 1, /*at=*/100).ok());
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot b", "show lot a", "forbidden lot by a"));
  EXPECT_TRUE(net.Owns(kA, "lot"));
}

TEST(NameTableTest, NamesThatWereRefusedAreToldAgainWhenTheGrantsChange) {
  auto granted = std::make_shared<bool>(false);
  NameNet net(2, [granted](absl::string_view, absl::string_view, absl::string_view) { return *granted; });
  net.Join(kA, kB);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(net.Claim(kA, absl::StrCat("lot ", i), i + 1).ok());
  net.DeliverAll();
  EXPECT_EQ(net.table(kB).names_of("a"), 0U);
  *granted = true;
  net.table(kB).OnGrantsChanged("a");
  net.Tell();
  net.DeliverAll();
  EXPECT_EQ(net.table(kB).names_of("a"), 3000U);
  *granted = false;
  net.table(kB).OnGrantsChanged("a");
  net.Tell();
  net.DeliverAll();
  EXPECT_EQ(net.table(kB).names_of("a"), 0U);
}

TEST(NameTableTest, ANameThatIsNoLongerGrantedGoesAtOnceWhateverThePeerSays) {
  auto granted = std::make_shared<bool>(true);
  NameNet net(2, [granted](absl::string_view, absl::string_view, absl::string_view) { return *granted; });
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 1).ok());
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kB), ElementsAre("show lot a"));
  *granted = false;
  net.table(kB).OnGrantsChanged("a");
  EXPECT_THAT(net.Changes(kB), ElementsAre("hide lot"));
  EXPECT_EQ(net.table(kB).names_of("a"), 0U);
}

// ---- Conflicts ----

TEST(NameTableTest, OfTwoLiveOwnersTheOlderClaimWinsOnBothNodes) {
  NameNet net(2);
  ASSERT_TRUE(net.Claim(kA, "lot", 10, /*at=*/50).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 20, /*at=*/30).ok());
  net.Changes(kA);
  net.Changes(kB);
  net.Join(kA, kB);
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kA), ElementsAre("show lot b", "lost lot to b"));
  EXPECT_THAT(net.Changes(kB), IsEmpty());
  EXPECT_FALSE(net.Owns(kA, "lot"));
  EXPECT_TRUE(net.Owns(kB, "lot"));
}

TEST(NameTableTest, OfTwoClaimsMadeDuringASessionTheOlderWinsToo) {
  NameNet net(2);
  net.Join(kA, kB);
  ASSERT_TRUE(net.Claim(kA, "lot", 10, /*at=*/250).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 20, /*at=*/240).ok());
  net.DeliverAll();
  EXPECT_FALSE(net.Owns(kA, "lot"));
  EXPECT_TRUE(net.Owns(kB, "lot"));
}

// The clocks of two machines have nothing in common but their pace.
TEST(NameTableTest, WhereTheClocksStandChangesNothing) {
  constexpr int64_t kDay = int64_t{86400} * 1000000000;
  NameNet net(2);
  ASSERT_TRUE(net.Claim(kA, "lot", 10, /*at=*/kDay + 50).ok());  // 150 before they meet
  ASSERT_TRUE(net.Claim(kB, "lot", 20, /*at=*/100).ok());        // 100 before
  net.Join(kA, kB, /*at_i=*/kDay + 200, /*at_j=*/200);
  net.DeliverAll();
  EXPECT_TRUE(net.Owns(kA, "lot"));
  EXPECT_FALSE(net.Owns(kB, "lot"));
}

TEST(NameTableTest, ClaimsOfTheSameAgeAreDecidedByTheNodesNames) {
  NameNet net(2);
  ASSERT_TRUE(net.Claim(kA, "lot", 10).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 20).ok());
  net.Join(kA, kB);
  net.DeliverAll();
  EXPECT_TRUE(net.Owns(kA, "lot"));
  EXPECT_FALSE(net.Owns(kB, "lot"));
}

TEST(NameTableTest, TheLoserKeepsTheNameUntilTheWinnerConfirms) {
  NameNet net(2);
  ASSERT_TRUE(net.Claim(kA, "lot", 10).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 20).ok());
  net.Join(kA, kB);
  net.Deliver(kA, kB);  // b knows that it is beaten
  EXPECT_TRUE(net.Owns(kB, "lot"));
  net.Release(kA, "lot");  // and the winner is gone before it is asked
  net.DeliverAll();
  EXPECT_TRUE(net.Owns(kB, "lot"));
  EXPECT_EQ(net.table(kA).Find("lot")->node, "b");
}

TEST(NameTableTest, AThirdPartyShowsTheOlderClaimAndActsOnNothing) {
  NameNet net(3);
  ASSERT_TRUE(net.Claim(kA, "lot", 10, /*at=*/50).ok());
  ASSERT_TRUE(net.Claim(kB, "lot", 20, /*at=*/30).ok());
  net.Join(kA, kC);
  net.DeliverAll();
  net.Join(kB, kC);
  net.DeliverAll();
  EXPECT_THAT(net.Changes(kC), ElementsAre("show lot a", "show lot b"));
  EXPECT_TRUE(net.Owns(kA, "lot"));
  net.Cut(kB, kC);
  EXPECT_EQ(net.table(kC).Find("lot")->node, "a");
}

// ---- Hostile peers ----

class HostileNames : public ::testing::Test {
 protected:
  HostileNames() { net_.Join(kA, kB); }

  absl::Status Tell(const proto::NameChanges& changes) {
    return net_.table(kA).OnChanges("b", changes.SerializeAsString());
  }
  // Returns the status for a valid claim after `change` was applied to it.
  template <class F>
  absl::Status StatusOf(F change) {
    proto::NameChanges changes;
    proto::NameClaim& claim = *changes.add_changes()->mutable_claim();
    claim.set_name(absl::StrCat("lot ", ++last_));
    claim.set_serial(1);
    claim.set_number(last_);
    change(claim);
    const absl::Status status = Tell(changes);
    net_.table(kA).OnChangesEntered("b");
    return status;
  }
  static proto::SignatureSet SetOf(uint32_t number, int mailboxes, size_t name_bytes) {
    proto::SignatureSet set;
    set.set_number(number);
    for (int i = 0; i < mailboxes; ++i) set.add_mailboxes()->set_name(std::string(name_bytes, 'm'));
    return set;
  }
  absl::Status Define(const proto::SignatureSet& set) {
    proto::NameChanges changes;
    *changes.add_definitions() = set;
    const absl::Status status = Tell(changes);
    net_.table(kA).OnChangesEntered("b");
    return status;
  }

  NameNet net_{2};
  uint64_t last_ = 0;
};

TEST_F(HostileNames, ImpossibleClaimsAreBadFrames) {
  EXPECT_TRUE(StatusOf([](proto::NameClaim&) {}).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_serial(0); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_serial(uint64_t{1} << 48); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_number(0); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_name(""); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_name("a\nb"); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_name(std::string(256, 'n')); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_age_nanos(INT64_MAX); }).ok());
  EXPECT_FALSE(StatusOf([](proto::NameClaim& c) { c.set_signatures(1); }).ok());  // not defined
  EXPECT_TRUE(StatusOf([](proto::NameClaim&) {}).ok());
}

TEST_F(HostileNames, ImpossibleSetsOfMailboxesAreBadFrames) {
  EXPECT_TRUE(Define(SetOf(1, 64, 1024)).ok());
  EXPECT_FALSE(Define(SetOf(1, 1, 1)).ok());  // again
  EXPECT_FALSE(Define(SetOf(0, 1, 1)).ok());
  EXPECT_FALSE(Define(SetOf(2, 65, 1)).ok());
  EXPECT_FALSE(Define(SetOf(3, 1, 1025)).ok());
  proto::SignatureSet long_message = SetOf(4, 1, 1);
  long_message.mutable_mailboxes(0)->set_request(std::string(limits::kMessageNameBytesMax + 1, 'r'));
  EXPECT_FALSE(Define(long_message).ok());
}

TEST_F(HostileNames, APartIsBoundedBeforeItIsParsed) {
  EXPECT_FALSE(net_.table(kA).OnChanges("b", std::string(limits::kNamePartBytesMax + 1, '\0')).ok());
  EXPECT_FALSE(net_.table(kA).OnChanges("b", "\x0a\x7f").ok());
}

TEST_F(HostileNames, APeerThatIgnoresFlowControlSendsABadFrame) {
  proto::NameChanges changes;
  changes.add_changes()->mutable_release()->set_name("x");
  for (uint32_t i = 0; i < limits::kNamePartsUntakenMax; ++i) ASSERT_TRUE(Tell(changes).ok());
  EXPECT_FALSE(Tell(changes).ok());
  proto::NameChanges taken;
  taken.set_taken(1);
  EXPECT_FALSE(Tell(taken).ok());  // it was told nothing
}

TEST_F(HostileNames, AConfirmationThatWasNotAskedForEndsNoOwner) {
  ASSERT_TRUE(net_.Claim(kA, "lot", 1).ok());
  proto::NameChanges changes;
  proto::NameMark& confirm = *changes.add_changes()->mutable_confirm();
  confirm.set_name("lot");
  confirm.set_number(net_.table(kA).Find("lot")->number);
  ASSERT_TRUE(Tell(changes).ok());
  EXPECT_TRUE(net_.Owns(kA, "lot"));
}

// ---- Any history ----

// Runs a random history of three nodes with sessions that begin and end. Returns what was wrong when all nodes were
// connected and had told everything, or an empty text.
std::string RunHistory(uint64_t seed) {
  Random random(seed);
  NameNet net(3);
  uint64_t serial = 0;
  for (int step = 0; step < 300; ++step) {
    const int node = static_cast<int>(random.Below(3));
    const int other = static_cast<int>((node + 1 + random.Below(2)) % 3);
    const std::string name = absl::StrCat("n", random.Below(4));
    const auto time = static_cast<int64_t>(random.Below(20));
    switch (random.Below(7)) {
      case 0:
      case 1:
        (void)net.Claim(node, name, ++serial, 100 + time);
        break;
      case 2:
        net.Release(node, name);
        break;
      case 3:
        if (net.IsJoined(node, other)) {
          net.Cut(node, other);
        } else {
          net.Join(node, other, 200 + time, 200 + static_cast<int64_t>(random.Below(20)));
        }
        break;
      default:
        if (const auto ready = net.Ready(); !ready.empty()) {
          const auto& [from, to] = ready[random.Below(ready.size())];
          net.Deliver(from, to);
        }
    }
  }
  for (const auto& [i, j] : std::vector<std::pair<int, int>>{{kA, kB}, {kB, kC}, {kA, kC}}) {
    if (!net.IsJoined(i, j)) net.Join(i, j);
  }
  net.DeliverAll();
  for (int n = 0; n < 4; ++n) {
    const std::string name = absl::StrCat("n", n);
    int owners = 0;
    for (int i = 0; i < 3; ++i) owners += net.Owns(i, name) ? 1 : 0;
    if (owners > 1) return absl::StrCat(name, " has ", owners, " owners");
    const absl::optional<NameEntry> of_a = net.table(kA).Find(name);
    if (of_a.has_value() != (owners == 1)) return absl::StrCat(name, " is shown without an owner, or not shown");
    for (int i = 1; i < 3; ++i) {
      const absl::optional<NameEntry> other = net.table(i).Find(name);
      if (other.has_value() != of_a.has_value()) return absl::StrCat(name, " is not known everywhere");
      if (other.has_value() && other->pid != of_a->pid) return absl::StrCat(name, " differs");
    }
  }
  return "";
}

TEST(NameTablePropertyTest, WhenEverybodyIsConnectedAndToldAllTablesAgree) {
  for (const uint64_t seed : SeedsOf(300)) ASSERT_EQ(RunHistory(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace understudy
