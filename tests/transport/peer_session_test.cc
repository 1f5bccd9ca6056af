#include "understudy/transport/session/peer_session.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/seeds.h"
#include "understudy/tests/transport/session_pair.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Numbers(int from, int to) {
  std::vector<std::string> numbers;
  for (int i = from; i <= to; ++i) numbers.push_back(absl::StrCat(i));
  return numbers;
}

void SendNumbers(SessionPair& pair, SessionPair::Node& node, int from, int to) {
  for (const std::string& number : Numbers(from, to)) ASSERT_TRUE(pair.Send(node, number).ok());
}

SessionConfig ConfigOfA() {
  return {.node = "a",
          .incarnation = {1},
          .peer = "b",
          .local_index = 1,
          .peer_place = [](NodeIncarnation) { return 2; },
          .new_key = KeysOf(1)};
}

// The stream of a session between a and the b that the Hello speaks for.
uint64_t BeginSession(PeerSession& a, const proto::Hello& hello, MonotonicTime now) {
  const uint64_t stream = a.OnAccepted(hello, StreamIdentity::SameUser(), now);
  a.OnStreamFrame(stream, HeartbeatFrame(1), now);
  EXPECT_TRUE(a.is_up());
  return stream;
}

// A pair of nodes with a session, whose earlier events were discarded.
class PeerSessionTest : public ::testing::Test {
 protected:
  void Join(SessionPair::Options options = {}) {
    pair_ = std::make_unique<SessionPair>(options);
    pair_->RunFor(absl::Milliseconds(100));
    ASSERT_TRUE(a().session->is_up());
    ASSERT_TRUE(b().session->is_up());
    a().events.clear();
    b().events.clear();
  }
  SessionPair& pair() { return *pair_; }
  SessionPair::Node& a() { return pair_->a(); }
  SessionPair::Node& b() { return pair_->b(); }

  std::unique_ptr<SessionPair> pair_;
};

TEST_F(PeerSessionTest, ADialBeginsOneSessionAtBothEnds) {
  SessionPair pair({.b_dials = false});
  pair.RunFor(absl::Seconds(1));
  EXPECT_THAT(pair.a().events, ElementsAre("begun 1"));
  EXPECT_THAT(pair.b().events, ElementsAre("begun 1"));
}

TEST_F(PeerSessionTest, EnvelopesArriveInOrderAndAreAcknowledged) {
  Join();
  SendNumbers(pair(), a(), 1, 100);
  SendNumbers(pair(), b(), 1, 50);
  pair().RunFor(absl::Milliseconds(100));
  EXPECT_EQ(b().received, Numbers(1, 100));
  EXPECT_EQ(a().received, Numbers(1, 50));
  EXPECT_EQ(a().session->ledger(), (SessionLedger{.accepted = 100, .acknowledged = 100}));
  EXPECT_EQ(b().session->ledger(), (SessionLedger{.accepted = 50, .acknowledged = 50}));
}

TEST_F(PeerSessionTest, WhatComesWhileAWriteIsUnderWayTravelsInOneFrame) {
  Join();
  const int before = a().frames_written;
  SendNumbers(pair(), a(), 1, 1000);
  pair().RunFor(absl::Milliseconds(4));
  EXPECT_EQ(b().received, Numbers(1, 1000));
  EXPECT_LE(a().frames_written - before, 4);
}

TEST_F(PeerSessionTest, ASessionOutlivesItsStreams) {
  Join();
  SendNumbers(pair(), a(), 1, 10);
  pair().CutAll();
  pair().RunFor(absl::Milliseconds(3));
  EXPECT_THAT(a().events, ElementsAre("suspect"));
  SendNumbers(pair(), a(), 11, 20);
  pair().RunFor(absl::Seconds(1));
  EXPECT_THAT(a().events, ElementsAre("suspect", "resumed"));
  EXPECT_THAT(b().events, ElementsAre("suspect", "resumed"));
  EXPECT_EQ(b().received, Numbers(1, 20));
}

TEST_F(PeerSessionTest, AfterTheGracePeriodTheSessionEndsOnceAtBothEnds) {
  Join();
  SendNumbers(pair(), a(), 1, 3);
  pair().SetReachable(false);
  pair().CutAll();
  pair().RunFor(absl::Seconds(4.5));
  EXPECT_THAT(a().events, ElementsAre("suspect"));
  pair().RunFor(absl::Seconds(60));
  EXPECT_THAT(a().events, ElementsAre("suspect", "ended 1 grace period over"));
  EXPECT_THAT(b().events, ElementsAre("suspect", "ended 1 grace period over"));
  EXPECT_TRUE(IsNoConnection(pair().Send(a(), "late")));
  EXPECT_EQ(a().session->ledger(), (SessionLedger{.accepted = 3, .unconfirmed = 3}));
}

