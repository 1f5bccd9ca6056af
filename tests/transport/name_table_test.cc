#include "understudy/transport/name_table.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/seeds.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// In these tests node n's pids have index n on every node.
constexpr uint16_t kA = 1;
constexpr uint16_t kB = 2;

absl::Time At(int seconds) { return absl::FromUnixSeconds(1000 + seconds); }

// "show name node", "hide name", "lost name serial"
std::vector<std::string> Changes(NameTable& table) {
  std::vector<std::string> out;
  for (const NameTable::Change& change : table.TakeChanges()) {
    switch (change.kind) {
      case NameTable::Change::Kind::kShow:
        out.push_back(absl::StrCat("show ", change.name, " ", change.entry.node));
        break;
      case NameTable::Change::Kind::kHide:
        out.push_back(absl::StrCat("hide ", change.name));
        break;
      case NameTable::Change::Kind::kLost:
        out.push_back(absl::StrCat("lost ", change.name, " ", change.entry.pid.serial()));
        break;
    }
  }
  return out;
}

TEST(NameTableTest, AClaimIsShownAndToldAndItsReleaseToo) {
  NameTable a("a");
  NameTable b("b");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 1), At(0), {}).ok());
  EXPECT_THAT(Changes(a), ElementsAre("show lot a"));
  ASSERT_TRUE(b.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  EXPECT_THAT(Changes(b), ElementsAre("show lot a"));
  EXPECT_EQ(b.Find("lot")->pid, Pid(kA, 1, 1));
  EXPECT_EQ(b.Find("lot")->claimed, At(0));

  a.Release("lot", Pid(kA, 1, 1));
  ASSERT_TRUE(b.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  EXPECT_THAT(Changes(b), ElementsAre("hide lot"));
  EXPECT_EQ(b.Find("lot"), nullptr);
  EXPECT_EQ(a.TakeOwnChanges(), absl::nullopt);
}

TEST(NameTableTest, ANameThatIsKnownToBeTakenIsRefusedWithItsOwner) {
  NameTable a("a");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 1), At(0), {}).ok());
  EXPECT_TRUE(a.Claim("lot", Pid(kA, 1, 1), At(1), {}).ok());  // its owner again
  const absl::Status status = a.Claim("lot", Pid(kA, 2, 2), At(1), {});
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("node a"));
}

TEST(NameTableTest, OnlyTheOwnerReleases) {
  NameTable a("a");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 1), At(0), {}).ok());
  a.Release("lot", Pid(kA, 2, 2));
  EXPECT_NE(a.Find("lot"), nullptr);
}

TEST(NameTableTest, ANameReleasedAndClaimedByASuccessorArrivesAsTheSuccessors) {
  NameTable a("a");
  NameTable b("b");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 1), At(0), {}).ok());
  ASSERT_TRUE(b.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  a.Release("lot", Pid(kA, 1, 1));
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 2), At(1), {}).ok());
  ASSERT_TRUE(b.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  EXPECT_THAT(Changes(b), ElementsAre("show lot a", "hide lot", "show lot a"));
  EXPECT_EQ(b.Find("lot")->pid, Pid(kA, 1, 2));
}

TEST(NameTableTest, AClaimTakenBackBeforeAnybodyWasToldIsNotTold) {
  NameTable a("a");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 1), At(0), {}).ok());
  a.Release("lot", Pid(kA, 1, 1));
  EXPECT_EQ(a.TakeOwnChanges(), absl::nullopt);
}

