// NodeCore: names, and peers that come, go and misbehave.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

class NodeCorePeersTest : public ClusterTest {
 protected:
  // A node that the test speaks for dials a.
  std::unique_ptr<FrameStream> Visit(absl::string_view name) {
    std::unique_ptr<FrameStream> stream = cluster().network().DialerFor("stranger")->Dial("a", "a", &visitor_);
    stream->Write(FrameOf(HelloFrom(name, 77, "a")));
    Run();
    stream->Write(HeartbeatFrame(1));
    Run();
    return stream;
  }
  int RoomAfterACall(uint64_t ask);
};

// ---- Names ----

// The dialling node's session has begun with the Welcome, and accepts messages.
TEST_F(NodeCorePeersTest, ANodeThatOnlyDialsResumesTheSessionWhoseFirstFrameWasLost) {
  Join();
  for (const auto& [node, peer] : {std::pair("a", "b"), std::pair("b", "a")}) cluster().core(node).ForgetPeer(peer);
  cluster().network().Cut("a", "b");
  Run(absl::Seconds(30));
  ASSERT_THAT(cluster().core("a").Peers(), IsEmpty());
  const size_t events_of_a = cluster().peer_events("a").size();
  ASSERT_TRUE(cluster().core("b").SetPeer("a", "a").ok());
  for (int i = 0; i < 100'000 && cluster().core("a").Peers().empty(); ++i) Run(absl::Microseconds(10));
  cluster().network().PartitionOneWay("b", "a");
  Run(absl::Milliseconds(10));
  EXPECT_EQ(cluster().peer_events("a").size(), events_of_a) << "its offer is not taken, as far as it knows";
  EXPECT_EQ(cluster().peer_events("b").back(), "up a epoch 1");
  cluster().network().Heal("a", "b");
  cluster().network().Cut("a", "b");
  Run(absl::Seconds(5));
  EXPECT_EQ(cluster().peer_events("a").back(), "up b epoch 1");
  EXPECT_EQ(cluster().peer_events("b").back(), "resumed a");
}

TEST_F(NodeCorePeersTest, APublishedNameIsFoundOnEveryNodeAndGoesBeforeItsOwnersDown) {
  Join({.nodes = {"a", "b", "c"}});
  const Puppeteer b = Make("b", "lot");
  for (const char* node : {"a", "b", "c"}) {
    const absl::optional<Pid> found = cluster().system(node).WhereIs("lot");
    ASSERT_TRUE(found.has_value()) << node;
    EXPECT_EQ(found->ToString(), b.ref.pid().ToString());
  }
  const Puppeteer a = Make("a");
  TestSystem& system = cluster().system("a");
  Do(a, [&system, pid = *system.WhereIs("lot")](Puppet& p) {
    p.monitors_.push_back(p.context().Monitor(pid, [&system, &p](const Down&) {
      p.Write(system.WhereIs("lot").has_value() ? "still named" : "name is free");
    }));
  });
  Do(b, [](Puppet& p) { p.context().Stop(); });
  EXPECT_THAT(*a.diary, ElementsAre("name is free"));
  EXPECT_FALSE(cluster().system("c").WhereIs("lot").has_value());
}

TEST_F(NodeCorePeersTest, ANameTakenOnAnotherNodeIsRefused) {
  Join();
  Make("b", "lot");
  const Puppeteer late = Make("a", "lot");
  EXPECT_THAT(*late.diary, ElementsAre(AllOf(HasSubstr("exit NameConflict(lot); because of Failed(ALREADY_EXISTS"),
                                             HasSubstr("lot"))));
}

TEST_F(NodeCorePeersTest, OfTwoOwnersOfOneNameTheLaterExitsNameConflictWhenTheNodesMeet) {
  Join();
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(1));
  const Puppeteer first = Make("b", "lot");
  const Puppeteer second = Make("a", "lot");
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(10));
  EXPECT_THAT(*first.diary, IsEmpty());
  EXPECT_THAT(*second.diary, ElementsAre("exit NameConflict(lot)"));
  for (const char* node : {"a", "b"}) {
    ASSERT_TRUE(cluster().system(node).WhereIs("lot").has_value()) << node;
    EXPECT_EQ(cluster().system(node).WhereIs("lot")->ToString(), first.ref.pid().ToString()) << node;
  }
}