TEST_F(PeerSessionTest, TheSameIncarnationsBeginAnotherSessionWithAHigherEpoch) {
  Join();
  SendNumbers(pair(), a(), 1, 3);
  pair().SetReachable(false);
  pair().CutAll();
  pair().RunFor(absl::Seconds(60));
  pair().SetReachable(true);
  a().events.clear();
  pair().RunFor(absl::Seconds(5));
  EXPECT_THAT(a().events, ElementsAre("begun 2"));
  EXPECT_EQ(b().session->epoch(), 2U);
  SendNumbers(pair(), a(), 4, 5);
  pair().RunFor(absl::Seconds(1));
  EXPECT_THAT(b().received, ElementsAre("4", "5"));  // 1 to 3 are unconfirmed, not sent again
}

TEST_F(PeerSessionTest, WithoutAGracePeriodALostStreamEndsTheSessionAtOnce) {
  Join({.times = {.grace_period = absl::ZeroDuration()}});
  pair().CutAll();
  pair().RunFor(absl::Milliseconds(3));
  ASSERT_FALSE(a().events.empty());
  EXPECT_EQ(a().events[0], "ended 1 it has no grace period");
}

TEST_F(PeerSessionTest, HeartbeatsKeepAnIdleSessionUp) {
  Join();
  pair().RunFor(absl::Minutes(10));
  EXPECT_THAT(a().events, IsEmpty());
  EXPECT_THAT(b().events, IsEmpty());
  EXPECT_LT(a().frames_written, 10 * 60 * 2);
}

TEST_F(PeerSessionTest, OnlySilenceForTheWholeTimeoutMakesASessionSuspect) {
  Join();
  pair().StallAll();
  pair().RunFor(absl::Seconds(2.7));
  EXPECT_THAT(a().events, IsEmpty());
  pair().RunFor(absl::Seconds(1.4));
  ASSERT_THAT(a().events, ::testing::Not(IsEmpty()));
  EXPECT_EQ(a().events[0], "suspect");
}

TEST_F(PeerSessionTest, NodesThatDialEachOtherAtOnceKeepExactlyOneStream) {
  for (const uint64_t seed : SeedsOf(200)) {
    SessionPair pair({.seed = seed});
    pair.RunFor(absl::Seconds(5));
    ASSERT_EQ(pair.open_streams(), 1) << "seed " << seed;
    ASSERT_TRUE(pair.a().session->is_up() && pair.b().session->is_up()) << "seed " << seed;
    ASSERT_EQ(std::count(pair.a().events.begin(), pair.a().events.end(), "begun 1"), 1) << "seed " << seed;
    ASSERT_EQ(std::count(pair.b().events.begin(), pair.b().events.end(), "suspect"), 0) << "seed " << seed;
    ASSERT_EQ(pair.a().session->epoch(), 1U) << "seed " << seed;
  }
}

TEST_F(PeerSessionTest, ADialThatGoesNowhereDoesNotKeepThePeersOut) {
  // a, whose streams would win, dials into the void; b's dial is let in when
  // a's has failed.
  PeerSession a(ConfigOfA());
  MonotonicTime now;
  a.SetDialable(StreamIdentity::SameUser(), now);
  a.TakeActions();
  proto::Hello hello = HelloFrom("b", 2, "a");
  const uint64_t stream = a.OnAccepted(hello, StreamIdentity::SameUser(), now);
  a.OnStreamFrame(stream, HeartbeatFrame(1), now);
  EXPECT_FALSE(a.is_up());
  now = now + SessionTimes().handshake_timeout;
  a.Tick(now);
  a.OnStreamFrame(a.OnAccepted(HelloFrom("b", 2, "a", 2), StreamIdentity::SameUser(), now), HeartbeatFrame(1), now);
  EXPECT_TRUE(a.is_up());
}

TEST_F(PeerSessionTest, ANewIncarnationEndsASuspectSessionWithoutGrace) {
  Join();
  pair().Restart(b(), SessionPair::Streams::kCut);
  pair().RunFor(absl::Milliseconds(200));
  EXPECT_THAT(a().events, ElementsAre("suspect", "ended 1 new incarnation", "begun 2"));
  SendNumbers(pair(), a(), 1, 3);
  pair().RunFor(absl::Milliseconds(100));
  EXPECT_EQ(b().received, Numbers(1, 3));
}

