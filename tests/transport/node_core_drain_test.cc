// Tests of NodeCore: what a draining node accepts and refuses, and what it reports to a PeerWatch.
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/peer_watch.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

class NodeCoreDrainTest : public ClusterTest {};

TEST_F(NodeCoreDrainTest, ADrainingNodeRefusesNewAsksAndAsksUnderWayTellsAndItsOwnAsksGoOn) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid b_from_a = Seen("a", b, "b");
  Ask(a, b_from_a, -1);  // answered when b ends
  cluster().core("b").BeginDrain();
  Ask(a, b_from_a, 1);
  EXPECT_THAT(*a.diary, ElementsAre("error Stopping"));
  ASSERT_TRUE(Ref<Puppet>(b_from_a)[&Puppet::note].Send(NoteOf(7)).ok());
  Run();
  EXPECT_THAT(*b.diary, ElementsAre("asked", "note 7"));
  Ask(b, Seen("b", a, "a"), 1);
  EXPECT_THAT(*b.diary, ElementsAre("asked", "note 7", "answer 2"));
  cluster().system("b").Exit(b.ref.pid(), ExitReason::Shutdown());
  Run();
  EXPECT_THAT(*a.diary, ElementsAre("error Stopping", "error CalleeExited"));
}

TEST_F(NodeCoreDrainTest, ADrainingNodePublishesNoNewNamesAndKeepsThoseThatItHas) {
  Join();
  Make("b", "early");
  cluster().core("b").BeginDrain();
  absl::Status published;
  const Pid pid(cluster().system("b").node(), 1, 1);
  cluster().core("b").Publish({.name = "late", .pid = pid, .scope = NameScope::kCluster},
                              [&](absl::Status done) { published = std::move(done); });
  EXPECT_TRUE(IsStopping(published));
  Run();
  EXPECT_TRUE(cluster().system("a").WhereIs("early").has_value());
  EXPECT_FALSE(cluster().system("a").WhereIs("late").has_value());
}

TEST_F(NodeCoreDrainTest, ItsOpenWorkIsTheNamesThatItHasAndTheCallsOfPeersThatWaitForTheirAnswers) {
  Join({.nodes = {"a", "b", "c"}});
  const Puppeteer a = Make("a");
  const Puppeteer c = Make("c");
  const Puppeteer b = Make("b", "early");
  Make("b", "late");
  EXPECT_EQ(cluster().core("b").open_work().calls, 0U);
  Ask(a, Seen("a", b, "b"), -1);
  Ask(a, Seen("a", b, "b"), -1);
  Ask(c, Seen("c", b, "b"), -1);
  Ask(c, Seen("c", b, "b"), 1);  // answered at once
  EXPECT_EQ(cluster().core("b").open_work().names, 2U);
  EXPECT_EQ(cluster().core("b").open_work().calls, 3U);
  EXPECT_EQ(cluster().core("a").open_work().names, 0U) << "names of a peer";
  EXPECT_EQ(cluster().core("a").open_work().calls, 0U) << "its own calls";
  cluster().system("b").Exit(b.ref.pid(), ExitReason::Shutdown());
  Run();
  EXPECT_EQ(cluster().core("b").open_work().names, 1U);
  EXPECT_EQ(cluster().core("b").open_work().calls, 0U);
}

// Notes the address of each peer that a stream carries.
class NotingWatch final : public internal::PeerWatch {
 public:
  void OnCarried(absl::string_view node, NodeIncarnation, absl::string_view address,
                 std::shared_ptr<const internal::PeerProcess>) override {
    carried.push_back(absl::StrCat(node, " at '", address, "'"));
  }
  void OnBroken(absl::string_view) override {}
  void OnOver(absl::string_view) override {}

  std::vector<std::string> carried;
};

// A dial to a tunnel or a proxy that is refused says nothing of the peer behind it, nor does one to an address of this
// machine that is the peer's own on another machine.
TEST_F(NodeCoreDrainTest, AnAddressIsEvidenceOnlyWhereAPeerOfThisMachineAdvertisesTheOneThatIsDialled) {
  NotingWatch watch;
  Join({.nodes = {"a"}, .watch = &watch});
  for (const char* node : {"v", "w", "x", "y"}) {
    ASSERT_TRUE(cluster().core("a").SetPeer(node, "127.0.0.1:7000").ok());
  }
  Visitor visitors[4];
  std::vector<std::unique_ptr<FrameStream>> streams;
  int at = 0;
  for (const auto& [node, advertised, machine] :
       {std::tuple("v", "127.0.0.1:7000", 1U), std::tuple("w", "10.0.0.7:7000", 1U),
        std::tuple("x", "127.0.0.1:7000", 2U), std::tuple("y", "127.0.0.1:7000", 0U)}) {
    streams.push_back(cluster().network().DialerFor("stranger")->Dial("a", "a", &visitors[at++]));
    proto::Hello hello = HelloFrom(node, 77 + static_cast<uint64_t>(at), "a");
    hello.set_advertise(advertised);
    hello.set_machine(machine);
    streams.back()->Write(FrameOf(hello));
    Run();
    streams.back()->Write(HeartbeatFrame(1));
    Run();
  }
  EXPECT_THAT(watch.carried, ElementsAre("v at '127.0.0.1:7000'", "w at ''", "x at ''", "y at ''"));
  cluster_.reset();
}

}  // namespace
}  // namespace understudy