TEST_F(NodeCorePeersTest, APeersNamesGoWithItsSession) {
  Join();
  Make("b", "lot");
  ASSERT_TRUE(cluster().system("a").WhereIs("lot").has_value());
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(1));
  EXPECT_FALSE(cluster().system("a").WhereIs("lot").has_value());
  EXPECT_TRUE(cluster().system("b").WhereIs("lot").has_value());
}

// ---- Nodes ----

TEST_F(NodeCorePeersTest, ACrashedNodeIsReplacedByItsNextIncarnationWithoutGrace) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b", "lot");
  Do(a, [pid = Seen("a", b, "b")](Puppet& p) { p.Watch(pid); });
  cluster().Crash("b");
  cluster().Start("b");
  ASSERT_TRUE(cluster().RunUntil([&] { return cluster().IsJoined(); }, absl::Seconds(2)));
  Run();
  EXPECT_THAT(*a.diary, ElementsAre("down NoConnection"));
  EXPECT_FALSE(cluster().system("a").WhereIs("lot").has_value());
}

// The stream of the next incarnation is there before the session of the last one ends.
TEST_F(NodeCorePeersTest, TheSessionOfANextIncarnationHasHeartbeatsAtBothEnds) {
  for (const std::string crashed : {"a", "b"}) {
    Join();
    cluster().Crash(crashed);
    cluster().Start(crashed);
    ASSERT_TRUE(cluster().RunUntil([&] { return cluster().IsJoined(); }, absl::Seconds(2)));
    const std::string other = crashed == "a" ? "b" : "a";
    const auto known = static_cast<std::ptrdiff_t>(cluster().peer_events(other).size());
    Run(absl::Minutes(1));
    const std::vector<std::string>& events = cluster().peer_events(other);
    EXPECT_THAT(std::vector<std::string>(events.begin() + known, events.end()), IsEmpty()) << "crashed: " << crashed;
    EXPECT_TRUE(cluster().IsJoined());
  }
}

TEST_F(NodeCorePeersTest, AFullTableOfNodesBeginsNoSessionAndSaysSo) {
  cluster_ = std::make_unique<SimulatedCluster>(SimulatedCluster::Options{.nodes = {"a", "b"}});
  const char others = 0;
  uint64_t incarnation = 0;
  while (internal::NodeTable::Intern({.system = &others, .name = "other", .incarnation = {++incarnation}}).ok()) {
  }
  Run(absl::Seconds(5));
  EXPECT_FALSE(cluster().IsJoined());
  std::vector<std::string> events = cluster().peer_events("a");
  events.insert(events.end(), cluster().peer_events("b").begin(), cluster().peer_events("b").end());
  EXPECT_THAT(events, Contains(AllOf(StartsWith("no session with "), HasSubstr("the table of nodes is full"))));
  internal::NodeTable::Retire(&others);
  EXPECT_TRUE(cluster().RunUntil([&] { return cluster().IsJoined(); }, absl::Seconds(5)));
}

TEST_F(NodeCorePeersTest, PeersThatCameAndWentLeaveTheirPlaces) {
  Join({.nodes = {"a", "b"}, .times = {.grace_period = absl::ZeroDuration()}});
  for (size_t i = 0; i <= limits::kPeersMax; ++i) {
    const std::string name = absl::StrCat("visitor-", i);
    const auto stream = Visit(name);
    ASSERT_THAT(cluster().peer_events("a").back(), StartsWith(absl::StrCat("up ", name)));
    stream->Close();
    Run();
  }
  EXPECT_THAT(cluster().core("a").Peers(), SizeIs(1));
}

