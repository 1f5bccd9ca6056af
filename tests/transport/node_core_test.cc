#include "understudy/transport/node_core.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/peer_session.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

testing::Note NoteOf(int64_t number) {
  testing::Note note;
  note.set_number(number);
  return note;
}

// A stream that a test speaks into by hand.
class Visitor : public FrameStream::Events {
 public:
  void OnFrame(std::string frame) override { frames.push_back(std::move(frame)); }
  void OnWritten() override {}
  void OnClosed(absl::Status) override { closed = true; }

  std::vector<std::string> frames;
  bool closed = false;
};

class NodeCoreTest : public ::testing::Test {
 protected:
  void Join(SimulatedCluster::Options options = {}) {
    if (options.nodes.empty()) options.nodes = {"a", "b"};
    cluster_ = std::make_unique<SimulatedCluster>(std::move(options));
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->IsJoined(); }, absl::Seconds(5)));
  }

  struct Puppeteer {
    Ref<Puppet> ref;
    std::shared_ptr<Diary> diary;
  };
  // A puppet on `node`, published as `name` unless that is empty.
  Puppeteer Make(absl::string_view node, absl::string_view name = "") {
    auto diary = std::make_shared<Diary>();
    SpawnOptions options;
    options.published_as = std::string(name);
    const Ref<Puppet> ref = cluster().system(node).Spawn<Puppet>(std::move(options), diary);
    Run();
    return {ref, diary};
  }
  // The pid of `puppet` as actors of `node` know it.
  Pid Seen(absl::string_view node, const Puppeteer& puppet, absl::string_view home) {
    TestSystem& system = cluster().system(node);
    const uint16_t index = system.InternPeer(home, cluster().system(home).incarnation());
    return Pid(index, puppet.ref.pid().cell(), puppet.ref.pid().serial());
  }
  void Do(const Puppeteer& puppet, Puppet::Script script) {
    ASSERT_TRUE(puppet.ref[&Puppet::run].Send(std::move(script)).ok());
    Run();
  }
  void Ask(const Puppeteer& puppet, Pid callee, int64_t number) {
    ASSERT_TRUE(puppet.ref[&Puppet::go_ask].Send({.callee = callee, .number = number}).ok());
    Run();
  }
  void Run(absl::Duration duration = absl::Milliseconds(50)) { cluster_->RunFor(duration); }
  SimulatedCluster& cluster() { return *cluster_; }

  Visitor visitor_;  // outlives the network, as events must
  std::unique_ptr<SimulatedCluster> cluster_;
};

// ---- Messages ----

TEST_F(NodeCoreTest, TellsReachAnActorOfAnotherNodeInOrder) {
  Join();
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(seen[&Puppet::note].Send(NoteOf(i)).ok());
  Run();
  EXPECT_THAT(*b.diary, ElementsAre("note 1", "note 2", "note 3"));
}

TEST_F(NodeCoreTest, AnAskIsAnsweredAcrossNodes) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Ask(a, Seen("a", b, "b"), 41);
  EXPECT_THAT(*a.diary, ElementsAre("answer 42"));
}

TEST_F(NodeCoreTest, TheCalleesOwnStatusComesBackUnchanged) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Ask(a, Seen("a", b, "b"), 13);
  EXPECT_THAT(*a.diary, ElementsAre("error unlucky"));
}

TEST_F(NodeCoreTest, WhatTheReceivingSystemRefusesIsAnsweredToTheAsker) {
  Join();
  const Puppeteer a = Make("a");
  Ask(a, Pid(cluster().system("a").InternPeer("b", cluster().system("b").incarnation()), 999, 999), 1);
  EXPECT_THAT(*a.diary, ElementsAre("error NoProcess"));
  EXPECT_EQ(cluster().core("a").Ledger().refused_by_peer, 1);
}