TEST(NameTableTest, ASnapshotHasAllOfOurNamesAndNoneOfAPeers) {
  NameTable a("a");
  NameTable b("b");
  ASSERT_TRUE(a.Claim("of a", Pid(kA, 1, 1), At(0), {}).ok());
  ASSERT_TRUE(b.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  for (int i = 0; i < 2500; ++i) ASSERT_TRUE(b.Claim(absl::StrCat("of b ", i), Pid(kB, 1, i + 1), At(0), {}).ok());
  const std::vector<proto::NameChanges> parts = b.Snapshot();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_FALSE(parts[0].snapshot_complete());
  EXPECT_TRUE(parts[2].snapshot_complete());
  NameTable c("c");
  for (const proto::NameChanges& part : parts) ASSERT_TRUE(c.OnChanges("b", kB, part).ok());
  EXPECT_EQ(c.size(), 2500U);
  EXPECT_EQ(c.Find("of a"), nullptr);
}

TEST(NameTableTest, APeersNamesGoWithItsSessionAndOnlyThey) {
  NameTable a("a");
  NameTable b("b");
  ASSERT_TRUE(a.Claim("of a", Pid(kA, 1, 1), At(0), {}).ok());
  ASSERT_TRUE(b.Claim("of b", Pid(kB, 1, 1), At(0), {}).ok());
  ASSERT_TRUE(b.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  Changes(b);
  b.OnSessionEnded("a");
  EXPECT_THAT(Changes(b), ElementsAre("hide of a"));
  EXPECT_NE(b.Find("of b"), nullptr);
}

TEST(NameTableTest, OfTwoLiveOwnersTheEarlierClaimWinsOnBothNodes) {
  NameTable a("a");
  NameTable b("b");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 10), At(5), {}).ok());
  ASSERT_TRUE(b.Claim("lot", Pid(kB, 1, 20), At(3), {}).ok());
  Changes(a);
  Changes(b);
  ASSERT_TRUE(a.OnChanges("b", kB, *b.TakeOwnChanges()).ok());
  ASSERT_TRUE(b.OnChanges("a", kA, a.Snapshot()[0]).ok());
  EXPECT_THAT(Changes(a), ElementsAre("show lot b", "lost lot 10"));
  EXPECT_EQ(a.Find("lot")->node, "b");
  EXPECT_EQ(b.Find("lot")->node, "b");
  EXPECT_THAT(Changes(b), IsEmpty());
}

TEST(NameTableTest, ClaimsOfTheSameMomentAreDecidedByTheNodesNames) {
  NameTable a("a");
  NameTable b("b");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 10), At(5), {}).ok());
  ASSERT_TRUE(b.Claim("lot", Pid(kB, 1, 20), At(5), {}).ok());
  Changes(a);
  Changes(b);
  const proto::NameChanges of_a = *a.TakeOwnChanges();
  const proto::NameChanges of_b = *b.TakeOwnChanges();
  ASSERT_TRUE(a.OnChanges("b", kB, of_b).ok());
  ASSERT_TRUE(b.OnChanges("a", kA, of_a).ok());
  EXPECT_THAT(Changes(a), IsEmpty());
  EXPECT_THAT(Changes(b), ElementsAre("show lot a", "lost lot 20"));
  // The loser's node tells that it let go, which changes nothing on a's.
  ASSERT_TRUE(a.OnChanges("b", kB, *b.TakeOwnChanges()).ok());
  EXPECT_EQ(a.Find("lot")->node, "a");
}

TEST(NameTableTest, AThirdPartyShowsTheBetterClaimAndActsOnNothing) {
  NameTable a("a");
  NameTable b("b");
  NameTable c("c");
  ASSERT_TRUE(a.Claim("lot", Pid(kA, 1, 10), At(5), {}).ok());
  ASSERT_TRUE(b.Claim("lot", Pid(kB, 1, 20), At(3), {}).ok());
  ASSERT_TRUE(c.OnChanges("a", kA, *a.TakeOwnChanges()).ok());
  ASSERT_TRUE(c.OnChanges("b", kB, *b.TakeOwnChanges()).ok());
  EXPECT_THAT(Changes(c), ElementsAre("show lot a", "show lot b"));
  EXPECT_EQ(c.TakeOwnChanges(), absl::nullopt);
  c.OnSessionEnded("b");
  EXPECT_EQ(c.Find("lot")->node, "a");
}

TEST(NameTableTest, HostileChangesAreBadFrames) {
  NameTable a("a");
  const auto status_of = [&](auto change) {
    proto::NameChanges changes;
    proto::NameClaim& claim = *changes.add_claims();
    claim.set_name("lot");
    claim.set_serial(1);
    change(claim);
    return a.OnChanges("b", kB, changes);
  };
  EXPECT_TRUE(status_of([](proto::NameClaim&) {}).ok());
  EXPECT_FALSE(status_of([](proto::NameClaim& c) { c.set_serial(0); }).ok());
  EXPECT_FALSE(status_of([](proto::NameClaim& c) { c.set_serial(uint64_t{1} << 48); }).ok());
  EXPECT_FALSE(status_of([](proto::NameClaim& c) { c.set_name(""); }).ok());
  EXPECT_FALSE(status_of([](proto::NameClaim& c) { c.set_name("a\nb"); }).ok());
  EXPECT_FALSE(status_of([](proto::NameClaim& c) { c.set_name(std::string(256, 'n')); }).ok());
  EXPECT_FALSE(status_of([](proto::NameClaim& c) {
                 for (int i = 0; i <= limits::kMailboxesPerActorMax; ++i) c.add_mailboxes();
               }).ok());
}