TEST_F(NodeCorePeersTest, PeersThatCameAndWentLeaveTheirPlacesInTheTableOfNodes) {
  Join({.nodes = {"a", "b"}, .times = {.grace_period = absl::ZeroDuration()}});
  const char one = 0;
  const char others = 0;
  ASSERT_TRUE(internal::NodeTable::Intern({.system = &one, .name = "one", .incarnation = {1}}).ok());
  uint64_t incarnation = 0;
  while (internal::NodeTable::Intern({.system = &others, .name = "other", .incarnation = {++incarnation}}).ok()) {
  }
  internal::NodeTable::Retire(&one);
  for (size_t i = 0; i < 20; ++i) {
    const std::string name = absl::StrCat("visitor-", i);
    const auto stream = Visit(name);
    ASSERT_THAT(cluster().peer_events("a").back(), StartsWith(absl::StrCat("up ", name)));
    stream->Close();
    Run();
  }
  internal::NodeTable::Retire(&others);
}

TEST_F(NodeCorePeersTest, OnePeerTooManyIsRefusedUntilAnotherIsForgotten) {
  Join();
  NodeCore& core = cluster().core("a");
  for (size_t i = 1; i < limits::kPeersMax; ++i) ASSERT_TRUE(core.SetPeer(absl::StrCat("job-", i), "").ok());
  const absl::Status refused = core.SetPeer("late", "");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no place for node late"));
  core.ForgetPeer("job-7");
  EXPECT_TRUE(core.SetPeer("late", "").ok());
  core.ForgetPeer("b");
  EXPECT_TRUE(cluster().IsJoined());  // a live session stays
}

TEST_F(NodeCorePeersTest, LeavingDeliversWhatWasAcceptedAndEndsEverySession) {
  Join();
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(SendSoon(seen[&Puppet::note], NoteOf(i)).ok());
  cluster().core("a").Leave("done");
  EXPECT_TRUE(IsStopping(seen[&Puppet::note].Send(NoteOf(101))));
  Run();
  EXPECT_TRUE(cluster().core("a").has_left());
  EXPECT_THAT(*b.diary, SizeIs(100));
  EXPECT_THAT(cluster().peer_events("b"), Contains("ended a epoch 1: the peer left, done"));
  EXPECT_EQ(cluster().core("a").Ledger().unconfirmed, 0);
}

TEST_F(NodeCorePeersTest, ANodeIsNotItsOwnPeerAndItsNameIsADnsLabel) {
  Join();
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().core("a").SetPeer("a", "a")));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().core("a").SetPeer("No Label", "x")));
}

TEST_F(NodeCorePeersTest, AStreamWithoutAHelloIsClosedAfterTheHandshakesTimeout) {
  Join();
  const auto stream = cluster().network().DialerFor("stranger")->Dial("a", "a", &visitor_);
  Run(absl::Seconds(1));
  EXPECT_FALSE(visitor_.closed);
  Run(absl::Seconds(1.5));
  EXPECT_TRUE(visitor_.closed);
  EXPECT_EQ(cluster().core("a").counters().streams_refused, 1);
  EXPECT_THAT(cluster().core("a").counters().streams_refused_by_cause, ElementsAre(Pair("no_hello", 1)));
}

TEST_F(NodeCorePeersTest, SessionsAreCountedWithTheCausesOfTheirEnds) {
  Join();
  Run(absl::Seconds(1));
  EXPECT_EQ(cluster().core("b").counters().sessions_begun, 1);
  EXPECT_THAT(cluster().core("b").counters().sessions_ended_by_cause, IsEmpty());
  cluster().core("a").Leave("done");
  Run();
  EXPECT_THAT(cluster().core("b").counters().sessions_ended_by_cause, ElementsAre(Pair("peer_left", 1)));
}