TEST_F(NodeCoreTest, ATellThatTheReceivingSystemRefusesIsCounted) {
  Join();
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(seen[&Puppet::small].Send(NoteOf(i)).ok());  // takes two
  EXPECT_TRUE(Channel<testing::Note>(seen.pid(), internal::MailboxNames::Intern("puppet/none")).Send(NoteOf(6)).ok());
  Run();
  EXPECT_EQ(cluster().core("a").counters().refused_tells, 4);
  EXPECT_EQ(cluster().core("a").Ledger().refused_by_peer, 4);
  EXPECT_TRUE(cluster().core("a").Ledger().balances());
}

TEST_F(NodeCoreTest, AMessageThatIsNoWireMessageIsRefusedAtSend) {
  Join();
  const Puppeteer b = Make("b");
  const absl::Status status = Ref<Puppet>(Seen("a", b, "b"))[&Puppet::run].Send([](Puppet&) {});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(NodeCoreTest, WithoutASessionASendAnswersNoConnection) {
  Join();
  TestSystem& a = cluster().system("a");
  const Ref<Puppet> stranger(Pid(a.InternPeer("nowhere", {1}), 1, 1));
  const absl::Status status = stranger[&Puppet::note].Send(NoteOf(1));
  EXPECT_TRUE(IsNoConnection(status)) << status;
}

TEST_F(NodeCoreTest, APidOfAnEarlierIncarnationAnswersNoProcess) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid old = Seen("a", b, "b");
  cluster().Crash("b");
  cluster().Start("b");
  Run(absl::Seconds(1));
  const absl::Status status = Ref<Puppet>(old)[&Puppet::note].Send(NoteOf(1));
  EXPECT_TRUE(IsNoProcess(status)) << status;
  Do(a, [old](Puppet& p) { p.Watch(old); });
  EXPECT_THAT(*a.diary, ElementsAre("down NoProcess"));
}

TEST_F(NodeCoreTest, AChannelsWindowRefusesWithFullUntilMessagesLeaveTheMailbox) {
  Join();
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  int64_t accepted = 0;
  absl::Status status;
  while ((status = seen[&Puppet::closed].Send(NoteOf(accepted))).ok()) ++accepted;
  EXPECT_TRUE(IsFull(status)) << status;
  EXPECT_EQ(accepted, limits::kChannelWindowMessages);
  Run();
  EXPECT_TRUE(IsFull(seen[&Puppet::closed].Send(NoteOf(0))));
  EXPECT_TRUE(seen[&Puppet::note].Send(NoteOf(0)).ok());  // another mailbox has a window of its own
  Do(b, [](Puppet& p) { p.OpenAll(); });
  EXPECT_TRUE(seen[&Puppet::closed].Send(NoteOf(0)).ok());
  Run();
  EXPECT_THAT(*b.diary, SizeIs(limits::kChannelWindowMessages + 2));
  EXPECT_TRUE(cluster().core("a").Ledger().balances());
}

TEST_F(NodeCoreTest, AnExpiredAskSaysSoAndItsLateReplyEntersNothing) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  cluster().network().Stall("a", "b");
  ASSERT_TRUE(
      a.ref[&Puppet::go_ask].Send({.callee = Seen("a", b, "b"), .number = 1, .timeout = absl::Seconds(2)}).ok());
  Run(absl::Seconds(2.5));
  EXPECT_THAT(*a.diary, ElementsAre("error Expired"));
  Run(absl::Seconds(30));
  EXPECT_THAT(*a.diary, ElementsAre("error Expired"));
}

// ---- Links and monitors ----

TEST_F(NodeCoreTest, ADownCarriesTheReasonWithItsWholeChain) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Do(a, [pid = Seen("a", b, "b")](Puppet& p) { p.Watch(pid); });
  const ExitReason reason = ExitReason::RestartsExhausted("x").CausedBy(ExitReason::Failed(absl::DataLossError("y")));
  Do(b, [reason](Puppet& p) { p.context().Stop(reason); });
  absl::optional<ExitReason> seen;
  Do(a, [&seen](Puppet& p) { seen = p.last_reason; });
  EXPECT_EQ(seen, reason);
  EXPECT_THAT(*a.diary, ElementsAre("down RestartsExhausted"));
}

