// Rows about which nodes are connected, and about thousands of names that arrive at once, in a cluster that is
// simulated on one thread.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/transport/ref_proto.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::UnorderedElementsAre;

class NodesPeersTest : public ClusterTest {
 protected:
  // Returns the nodes with which `node` has a session that is carried by a stream.
  std::vector<std::string> ConnectedTo(absl::string_view node) {
    std::vector<std::string> connected;
    for (const PeerStatus& peer : cluster().core(node).Peers()) {
      if (peer.is_up) connected.push_back(peer.node);
    }
    return connected;
  }
};

// EBA 24
TEST_F(NodesPeersTest, ANodeListsWhoIsConnectedAfterDisconnectingConnectingAndACrash) {
  Join({.nodes = {"a", "b", "c"}});
  EXPECT_THAT(ConnectedTo("a"), UnorderedElementsAre("b", "c"));
  for (const auto& [node, peer] : {std::pair("a", "b"), std::pair("b", "a")}) cluster().core(node).ForgetPeer(peer);
  cluster().network().Cut("a", "b");
  Run(absl::Seconds(30));
  EXPECT_THAT(ConnectedTo("a"), UnorderedElementsAre("c"));
  ASSERT_TRUE(cluster().core("a").SetPeer("b", "b").ok());
  Run(absl::Seconds(10));
  EXPECT_THAT(ConnectedTo("a"), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(ConnectedTo("b"), UnorderedElementsAre("a", "c"));
  cluster().Crash("c");
  EXPECT_TRUE(cluster().RunUntil([&] { return ConnectedTo("a") == std::vector<std::string>{"b"}; }, absl::Seconds(5)));
}

// OTP PG-07
TEST_F(NodesPeersTest, AClaimOfTheNodeItselfWaitsForNoneOfThousandsThatArrive) {
  constexpr int kNames = 5000;
  Join();
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(1));
  const std::string prefix(100, 'n');
  for (int i = 0; i < kNames; ++i) {
    cluster().system("a").Spawn<Puppet>(SpawnOptions{.published_as = absl::StrCat(prefix, i)},
                                        std::make_shared<Diary>());
  }
  Run();
  cluster().network().Heal("a", "b");
  cluster().network().SetDelay("a", "b", absl::Milliseconds(50));
  // Names arrive in lexicographic order, in which the suffix "0" is the first and "999" the last.
  const auto is_known = [&](int i) { return cluster().system("b").WhereIs(absl::StrCat(prefix, i)).has_value(); };
  ASSERT_TRUE(cluster().RunUntil([&] { return is_known(0); }, absl::Minutes(1)));
  ASSERT_FALSE(is_known(999));
  cluster().system("b").Spawn<Puppet>(SpawnOptions{.published_as = "of b"}, std::make_shared<Diary>());
  Run(absl::Milliseconds(1));
  EXPECT_TRUE(cluster().system("b").WhereIs("of b").has_value());
  EXPECT_FALSE(is_known(999)) << "the names are still in transit";
  EXPECT_TRUE(cluster().RunUntil([&] { return is_known(999); }, absl::Minutes(5)));
}

// PONY 14
TEST_F(NodesPeersTest, ARefOnTheWireIsAFewBytesWhateverItsActorHolds) {
  Join();
  const Puppeteer small = Make("a");
  const Puppeteer large = Make("a");
  large.diary->assign(1000, std::string(1000, 'x'));
  for (const Puppeteer& one : {small, large}) {
    EXPECT_LE(ToProto(Ref<Puppet>(Seen("b", one, "a"))).ByteSizeLong(), 40U);
  }
}

}  // namespace
}  // namespace understudy