TEST_F(NodeCorePeersTest, AStreamThatBeginsWithAnythingElseIsClosedAtOnce) {
  Join();
  const auto stream = cluster().network().DialerFor("stranger")->Dial("a", "a", &visitor_);
  stream->Write("GET / HTTP/1.1");
  Run();
  EXPECT_TRUE(visitor_.closed);
  EXPECT_THAT(cluster().core("a").counters().streams_refused_by_cause, ElementsAre(Pair("not_a_hello", 1)));
}

TEST_F(NodeCorePeersTest, AHelloInANameThatTheCertificateDoesNotHaveIsRefused) {
  Join({.identity = [](absl::string_view from, absl::string_view) {
    return StreamIdentity::Certificate({std::string(from)});
  }});
  const auto forged = Visit("c");
  EXPECT_TRUE(visitor_.closed);
  EXPECT_EQ(cluster().core("a").counters().streams_refused, 1);
  EXPECT_THAT(cluster().core("a").counters().streams_refused_by_cause, ElementsAre(Pair("name_taken", 1)));
  visitor_.closed = false;
  const auto honest = Visit("stranger");
  EXPECT_FALSE(visitor_.closed);
}

// A peer that is granted something is gone, and a stranger says a session's only frame in its name.
TEST_F(NodeCorePeersTest, WhatEndsTheSessionThatItBeginsHasNoGrantOfTheOneBefore) {
  SimulatedCluster::Options options;
  options.insecure_loopback_grants = false;
  options.grants = {{.node = "b", .operations = {Operation::kKill}}};
  options.identity = [](absl::string_view from, absl::string_view) {
    return from == "stranger" ? StreamIdentity::Unproved() : StreamIdentity::Certificate({std::string(from)});
  };
  Join(std::move(options));
  const Puppeteer victim = Make("a");
  cluster().Crash("b");
  Run(absl::Minutes(1));
  ASSERT_FALSE(cluster().core("a").Peers()[0].is_live);
  const auto stream = cluster().network().DialerFor("stranger")->Dial("a", "a", &visitor_);
  stream->Write(FrameOf(HelloFrom("b", 77, "a")));
  Run();
  proto::Frame welcome;
  ASSERT_TRUE(welcome.ParseFromString(visitor_.frames.back()));
  const NodePair nodes{.local = {77}, .peer = cluster().system("a").incarnation()};
  const std::string body =
      EncodeSignal(nodes, {.kind = SignalKind::kKill, .from = Pid(1, 1, 1), .to = victim.ref.pid()});
  FramePacker packer(welcome.welcome().epoch(), 0);
  ASSERT_TRUE(packer.Add(1, {.body = body}, nullptr));
  packer.frame().mutable_goodbye()->set_why("it is over");
  stream->Write(packer.Encode());
  Run();
  EXPECT_THAT(cluster().peer_events("a"), Contains(AllOf(HasSubstr("ended b"), HasSubstr("it is over"))));
  EXPECT_EQ(cluster().core("a").counters().forbidden, 1);
  EXPECT_TRUE(victim.ref[&Puppet::note].Send(NoteOf(1)).ok());
}

// The session has already ended when the contents of its last frame are handled.
TEST_F(NodeCorePeersTest, AWantInTheFrameThatEndsItsSessionEntersNoLine) {
  Join();
  const Puppeteer a = Make("a");
  const auto stream = Visit("stranger");
  const NodePair nodes{.local = {77}, .peer = cluster().system("a").incarnation()};
  const uint32_t mailbox = internal::Fnv1a("puppet/closed");
  const std::string body = EncodeCredit(nodes, {{.kind = CreditChange::Kind::kWant,
                                                 .to = a.ref.pid(),
                                                 .mailbox = mailbox,
                                                 .granted = {.messages = 1, .bytes = 10},
                                                 .want = 1}});
  FramePacker packer(1, 0);
  ASSERT_TRUE(packer.Add(1, {.body = body}, nullptr));
  packer.frame().mutable_goodbye()->set_why("it is over");
  stream->Write(packer.Encode());
  Run();
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("ended stranger")));
  EXPECT_FALSE(cluster().system("a").Reserve({.to = a.ref.pid(), .mailbox = mailbox}).is_awaited);
}