TEST_F(NodeCoreTest, AMonitorOfADeadActorSaysNoProcess) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Do(b, [](Puppet& p) { p.context().Stop(); });
  Do(a, [pid = Seen("a", b, "b")](Puppet& p) { p.Watch(pid); });
  EXPECT_THAT(*a.diary, ElementsAre("down NoProcess"));
}

TEST_F(NodeCoreTest, AfterDemonitorNothingArrives) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Do(a, [pid = Seen("a", b, "b")](Puppet& p) { p.Watch(pid); });
  Do(a, [](Puppet& p) { p.monitors_.clear(); });
  Do(b, [](Puppet& p) { p.context().Stop(); });
  EXPECT_THAT(*a.diary, IsEmpty());
}

TEST_F(NodeCoreTest, ALinkAcrossNodesCarriesTheExitOfEitherEnd) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Do(a, [pid = Seen("a", b, "b")](Puppet& p) { p.context().Link(pid); });
  Do(b, [](Puppet& p) { p.Fail(absl::DataLossError("gone")); });
  EXPECT_THAT(*a.diary, ElementsAre("exit Failed(DATA_LOSS: gone)"));
}

TEST_F(NodeCoreTest, AfterUnlinkTheExitDoesNotArrive) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(a, [seen](Puppet& p) { p.context().Link(seen); });
  Do(a, [seen](Puppet& p) { p.context().Unlink(seen); });
  Do(b, [](Puppet& p) { p.Fail(absl::DataLossError("gone")); });
  EXPECT_THAT(*a.diary, IsEmpty());
}

TEST_F(NodeCoreTest, WhatWasSentBeforeTheEndIsHandledBeforeTheDown) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Do(a, [pid = Seen("a", b, "b")](Puppet& p) { p.Watch(pid); });
  Do(b, [pid = Seen("b", a, "a")](Puppet& p) {
    for (int i = 1; i <= 3; ++i) Ref<Puppet>(pid)[&Puppet::note].Tell(NoteOf(i));
    p.context().Stop(ExitReason::Shutdown());
  });
  EXPECT_THAT(*a.diary, ElementsAre("note 1", "note 2", "note 3", "down Shutdown"));
}

// ---- The end of a session ----

TEST_F(NodeCoreTest, AtTheEndOfASessionEachAskLinkAndMonitorOverItEndsOnceWithNoConnection) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(a, [seen](Puppet& p) {
    p.Trap();
    p.Watch(seen);
    p.Watch(seen);
    p.context().Link(seen);
  });
  ASSERT_TRUE(a.ref[&Puppet::go_ask].Send({.callee = seen, .number = -1, .timeout = absl::Minutes(10)}).ok());
  Run();
  EXPECT_THAT(*b.diary, ElementsAre("asked"));
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(2));
  EXPECT_THAT(*a.diary, ::testing::UnorderedElementsAre("error NoConnection", "down NoConnection", "down NoConnection",
                                                        "trapped NoConnection"));
  // And on b's side, which was linked and does not trap.
  EXPECT_THAT(*b.diary, Contains(HasSubstr("exit NoConnection")));
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("ended b epoch 1")).Times(1));
}

TEST_F(NodeCoreTest, AfterTheEndTheSameIncarnationsMeetAgainAndTheirPidsAreStillGood) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(a, [seen](Puppet& p) { p.Watch(seen); });
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(2));
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(10));
  Ask(a, seen, 1);
  EXPECT_THAT(*a.diary, ElementsAre("down NoConnection", "answer 2"));
  EXPECT_EQ(cluster().core("a").Peers()[0].epoch, 2U);
  Do(b, [](Puppet& p) { p.context().Stop(); });
  EXPECT_THAT(*a.diary, SizeIs(2));  // the monitor was not made again
}