TEST_F(PeerSessionTest, ANewIncarnationReplacesOneThatDoesNotAnswerAfterTheProbe) {
  Join();
  pair().Restart(b(), SessionPair::Streams::kStalled);
  pair().RunFor(absl::Milliseconds(900));
  EXPECT_THAT(a().events, IsEmpty());
  pair().RunFor(absl::Milliseconds(300));
  EXPECT_THAT(a().events, ElementsAre("ended 1 new incarnation", "begun 2"));
}

TEST_F(PeerSessionTest, ASecondLiveNodeOfTheSameNameIsRefused) {
  Join();
  proto::Hello hello = HelloFrom("b", 9999, "a");
  const uint64_t stream = a().session->OnAccepted(hello, StreamIdentity::SameUser(), pair().now());
  a().stream_of[stream] = 1000;  // a stream that leads nowhere
  pair().Act(a());
  pair().RunFor(absl::Seconds(3));
  EXPECT_THAT(a().events, IsEmpty());
  EXPECT_TRUE(a().session->is_up());
  EXPECT_EQ(a().session->nodes().peer.bits, b().incarnation);
  SendNumbers(pair(), a(), 1, 3);
  pair().RunFor(absl::Milliseconds(100));
  EXPECT_EQ(b().received, Numbers(1, 3));
}

TEST_F(PeerSessionTest, AHelloForAnotherNodeOrVersionIsRefused) {
  for (const auto change : {+[](proto::Hello& h) { h.set_to_node("c"); }, +[](proto::Hello& h) { h.set_version(99); },
                            +[](proto::Hello& h) { h.clear_key(); }, +[](proto::Hello& h) { h.clear_times(); },
                            +[](proto::Hello& h) { h.set_new_epoch(0); }}) {
    PeerSession a(ConfigOfA());
    proto::Hello hello = HelloFrom("b", 2, "a");
    change(hello);
    a.OnAccepted(hello, StreamIdentity::SameUser(), MonotonicTime());
    EXPECT_FALSE(a.is_live());
    const std::vector<SessionAction> actions = a.TakeActions();
    ASSERT_THAT(actions, SizeIs(2));
    const absl::StatusOr<proto::Frame> frame = DecodeFrame(std::get<WriteFrame>(actions[1]).bytes);
    EXPECT_EQ(frame->refuse().reason(), proto::Refuse::MISTAKEN);
  }
}

TEST_F(PeerSessionTest, ABadFrameEndsTheSessionOnceAtBothEnds) {
  const auto frame = [](uint64_t epoch, uint64_t acknowledged, uint64_t first) {
    proto::Frame out;
    out.set_epoch(epoch);
    out.set_acknowledged(acknowledged);
    if (first != 0) {
      out.set_first_number(first);
      out.add_slots()->set_body("not an envelope");
    }
    return out.SerializeAsString();
  };
  const std::string cases[] = {"\xff\xff\xff\xff", frame(2, 0, 0), frame(1, 7, 0), frame(1, 0, 5), frame(1, 0, 1)};
  for (const std::string& bad : cases) {
    Join();
    pair().Inject(a(), bad);
    EXPECT_THAT(b().events, ElementsAre("ended 1 bad frame"));
    pair().RunFor(absl::Milliseconds(10));
    // The node may also find that the frame acknowledges a slot that it never sent.
    EXPECT_THAT(a().events, ElementsAre(AnyOf("ended 1 ended by the peer", "ended 1 bad frame")));
  }
}

TEST_F(PeerSessionTest, AForgedSenderIsABadFrame) {
  Join();
  const NodePair forged{.local = {12345}, .peer = {b().incarnation}};
  FramePacker packer(1, 0);
  Signal signal;
  signal.kind = SignalKind::kKill;
  signal.from = Pid(1, 1, 1);
  signal.to = Pid(2, 1, 1);
  const std::string body = EncodeSignal(forged, signal);
  ASSERT_TRUE(packer.Add(1, {.body = body}, nullptr));
  pair().Inject(a(), packer.Encode());
  EXPECT_THAT(b().events, ElementsAre("ended 1 bad frame"));
}

TEST_F(PeerSessionTest, AMessageToAMailboxThatTheStreamHasNotDefinedIsABadFrame) {
  Join();
  FramePacker packer(1, 0);
  const std::string body = *EncodeMessage(a().session->nodes(), Pid(1, 1, 1), Pid(2, 1, 1), 4711, 0, "");
  ASSERT_TRUE(packer.Add(1, {.body = body}, nullptr));
  pair().Inject(a(), packer.Encode());
  EXPECT_THAT(b().events, ElementsAre("ended 1 bad frame"));
}

