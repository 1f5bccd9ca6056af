#include "understudy/transport/core/node_core.h"

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
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

class NodeCoreTest : public ClusterTest {};

// ---- Messages ----

TEST_F(NodeCoreTest, TellsReachAnActorOfAnotherNodeInOrder) {
  Join();
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(seen[&Puppet::note].Send(NoteOf(i)).ok());
  Run();
  EXPECT_THAT(*b.diary, ElementsAre("note 1", "note 2", "note 3"));
}

// EBA 37
TEST_F(NodeCoreTest, AnAskIsAnsweredAcrossNodes) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  Ask(a, Seen("a", b, "b"), 41);
  EXPECT_THAT(*a.diary, ElementsAre("answer 42"));
}

// OTP GS-12, GS-13, GS-14
TEST_F(NodeCoreTest, AnAskByNameOrByPidNeverHangsWhenItsCalleeCrashes) {
  Join();
  for (const bool by_name : {true, false}) {
    const Puppeteer a = Make("a");
    const Puppeteer b = Make("b", "server");
    const auto named = [this] { return cluster().system("a").WhereIs("server"); };
    ASSERT_TRUE(named().has_value());
    const Pid callee = by_name ? *named() : Seen("a", b, "b");
    Ask(a, callee, 1);
    ASSERT_TRUE(a.ref[&Puppet::go_ask].Send({.callee = callee, .number = -1, .timeout = absl::Minutes(10)}).ok());
    Run();
    EXPECT_THAT(*b.diary, ElementsAre("asked"));
    Do(b, [](Puppet& p) { p.Fail(absl::DataLossError("disk")); });
    Ask(a, callee, 1);
    EXPECT_THAT(*a.diary, ElementsAre("answer 2", "error CalleeExited", "error NoProcess"));
    EXPECT_FALSE(named().has_value());
  }
}

// OTP GS-15, GS-17
TEST_F(NodeCoreTest, AnAskOfANodeThatHasStoppedAnswersNoConnection) {
  Join();
  const Puppeteer a = Make("a");
  const Pid callee = Seen("a", Make("b", "server"), "b");
  cluster().Crash("b");
  ASSERT_TRUE(a.ref[&Puppet::go_ask].Send({.callee = callee, .number = 1, .timeout = absl::Minutes(10)}).ok());
  Run(absl::Minutes(2));
  EXPECT_THAT(*a.diary, ElementsAre("error NoConnection")) << "it waited for the session's end";
  EXPECT_FALSE(cluster().system("a").WhereIs("server").has_value());
  Ask(a, callee, 1);
  EXPECT_THAT(*a.diary, ElementsAre("error NoConnection", "error NoConnection"));
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
  Ask(a, Pid(*cluster().system("a").InternPeer("b", cluster().system("b").incarnation()), 999, 999), 1);
  EXPECT_THAT(*a.diary, ElementsAre("error NoProcess"));
  EXPECT_EQ(cluster().core("a").Ledger().refused_by_peer, 1);
}

TEST_F(NodeCoreTest, ATellThatTheReceivingSystemRefusesIsADeadLetterAtItsSender) {
  Join();
  std::vector<DeadLetter> letters;
  cluster().system("a").SubscribeDeadLetters([&](const DeadLetter& letter) { letters.push_back(letter); });
  const Puppeteer b = Make("b");
  const Ref<Puppet> seen(Seen("a", b, "b"));
  EXPECT_TRUE(seen[&Puppet::small].Send(NoteOf(1)).ok());
  EXPECT_TRUE(
      Channel<net_testing::Note>(seen.pid(), internal::MailboxNames::Intern("puppet/none")).Send(NoteOf(6)).ok());
  Run();
  EXPECT_EQ(cluster().core("a").counters().refused_tells, 1);
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].to, seen.pid());
  EXPECT_THAT(letters[0].ToString(),
              MatchesRegex("dead letter: understudy.net_testing.Note of 2 bytes from a plain thread to puppet/none of "
                           "<b\\..*>: NoMailbox.*"));
  const std::vector<PeerStatus> peers = cluster().core("a").Peers();
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].refused_by_peer.at(ErrorKind::kNoMailbox), 1);
  EXPECT_EQ(cluster().core("a").Ledger().refused_by_peer, 1);
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
  const Ref<Puppet> stranger(Pid(*a.InternPeer("nowhere", {1}), 1, 1));
  const absl::Status status = stranger[&Puppet::note].Send(NoteOf(1));
  EXPECT_TRUE(IsNoConnection(status)) << status;
}

// This happens when a third node passes a pid of b on before this node has noticed that b was restarted.
TEST_F(NodeCoreTest, APidOfAnIncarnationThatIsNotMetYetAnswersNoConnectionAndIsGoodLater) {
  Join();
  const Puppeteer a = Make("a");
  cluster().network().Stall("a", "b");
  cluster().Crash("b");
  cluster().Start("b");
  const Puppeteer b = Make("b");
  const Pid young = Seen("a", b, "b");
  const absl::Status status = Ref<Puppet>(young)[&Puppet::note].Send(NoteOf(1));
  EXPECT_TRUE(IsNoConnection(status)) << status;
  Do(a, [young](Puppet& p) { p.Watch(young); });
  EXPECT_THAT(*a.diary, ElementsAre("down NoConnection"));
  Run(absl::Seconds(20));
  EXPECT_TRUE(Ref<Puppet>(young)[&Puppet::note].Send(NoteOf(2)).ok());
  Run(absl::Seconds(1));
  EXPECT_THAT(*b.diary, ElementsAre("note 2"));
}