TEST_F(NodeCoreTest, ACutDoesNotShowAboveTheSession) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(a, [seen](Puppet& p) { p.Watch(seen); });
  for (int i = 1; i <= 20; ++i) {
    EXPECT_TRUE(Ref<Puppet>(seen)[&Puppet::note].Send(NoteOf(i)).ok());
    Run(absl::Microseconds(300));
    if (i % 3 == 0) cluster().network().Cut("a", "b");
  }
  Run(absl::Seconds(2));
  EXPECT_THAT(*a.diary, IsEmpty());
  EXPECT_THAT(*b.diary, SizeIs(20));
  EXPECT_EQ(b.diary->back(), "note 20");
}

TEST_F(NodeCoreTest, AfterTheEndOfASessionAMonitorAnswersNoConnectionAtOnce) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(2));
  Do(a, [seen](Puppet& p) {
    p.Trap();
    p.Watch(seen);
    p.context().Link(seen);
    p.context().Unlink(seen);
  });
  EXPECT_THAT(*a.diary, ElementsAre("down NoConnection"));
}

// ---- Permissions ----

TEST_F(NodeCoreTest, WithoutAGrantExitKillStopAndLinkOfAnotherNodeAreRefused) {
  Join({.insecure_loopback_grants = false});
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(a, [seen](Puppet& p) {
    p.Trap();
    p.context().Kill(seen);
    p.context().Exit(seen, ExitReason::Shutdown());
    p.context().RequestStop(seen);
    p.context().Link(seen);
  });
  EXPECT_THAT(*a.diary, ElementsAre("trapped NotPermitted"));
  EXPECT_THAT(*b.diary, IsEmpty());
  EXPECT_EQ(cluster().core("b").counters().forbidden, 4);
  Ask(a, seen, 1);
  Do(a, [seen](Puppet& p) { p.Watch(seen); });
  Do(b, [](Puppet& p) { p.context().Stop(); });
  EXPECT_THAT(*a.diary, ElementsAre("trapped NotPermitted", "answer 2", "down Normal"));
}

TEST_F(NodeCoreTest, WithAGrantAKillEndsAnActorOfAnotherNode) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(a, [seen](Puppet& p) {
    p.Watch(seen);
    p.context().Kill(seen);
  });
  EXPECT_THAT(*a.diary, ElementsAre("down Killed"));
}

// ---- Names ----

TEST_F(NodeCoreTest, APublishedNameIsFoundOnEveryNodeAndGoesBeforeItsOwnersDown) {
  Join({.nodes = {"a", "b", "c"}});
  const Puppeteer b = Make("b", "lot");
  for (const char* node : {"a", "b", "c"}) {
    const absl::optional<Pid> found = cluster().system(node).WhereIs("lot");
    ASSERT_TRUE(found.has_value()) << node;
    EXPECT_EQ(found->serial(), b.ref.pid().serial());
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

TEST_F(NodeCoreTest, ANameTakenOnAnotherNodeIsRefused) {
  Join();
  Make("b", "lot");
  const Puppeteer late = Make("a", "lot");
  EXPECT_THAT(*late.diary, ElementsAre(AllOf(HasSubstr("exit Failed(ALREADY_EXISTS"), HasSubstr("lot"))));
}

TEST_F(NodeCoreTest, OfTwoOwnersOfOneNameTheLaterExitsNameConflictWhenTheNodesMeet) {
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
    EXPECT_EQ(cluster().system(node).WhereIs("lot")->serial(), first.ref.pid().serial()) << node;
  }
}

TEST_F(NodeCoreTest, APeersNamesGoWithItsSession) {
  Join();
  Make("b", "lot");
  ASSERT_TRUE(cluster().system("a").WhereIs("lot").has_value());
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(1));
  EXPECT_FALSE(cluster().system("a").WhereIs("lot").has_value());
  EXPECT_TRUE(cluster().system("b").WhereIs("lot").has_value());
}