TEST_F(PeerSessionTest, AFrameOfAnOlderEpochIsRefusedAndCounted) {
  Join({.times = {.grace_period = absl::ZeroDuration()}});
  pair().CutAll();
  pair().RunFor(absl::Seconds(1));
  ASSERT_EQ(b().session->epoch(), 2U);
  b().events.clear();
  proto::Frame old;
  old.set_epoch(1);
  old.set_first_number(1);
  old.add_slots()->set_body("anything");
  pair().Inject(a(), old.SerializeAsString());
  EXPECT_THAT(b().events, IsEmpty());
  EXPECT_EQ(b().session->old_frames_refused(), 1);
}

TEST_F(PeerSessionTest, LeavingDeliversWhatWasAcceptedThenEndsBothSides) {
  Join();
  SendNumbers(pair(), a(), 1, 500);
  a().session->Leave("done", pair().now());
  pair().Act(a());
  EXPECT_TRUE(IsStopping(pair().Send(a(), "late")));
  pair().RunFor(absl::Milliseconds(100));
  EXPECT_EQ(b().received, Numbers(1, 500));
  EXPECT_THAT(a().events, ElementsAre("ended 1 this node left"));
  ASSERT_FALSE(b().events.empty());
  EXPECT_EQ(b().events[0], "ended 1 the peer left");
  EXPECT_EQ(a().session->ledger().unconfirmed, 0);
  pair().RunFor(absl::Seconds(10));
  EXPECT_TRUE(a().session->is_finished());
  EXPECT_FALSE(b().session->is_live());
}

TEST_F(PeerSessionTest, LeavingASilentPeerTakesNoLongerThanItsTimeout) {
  Join();
  pair().StallAll();
  a().session->Leave("done", pair().now());
  pair().Act(a());
  pair().RunFor(absl::Seconds(2.1));
  EXPECT_THAT(a().events, ElementsAre("ended 1 this node left"));
}

TEST_F(PeerSessionTest, AboveItsBytesASuspectSessionRefusesMessagesAndStillTakesSignals) {
  Join({.bounds = {.message_bytes_max = 6000, .signal_bytes_max = 4000}});
  pair().SetReachable(false);
  pair().CutAll();
  pair().RunFor(absl::Milliseconds(3));
  const std::string text(1000, 'm');
  int accepted = 0;
  absl::Status status;
  while ((status = pair().Send(a(), text)).ok()) ++accepted;
  EXPECT_TRUE(IsFull(status)) << status;
  EXPECT_EQ(accepted, 5);
  EXPECT_TRUE(pair().SendSignal(a(), 1000).ok());
  EXPECT_TRUE(pair().SendSignal(a(), 1000).ok());
  EXPECT_THAT(a().events, ElementsAre("suspect"));
  while (pair().SendSignal(a(), 1000).ok()) {
  }
  EXPECT_THAT(a().events, ElementsAre("suspect", "ended 1 no room for signals or answers"));
  EXPECT_TRUE(a().session->ledger().balances());
}

TEST_F(PeerSessionTest, ALargeMessageTravelsInPartsAcrossCuts) {
  Join();
  const std::string large(5 << 20, 'L');
  ASSERT_TRUE(pair().Send(a(), "before").ok());
  ASSERT_TRUE(pair().Send(a(), large).ok());
  ASSERT_TRUE(pair().Send(a(), "after").ok());
  for (int i = 0; i < 10; ++i) {
    pair().RunFor(absl::Milliseconds(9));
    pair().CutAll();
    pair().RunFor(absl::Milliseconds(100));
  }
  EXPECT_THAT(b().received, ElementsAre("before", large, "after"));
  EXPECT_EQ(a().session->ledger().accepted, 3);
  EXPECT_EQ(a().session->ledger().acknowledged, 3);
}

TEST_F(PeerSessionTest, ADeadlineTravelsAsTheTimeThatIsLeftWhenTheFrameIsWritten) {
  Join({.latency_max = absl::ZeroDuration()});
  pair().CutAll();
  pair().SetReachable(false);
  pair().RunFor(absl::Milliseconds(1));
  const MonotonicTime deadline = pair().now() + absl::Seconds(10);
  ASSERT_TRUE(pair().Send(a(), "call", deadline).ok());
  pair().RunFor(absl::Seconds(2));
  pair().SetReachable(true);
  pair().RunFor(absl::Seconds(4));
  // With one clock and no latency, the time that is left gives the same deadline at both nodes.
  EXPECT_THAT(b().deadlines, ElementsAre(deadline));
}

