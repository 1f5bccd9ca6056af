// Tests of what a node lets its peers do, depending on what their streams prove about them.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using NodeIdentityTest = ClusterTest;

TEST_F(NodeIdentityTest, StreamsOfWhichNothingIsProvedShareAQuarterOfThoseThatWaitForAHello) {
  Join({.identity = [](absl::string_view from, absl::string_view) {
    return from == "stranger" ? StreamIdentity::Unproved() : StreamIdentity::SameUser();
  }});
  std::vector<std::unique_ptr<FrameStream>> streams;
  for (size_t i = 0; i < limits::kUnprovedPeersMax; ++i) {
    streams.push_back(cluster().network().DialerFor("stranger")->Dial("a", "a", &visitor_));
  }
  Run();
  EXPECT_EQ(cluster().core("a").counters().streams_refused, 0);
  Visitor late;
  const auto one_more = cluster().network().DialerFor("stranger")->Dial("a", "a", &late);
  Visitor proved;
  const auto of_a_friend = cluster().network().DialerFor("friend")->Dial("a", "a", &proved);
  Run();
  EXPECT_TRUE(late.closed);
  EXPECT_FALSE(proved.closed);
  EXPECT_EQ(cluster().core("a").counters().streams_refused, 1);
  cluster_.reset();  // before the visitors
}

// Whether each resumes a session that never was: then it is refused, and its stream stays until that is read.
class UnfinishedHandshakesTest : public NodeIdentityTest, public ::testing::WithParamInterface<bool> {};

TEST_P(UnfinishedHandshakesTest, KeepNobodyOut) {
  Join({.identity = [](absl::string_view, absl::string_view) { return StreamIdentity::Unproved(); }});
  std::vector<std::unique_ptr<Visitor>> visitors;
  std::vector<std::unique_ptr<FrameStream>> streams;
  bool resumes = GetParam();
  const auto say_hello = [&](const std::string& name) {
    visitors.push_back(std::make_unique<Visitor>());
    streams.push_back(cluster().network().DialerFor("stranger")->Dial("a", "a", visitors.back().get()));
    proto::Hello hello = HelloFrom(name, 77 + visitors.size(), "a");
    if (resumes) hello.set_resume_epoch(9);
    streams.back()->Write(FrameOf(hello));
    Run(absl::Milliseconds(1));
  };
  for (size_t i = 0; i < 2 * limits::kUnprovedPeersMax; ++i) say_hello(absl::StrCat("nobody-", i));
  resumes = false;
  EXPECT_TRUE(visitors.front()->closed) << "the oldest handshake gave way";
  say_hello("honest");
  streams.back()->Write(HeartbeatFrame(1));
  Run(absl::Milliseconds(1));
  EXPECT_FALSE(visitors.back()->closed);
  EXPECT_EQ(cluster().peer_events("a").back(), "up honest epoch 1");
  EXPECT_TRUE(cluster().core("a").Allows("b", Operation::kPublish, "b/x")) << "its session goes on";
  EXPECT_LE(cluster().core("a").Peers().size(), limits::kUnprovedPeersMax + 1);
  cluster_.reset();  // before the visitors
}

INSTANTIATE_TEST_SUITE_P(Resuming, UnfinishedHandshakesTest, ::testing::Bool());

TEST_F(NodeIdentityTest, GrantsAreThoseOfTheSessionsIdentityAndCanBeReplaced) {
  SimulatedCluster::Options options;
  options.insecure_loopback_grants = false;
  options.grants = {{.node = "b", .publish = {"auction/"}, .operations = {Operation::kKill}}};
  options.identity = [](absl::string_view from, absl::string_view) {
    return StreamIdentity::Certificate({std::string(from)});
  };
  Join(std::move(options));
  NodeCore& a = cluster().core("a");
  EXPECT_TRUE(a.Allows("b", Operation::kKill));
  EXPECT_FALSE(a.Allows("b", Operation::kLink));
  EXPECT_TRUE(a.Allows("b", Operation::kPublish, "auction/lot-1"));
  EXPECT_FALSE(a.Allows("nobody", Operation::kPublish, "nobody/x"));  // there is no session
  a.SetGrants(Grants());
  EXPECT_FALSE(a.Allows("b", Operation::kKill));
  EXPECT_TRUE(a.Allows("b", Operation::kPublish, "b/x"));
}

}  // namespace
}  // namespace understudy