// A stranger is granted room in a mailbox with room for two, and uses it for a call with the number `ask`, which that
// mailbox does not take. Returns how many messages find room once the stranger has gone.
int NodeCorePeersTest::RoomAfterACall(uint64_t ask) {
  Join();
  const Puppeteer a = Make("a");
  const auto stream = Visit("stranger");
  const NodePair nodes{.local = {77}, .peer = cluster().system("a").incarnation()};
  const uint32_t mailbox = internal::Fnv1a("puppet/small");
  FramePacker want(1, 0);
  EXPECT_TRUE(want.Add(1,
                       {.body = EncodeCredit(nodes, {{.kind = CreditChange::Kind::kWant,
                                                      .to = a.ref.pid(),
                                                      .mailbox = mailbox,
                                                      .granted = {.messages = 1, .bytes = 10},
                                                      .want = 1}})},
                       nullptr));
  stream->Write(want.Encode());
  Run();
  EXPECT_EQ(cluster().core("a").Peers()[1].credit_given.messages, 1);
  const MailboxDefinition definition{.hash = mailbox, .name = "puppet/small"};
  const std::string body = *EncodeMessage(nodes, Pid(1, 1, 1), a.ref.pid(), mailbox, ask, std::string(10, 'x'));
  FramePacker message(1, 0);
  EXPECT_TRUE(message.Add(2, {.body = body}, &definition));
  stream->Write(message.Encode());
  Run();
  stream->Close();
  Run(absl::Minutes(1));
  int sent = 0;
  while (sent < 10 && a.ref[&Puppet::small].Send(NoteOf(1)).ok()) ++sent;
  return sent;
}

TEST_F(NodeCorePeersTest, AMessageThatIsRefusedAtItsArrivalGivesItsRoomBack) { EXPECT_EQ(RoomAfterACall(7), 2); }

TEST_F(NodeCorePeersTest, AMessageThatEndsItsSessionGivesItsRoomBack) {
  EXPECT_EQ(RoomAfterACall(internal::kStreamAsk | 7), 2);
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("the session does not have that feature")));
}

TEST_F(NodeCorePeersTest, APeerThatExceedsItsCreditEndsItsSession) {
  Join();
  const Puppeteer a = Make("a");
  const auto stream = Visit("stranger");
  const NodePair nodes{.local = {77}, .peer = cluster().system("a").incarnation()};
  const MailboxDefinition definition{.hash = internal::Fnv1a("puppet/closed"), .name = "puppet/closed"};
  uint64_t number = 0;
  const auto write = [&](int64_t messages, Admission admission) {
    FramePacker packer(1, 0);
    for (int64_t i = 0; i < messages; ++i) {
      ++number;
      const std::string body = *EncodeMessage(nodes, Pid(1, 1, 1), a.ref.pid(), definition.hash, 0, "", admission);
      ASSERT_TRUE(packer.Add(number, {.body = body}, number == 1 ? &definition : nullptr));
    }
    stream->Write(packer.Encode());
    Run();
  };
  write(kCreditTerms.first_allowance.messages, Admission::kAllowance);
  const auto ended = AllOf(HasSubstr("ended stranger"), HasSubstr("no credit"));
  EXPECT_THAT(cluster().peer_events("a"), Not(Contains(ended)));
  write(1, Admission::kAllowance);
  EXPECT_THAT(cluster().peer_events("a"), Contains(ended));
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("up b")));
}

}  // namespace
}  // namespace understudy