// OTP MON-19
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

// EBA 37
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

// OTP MON-09
TEST_F(NodeCoreTest, ADownTellsTheReasonAndForTheDeadNoProcess) {
  Join();
  const Puppeteer a = Make("a");
  for (const bool by_name : {false, true}) {
    for (const ExitReason& reason : {ExitReason::Normal(), ExitReason::Failed(absl::DataLossError("disk"))}) {
      const Puppeteer b = Make("b", "desk");
      const Pid watched = by_name ? cluster().system("a").WhereIs("desk").value_or(Pid()) : Seen("a", b, "b");
      Do(a, [watched](Puppet& p) { p.Watch(watched); });
      Do(b, [reason](Puppet& p) { p.context().Stop(reason); });
      Do(a, [watched](Puppet& p) { p.Watch(watched); });
      EXPECT_THAT(*a.diary, ElementsAre(absl::StrCat("down ", ExitKindName(reason.kind())), "down NoProcess"));
      a.diary->clear();
    }
  }
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

// An actor of b ends, and at about the same time one of a, which is linked to it and watches it, lets go of it.
// OTP MON-14, LNK-09, LNK-11
TEST_F(NodeCoreTest, AfterDemonitorAndUnlinkNothingArrivesWheneverTheOtherEnds) {
  int told_before = 0;
  int let_go_before = 0;
  ForEachSeed(200, [&](uint64_t seed) {
    Join({.seed = seed});
    Random random(seed);
    const Puppeteer a = Make("a");
    const Puppeteer b = Make("b");
    const Pid seen = Seen("a", b, "b");
    Do(a, [seen](Puppet& p) {
      p.Trap();
      p.Watch(seen);
      p.context().Link(seen);
    });
    EXPECT_TRUE(b.ref[&Puppet::run].Send([](Puppet& p) { p.Fail(absl::DataLossError("gone")); }).ok());
    Run(absl::Microseconds(random.Below(3000)));
    Do(a, [seen](Puppet& p) {
      p.monitors_.clear();
      p.context().Unlink(seen);
      p.Write("let go");
    });
    ASSERT_THAT(*a.diary, Not(IsEmpty()));
    EXPECT_EQ(a.diary->back(), "let go");
    ++(a.diary->size() > 1 ? told_before : let_go_before);
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(told_before, 20);
    EXPECT_GT(let_go_before, 20);
  }
}

// Two actors link to and unlink from each other at the same time. Afterwards both ends must agree: a link that one of
// them makes (or ends) when no signal is under way then exists (or not) for both.
// OTP LNK-14, LNK-16
TEST_F(NodeCoreTest, AnyProgramOfLinksAndUnlinksOfTwoNodesEndsInAgreement) {
  ForEachSeed(200, [&](uint64_t seed) {
    Join({.seed = seed});
    Random random(seed);
    const Puppeteer a = Make("a");
    const Puppeteer b = Make("b");
    const auto link_or_unlink = [&](bool of_a, bool links) {
      const Pid peer = of_a ? Seen("a", b, "b") : Seen("b", a, "a");
      EXPECT_TRUE((of_a ? a : b)
                      .ref[&Puppet::run]
                      .Send([peer, links](Puppet& p) { links ? p.context().Link(peer) : p.context().Unlink(peer); })
                      .ok());
    };
    for (const Puppeteer& puppet : {a, b}) Do(puppet, [](Puppet& p) { p.Trap(); });
    for (int step = 0; step < 12; ++step) {
      link_or_unlink(random.Below(2) == 0, random.Below(2) == 0);
      Run(absl::Microseconds(random.Below(1500)));
    }
    Run();
    const bool linked = random.Below(2) == 0;
    link_or_unlink(random.Below(2) == 0, linked);
    Run();
    const bool ends_a = random.Below(2) == 0;
    Do(ends_a ? a : b, [](Puppet& p) { p.Fail(absl::DataLossError("gone")); });
    EXPECT_THAT(*(ends_a ? b : a).diary, ElementsAreArray(linked ? Diary{"trapped Failed"} : Diary{}));
  });
}

// ---- The end of a session ----

// OTP MON-09
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
    EXPECT_TRUE(SendSoon(Ref<Puppet>(seen)[&Puppet::note], NoteOf(i)).ok());
    Run(absl::Microseconds(300));
    if (i % 3 == 0) cluster().network().Cut("a", "b");
  }
  Run(absl::Seconds(2));
  EXPECT_THAT(*a.diary, IsEmpty());
  EXPECT_THAT(*b.diary, SizeIs(20));
  EXPECT_EQ(b.diary->back(), "note 20");
}

// OTP MON-09
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

// OTP GS-43, GS-44
TEST_F(NodeCoreTest, WithAGrantARequestToStopEndsAnActorOfAnotherNode) {
  Join();
  for (const bool by_name : {false, true}) {
    const Puppeteer a = Make("a");
    const Puppeteer b = Make("b", "server");
    const Pid target = by_name ? cluster().system("a").WhereIs("server").value_or(Pid()) : Seen("a", b, "b");
    Do(a, [target](Puppet& p) {
      p.Watch(target);
      p.context().RequestStop(target);
    });
    EXPECT_THAT(*a.diary, ElementsAre("down Shutdown"));
    EXPECT_THAT(*b.diary, ElementsAre("exit Shutdown"));
  }
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

}  // namespace
}  // namespace understudy