TEST_F(PeerSessionTest, DialsBackOffWithJitterUpToABound) {
  SessionPair pair({.b_dials = false});
  pair.SetReachable(false);
  pair.RunFor(absl::Seconds(30));
  const std::vector<MonotonicTime>& dials = pair.a().dialled;
  ASSERT_GT(dials.size(), 15U);
  ASSERT_LT(dials.size(), 45U);
  bool jitters = false;
  for (size_t i = 2; i < dials.size(); ++i) {  // the first dial was lost, not refused
    const absl::Duration gap = dials[i] - dials[i - 1];
    EXPECT_LE(gap, absl::Seconds(2) + absl::Milliseconds(10));
    if (i > 10) {
      EXPECT_GE(gap, absl::Seconds(1));
    }
    if (i > 10 && gap != dials[i - 1] - dials[i - 2]) jitters = true;
  }
  EXPECT_TRUE(jitters);
}

TEST_F(PeerSessionTest, BeingUnableToWriteDoesNotMakeASessionSuspect) {
  PeerSession a(ConfigOfA());
  MonotonicTime now;
  proto::Hello hello = HelloFrom("b", 2, "a");
  const uint64_t stream = BeginSession(a, hello, now);  // its Welcome is never written
  proto::Frame beat;
  beat.set_epoch(1);
  beat.mutable_heartbeat();
  for (int i = 0; i < 60; ++i) {
    now = now + absl::Seconds(1);
    a.OnStreamFrame(stream, beat.SerializeAsString(), now);
    a.Tick(now);
  }
  EXPECT_TRUE(a.is_up());
}

TEST_F(PeerSessionTest, ARefusedMessageMovesFromAcknowledgedToRefused) {
  Join();
  SendNumbers(pair(), a(), 1, 3);
  pair().RunFor(absl::Milliseconds(100));
  const std::string refusal =
      EncodeRefused(b().session->nodes(),
                    {.from = Pid(1, 1, 1), .to = Pid(2, 1, 1), .status = MakeError(ErrorKind::kNoProcess, "ended")});
  ASSERT_TRUE(b().session->Append({.bytes = refusal, .room = Room::kAnswers}, [&] { return pair().now(); }).ok());
  pair().Act(b());
  pair().RunFor(absl::Milliseconds(100));
  EXPECT_EQ(a().session->ledger(), (SessionLedger{.accepted = 3, .acknowledged = 2, .refused_by_peer = 1}));
}

TEST_F(PeerSessionTest, ARefusalOfWhatWasNeverSentIsABadFrame) {
  Join();
  const std::string refusal =
      EncodeRefused(b().session->nodes(),
                    {.from = Pid(1, 1, 1), .to = Pid(2, 1, 1), .status = MakeError(ErrorKind::kNoProcess, "ended")});
  ASSERT_TRUE(b().session->Append({.bytes = refusal, .room = Room::kAnswers}, [&] { return pair().now(); }).ok());
  pair().Act(b());
  pair().RunFor(absl::Milliseconds(3));
  EXPECT_THAT(a().events, ElementsAre("ended 1 bad frame"));
}

TEST_F(PeerSessionTest, AMailboxWithTheHashOfAnotherIsMarked) {
  // Two names with one hash, found by trying; one is known here.
  std::map<uint32_t, int> seen;
  int other = 0;
  int i = 0;
  for (; i < 1000000; ++i) {
    const auto [it, added] = seen.emplace(internal::Fnv1a(absl::StrCat("collision/", i)), i);
    if (!added) {
      other = it->second;
      break;
    }
  }
  ASSERT_LT(i, 1000000);
  const uint32_t hash = internal::MailboxNames::Intern(absl::StrCat("collision/", i));

  PeerSession a(ConfigOfA());
  proto::Hello hello = HelloFrom("b", 2, "a");
  const uint64_t stream = BeginSession(a, hello, MonotonicTime());
  a.TakeActions();
  const std::string name = absl::StrCat("collision/", other);
  const MailboxDefinition definition{.hash = hash, .name = name};
  FramePacker packer(1, 0);
  const std::string body = *EncodeMessage({.local = {2}, .peer = {1}}, Pid(2, 1, 1), Pid(1, 1, 1), hash, 0, "");
  ASSERT_TRUE(packer.Add(1, {.body = body}, &definition));
  a.OnStreamFrame(stream, packer.Encode(), MonotonicTime());
  const std::vector<SessionAction> actions = a.TakeActions();
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<EnvelopeArrived>(actions[0])) << "it is no message of that mailbox";
}

}  // namespace
}  // namespace understudy
