// Tests of names between nodes: the effects of the table's rules (name_table_test) on actors, registries and sessions.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeCoreNamesTest : public ClusterTest {
 protected:
  static SimulatedCluster::Options Unproved() {
    SimulatedCluster::Options options;
    options.insecure_loopback_grants = false;
    options.identity = [](absl::string_view, absl::string_view) { return StreamIdentity::Unproved(); };
    return options;
  }
  absl::Status Publish(absl::string_view node, absl::string_view name, uint64_t serial = 1) {
    absl::Status status;
    const Pid pid(cluster().system(node).node(), 1, serial);
    cluster().core(node).Publish({.name = std::string(name), .pid = pid, .scope = NameScope::kCluster},
                                 [&](absl::Status done) { status = std::move(done); });
    return status;
  }
  bool Knows(absl::string_view node, absl::string_view name) {
    return cluster().system(node).registry().Find(name).has_value();
  }
};

TEST_F(NodeCoreNamesTest, AClaimWithoutTheGrantIsEnteredNowhereAndEndsNobody) {
  Join(Unproved());
  const Puppeteer victim = Make("b", "b/lot");
  Run(absl::Seconds(1));
  EXPECT_TRUE(Knows("a", "b/lot"));
  // a has claimed b's name before they met again, and for longer.
  cluster().network().Cut("a", "b");
  Make("a", "lot");
  Run(absl::Seconds(2));
  EXPECT_FALSE(Knows("b", "lot"));
  EXPECT_THAT(*victim.diary, IsEmpty());
  EXPECT_THAT(cluster().peer_events("b"),
              Contains("no name here for node a, which claims 'lot', which this node does not grant it; further "
                       "refusals of this session are only counted (NodeOptions::grants can grant it)"));
  EXPECT_THAT(cluster().core("b").Peers()[0].ToString(), HasSubstr("; 1 names of its refused"));
}

TEST_F(NodeCoreNamesTest, AClaimantWithoutTheGrantExitsIfItsOwnNodeGrantsTheNameToTheOwners) {
  SimulatedCluster::Options options;
  options.insecure_loopback_grants = false;
  options.identity = [](absl::string_view from, absl::string_view) {
    return from == "a" ? StreamIdentity::Unproved() : StreamIdentity::SameUser();
  };
  Join(std::move(options));
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(1));
  // Without the rules of grants the older claim, a's, would win.
  const Puppeteer claimant = Make("a", "lot");
  Run(absl::Seconds(2));
  const Puppeteer owner = Make("b", "lot");
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(10));
  EXPECT_THAT(*claimant.diary,
              ElementsAre("exit NotPermitted(node b owns the name 'lot' and does not grant it to node a)"));
  EXPECT_THAT(*owner.diary, IsEmpty());
  for (const char* node : {"a", "b"}) {
    ASSERT_TRUE(cluster().system(node).WhereIs("lot").has_value()) << node;
    EXPECT_EQ(cluster().system(node).WhereIs("lot")->ToString(), owner.ref.pid().ToString()) << node;
  }
}

TEST_F(NodeCoreNamesTest, AReservedNameCannotBePublishedByAnotherNode) {
  Join();
  EXPECT_TRUE(Publish("a", "understudy/children/a").ok());
  EXPECT_TRUE(IsNotPermitted(Publish("a", "understudy/children/b")));
}

TEST_F(NodeCoreNamesTest, AnUnprovedPeerHasFewNamesHere) {
  constexpr size_t kNames = limits::kUnprovedNameBytesMax / limits::EnteredBytes(8);
  Join(Unproved());
  for (size_t i = 0; i < kNames + 10; ++i) ASSERT_TRUE(Publish("a", absl::StrCat("a/", 100000 + i), i + 1).ok());
  Run(absl::Seconds(5));
  EXPECT_EQ(cluster().system("b").registry().List("a/").size(), kNames);
  EXPECT_THAT(cluster().core("b").Peers()[0].ToString(), HasSubstr("; 10 names of its refused"));
  EXPECT_THAT(cluster().peer_events("b"),
              Contains(absl::StrCat("no name here for node a, which claims 'a/", 100000 + kNames,
                                    "', beyond the room for the names and sets of mailboxes of a peer; further "
                                    "refusals of this session are only counted (a peer whose identity TLS or "
                                    "a Unix socket proves has more)")));
}

TEST_F(NodeCoreNamesTest, TheRegistryKeepsTheMailboxesOfManyNamesOnce) {
  Join();
  const auto mailboxes = std::make_shared<const std::vector<MailboxSignature>>(
      std::vector<MailboxSignature>{{.name = "bid", .request = "lot.Bid"}});
  for (const uint64_t serial : {1, 2}) {
    const Pid pid(cluster().system("a").node(), 1, serial);
    cluster().core("a").Publish(
        {.name = absl::StrCat("lot/", serial), .pid = pid, .scope = NameScope::kCluster, .mailboxes = mailboxes},
        [](const absl::Status& done) { EXPECT_TRUE(done.ok()) << done; });
  }
  Run(absl::Seconds(1));
  const std::vector<NameRecord> records = cluster().system("b").registry().List("lot/");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(*records[0].mailboxes, *mailboxes);
  EXPECT_EQ(records[0].mailboxes, records[1].mailboxes);
}

// `.ci/long seeds` has a million names of each node meet.
TEST_F(NodeCoreNamesTest, VeryManyLongNamesMeetInOneSession) {
  const int names = RoundsOf(20000);
  Join();
  cluster().network().Partition("a", "b");
  ASSERT_TRUE(cluster().RunUntil([&] { return !cluster().core("a").Peers()[0].is_live; }, absl::Minutes(2)));
  for (int i = 0; i < names; ++i) {
    ASSERT_TRUE(Publish("a", absl::StrCat(std::string(200, 'a'), i), i + 1).ok());
    ASSERT_TRUE(Publish("b", absl::StrCat(std::string(200, 'b'), i), i + 1).ok());
  }
  cluster().network().Heal("a", "b");
  size_t waiting_max = 0;
  const auto is_told = [&] {
    waiting_max = std::max(waiting_max, static_cast<size_t>(cluster().core("a").Ledger().waiting));
    // In the order of their texts this is the last.
    const std::string last(std::to_string(names - 1).size(), '9');
    return Knows("a", absl::StrCat(std::string(200, 'b'), last.substr(1))) &&
           Knows("b", absl::StrCat(std::string(200, 'a'), last.substr(1)));
  };
  EXPECT_TRUE(cluster().RunUntil(is_told, absl::Minutes(10)));
  // The parts and the acknowledgements of the peer's.
  EXPECT_LE(waiting_max, 2 * limits::kNamePartsUntakenMax);
}

}  // namespace
}  // namespace understudy