// ---- Nodes ----

TEST_F(NodeCoreTest, ACrashedNodeIsReplacedByItsNextIncarnationWithoutGrace) {
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

TEST_F(NodeCoreTest, LeavingDeliversWhatWasAcceptedAndEndsEverySession) {
  Join();
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(seen[&Puppet::note].Send(NoteOf(i)).ok());
  cluster().core("a").Leave("done");
  EXPECT_TRUE(IsStopping(seen[&Puppet::note].Send(NoteOf(101))));
  Run();
  EXPECT_TRUE(cluster().core("a").has_left());
  EXPECT_THAT(*b.diary, SizeIs(100));
  EXPECT_THAT(cluster().peer_events("b"), Contains("ended a epoch 1: the peer left, done"));
  EXPECT_EQ(cluster().core("a").Ledger().unconfirmed, 0);
}

TEST_F(NodeCoreTest, ANodeIsNotItsOwnPeerAndItsNameIsADnsLabel) {
  Join();
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().core("a").SetPeer("a", "a")));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().core("a").SetPeer("No Label", "x")));
}

TEST_F(NodeCoreTest, AStreamWithoutAHelloIsClosedAfterTheHandshakesTimeout) {
  Join();
  const auto stream = cluster().network().DialerFor("stranger")->Dial("a", &visitor_);
  Run(absl::Seconds(1));
  EXPECT_FALSE(visitor_.closed);
  Run(absl::Seconds(1.5));
  EXPECT_TRUE(visitor_.closed);
  EXPECT_EQ(cluster().core("a").counters().streams_refused, 1);
}

TEST_F(NodeCoreTest, AStreamThatBeginsWithAnythingElseIsClosedAtOnce) {
  Join();
  const auto stream = cluster().network().DialerFor("stranger")->Dial("a", &visitor_);
  stream->Write("GET / HTTP/1.1");
  Run();
  EXPECT_TRUE(visitor_.closed);
}

TEST_F(NodeCoreTest, APeerThatExceedsItsWindowEndsItsSession) {
  Join();
  const Puppeteer a = Make("a");
  const auto stream = cluster().network().DialerFor("stranger")->Dial("a", &visitor_);
  FramePacker hello(0, 0);
  hello.frame().mutable_hello()->set_version(kWireVersion);
  hello.frame().mutable_hello()->set_from_node("stranger");
  hello.frame().mutable_hello()->set_incarnation(77);
  hello.frame().mutable_hello()->set_to_node("a");
  hello.frame().mutable_hello()->set_new_epoch(1);
  hello.frame().mutable_hello()->set_dial(1);
  stream->Write(hello.Encode());
  Run();
  const NodePair nodes{.local = {77}, .peer = cluster().system("a").incarnation()};
  proto::MailboxDefinition definition;
  definition.set_name("puppet/closed");
  definition.set_hash(internal::Fnv1a(definition.name()));
  uint64_t number = 0;
  for (int frame = 0; frame < 2; ++frame) {
    FramePacker packer(1, 0);
    for (int64_t i = 0; i < limits::kChannelWindowMessages / 2 + 1; ++i) {
      ++number;
      ASSERT_TRUE(packer.Add(number, *EncodeMessage(nodes, Pid(1, 1, 1), a.ref.pid(), definition.hash(), 0, ""), false,
                             absl::nullopt, i == 0 ? &definition : nullptr));
    }
    stream->Write(packer.Encode());
    Run();
  }
  EXPECT_THAT(cluster().peer_events("a"), Contains(AllOf(HasSubstr("ended stranger"), HasSubstr("window"))));
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("up b")));
}

}  // namespace
}  // namespace understudy