// Three nodes with sessions that come and go; changes travel in order per pair.
class Mesh {
 public:
  explicit Mesh(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i)
      tables_.push_back(std::make_unique<NameTable>(std::string(1, static_cast<char>('a' + i))));
  }

  // Empty, or what was wrong when everything had settled.
  std::string Run() {
    for (int step = 0; step < 200; ++step) {
      const int node = static_cast<int>(random_.Below(3));
      const std::string name = absl::StrCat("n", random_.Below(4));
      switch (random_.Below(5)) {
        case 0:
        case 1:
          (void)tables_[node]->Claim(name, Pid(static_cast<uint16_t>(node + 1), 1, ++serial_),
                                     At(static_cast<int>(random_.Below(20))), {});
          break;
        case 2:
          if (const NameEntry* entry = tables_[node]->Find(name)) tables_[node]->Release(name, entry->pid);
          break;
        case 3:
          Toggle(node, static_cast<int>((node + 1 + random_.Below(2)) % 3));
          break;
        default:
          DeliverOne();
      }
      Tell();
    }
    for (int i = 0; i < 3; ++i) {
      for (int j = i + 1; j < 3; ++j) {
        if (!joined_.contains({i, j})) Toggle(i, j);
      }
    }
    while (DeliverOne()) Tell();
    for (int n = 0; n < 4; ++n) {
      const std::string name = absl::StrCat("n", n);
      for (int i = 1; i < 3; ++i) {
        const NameEntry* a = tables_[0]->Find(name);
        const NameEntry* b = tables_[i]->Find(name);
        if ((a == nullptr) != (b == nullptr) || (a != nullptr && a->pid != b->pid))
          return absl::StrCat(name, " differs");
      }
    }
    return "";
  }

 private:
  void Tell() {
    for (int i = 0; i < 3; ++i) {
      const absl::optional<proto::NameChanges> changes = tables_[i]->TakeOwnChanges();
      if (!changes.has_value()) continue;
      for (int j = 0; j < 3; ++j) {
        if (i != j && joined_.contains(std::minmax(i, j))) queues_[{i, j}].push_back(*changes);
      }
    }
  }

  void Toggle(int i, int j) {
    Tell();
    const std::pair<int, int> pair = std::minmax(i, j);
    queues_[{i, j}].clear();
    queues_[{j, i}].clear();
    if (joined_.erase(pair) > 0) {
      tables_[i]->OnSessionEnded(std::string(1, static_cast<char>('a' + j)));
      tables_[j]->OnSessionEnded(std::string(1, static_cast<char>('a' + i)));
      Tell();
      return;
    }
    joined_.insert(pair);
    for (const proto::NameChanges& part : tables_[i]->Snapshot()) queues_[{i, j}].push_back(part);
    for (const proto::NameChanges& part : tables_[j]->Snapshot()) queues_[{j, i}].push_back(part);
  }

  bool DeliverOne() {
    std::vector<std::pair<int, int>> ready;
    for (const auto& [pair, queue] : queues_) {
      if (!queue.empty()) ready.push_back(pair);
    }
    if (ready.empty()) return false;
    const auto [from, to] = ready[random_.Below(ready.size())];
    const proto::NameChanges changes = queues_[{from, to}].front();
    queues_[{from, to}].pop_front();
    EXPECT_TRUE(tables_[to]
                    ->OnChanges(std::string(1, static_cast<char>('a' + from)), static_cast<uint16_t>(from + 1), changes)
                    .ok());
    return true;
  }

  Random random_;
  std::vector<std::unique_ptr<NameTable>> tables_;
  std::set<std::pair<int, int>> joined_;
  std::map<std::pair<int, int>, std::deque<proto::NameChanges>> queues_;
  uint64_t serial_ = 0;
};

TEST(NameTablePropertyTest, WhenEverybodyIsConnectedAndToldAllTablesAgree) {
  for (const uint64_t seed : SeedsOf(300)) ASSERT_EQ(Mesh(seed).Run(), "") << "seed " << seed;
}

}  // namespace
}  // namespace understudy
