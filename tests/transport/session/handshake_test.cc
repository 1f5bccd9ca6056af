// Tests of what a handshake must contain: versions, times, proofs, and the recorded bytes of the first nodes that spoke
// wire version 2, which every later node must read.
#include "understudy/transport/session/handshake.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- Recorded handshakes ----

// Handshakes of node b, incarnation 0x0202020202020202, with the key "hhhhhhhhhhhhhhhh", to a node a, incarnation
// 0x0101010101010101, whose key is "wwwwwwwwwwwwwwww".
constexpr absl::string_view kHello =
    "32420802120162190202020202020202220161380140014a0e3132372e302e302e313a37303030500262106868686868686868686868686868"
    "686882010608e80710a01f";
constexpr absl::string_view kFirstFrame = "08014a00";
constexpr absl::string_view kResumingHello =
    "325f080212016219020202020202020222016128013802400250026210696969696969696969696969696969696901010101010101017a2017"
    "b9de4aa5345e05bda9b01fc1c8c85a8560b8e0bb9ee8c3d2375ac7cb61e41682010608e80710a01f";
constexpr absl::string_view kWelcome =
    "08013a3d08021201611901010101010101012001420e3132372e302e302e313a37303031521077777777777777777777777777777777620908"
    "e80710a01f188827";
constexpr absl::string_view kResumingWelcome =
    "08013a3f0802120161190101010101010101200128015a2014db0fcd3e66cf0a7d50454eb32f8fb21c7d66aa654ecd8f0ccfe962f5a5097162"
    "0908e80710a01f188827";
// Handshakes of wire version 1.
constexpr absl::string_view kOldHello =
    "32250801120162190202020202020202220161380140014a0e3132372e302e302e313a37303030";
constexpr absl::string_view kOldRefuse =
    "424c0802124874686973206973206e6f646520612c20776972652076657273696f6e20313b207468652073747265616d20697320666f72206e"
    "6f646520612c20776972652076657273696f6e2032";

constexpr uint64_t kOfA = 0x0101010101010101;
constexpr uint64_t kOfB = 0x0202020202020202;

std::string Bytes(absl::string_view hex) { return absl::HexStringToBytes(hex); }

SessionConfig Config(absl::string_view node, char key) {
  SessionConfig config;
  config.node = std::string(node);
  config.peer = node == "a" ? "b" : "a";
  config.incarnation = {node == "a" ? kOfA : kOfB};
  config.peer_place = [](NodeIncarnation) { return 2; };
  config.new_key = [key] { return std::string(kSessionKeyBytes, key); };
  return config;
}

TEST(RecordedHandshakeTest, ANodeOfWireVersion2BeginsAndResumesASession) {
  PeerSession a(Config("a", 'w'));
  MonotonicTime now;
  const uint64_t first = a.OnAccepted(DecodeHandshake(Bytes(kHello))->hello(), StreamIdentity::Unproved(), now);
  a.OnStreamFrame(first, Bytes(kFirstFrame), now);
  ASSERT_TRUE(a.is_up());
  a.OnStreamClosed(first, absl::UnavailableError("cut"), now);
  ASSERT_FALSE(a.is_up());
  a.OnAccepted(DecodeHandshake(Bytes(kResumingHello))->hello(), StreamIdentity::Unproved(), now);
  EXPECT_TRUE(a.is_up());
}

TEST(RecordedHandshakeTest, ANodeOfWireVersion2WelcomesAndIsResumed) {
  PeerSession b(Config("b", 'h'));
  MonotonicTime now;
  b.SetDialable(StreamIdentity::Unproved(), now);
  const uint64_t first = std::get<DialStream>(b.TakeActions()[0]).stream;
  b.OnStreamFrame(first, Bytes(kWelcome), now);
  ASSERT_TRUE(b.is_up());
  b.OnStreamClosed(first, absl::UnavailableError("cut"), now);
  b.TakeActions();
  now = now + absl::Seconds(1);
  b.Tick(now);
  const uint64_t second = std::get<DialStream>(b.TakeActions()[0]).stream;
  b.OnStreamFrame(second, Bytes(kResumingWelcome), now);
  EXPECT_TRUE(b.is_up());
}

TEST(RecordedHandshakeTest, ANodeOfWireVersion1IsRefusedWithTheReason) {
  const proto::Hello hello = DecodeHandshake(Bytes(kOldHello))->hello();
  const absl::optional<Refusal> refusal = CheckHello(hello, "a", WireVersions());
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, proto::Refuse::MISTAKEN);
  EXPECT_THAT(refusal->detail, AllOf(HasSubstr("can be taken over"), HasSubstr("build node b with a later")));
}

TEST(RecordedHandshakeTest, TheRefusalOfANodeOfWireVersion1IsTold) {
  PeerSession b(Config("b", 'h'));
  b.SetDialable(StreamIdentity::Unproved(), MonotonicTime());
  b.OnStreamFrame(std::get<DialStream>(b.TakeActions()[0]).stream, Bytes(kOldRefuse), MonotonicTime());
  std::string detail;
  for (const SessionAction& action : b.TakeActions()) {
    if (const auto* refused = std::get_if<DialRefused>(&action)) detail = refused->detail;
  }
  EXPECT_THAT(detail, HasSubstr("wire version 1"));
}

// ---- Versions ----

TEST(HandshakeTest, TheHighestCommonVersionIsChosen) {
  proto::Hello hello = HelloFrom("b", kOfB, "a");
  hello.set_version(3);
  hello.set_version_highest(5);
  EXPECT_EQ(CommonVersion(hello, {.lowest = 2, .highest = 4}), 4U);
  EXPECT_EQ(CommonVersion(hello, {.lowest = 2, .highest = 9}), 5U);
  EXPECT_EQ(CommonVersion(hello, {.lowest = 2, .highest = 2}), absl::nullopt);
  EXPECT_EQ(CommonVersion(hello, {.lowest = 6, .highest = 9}), absl::nullopt);
  EXPECT_THAT(CheckHello(hello, "a", {.lowest = 2, .highest = 2})->detail, HasSubstr("build node a with a later"));
  EXPECT_THAT(CheckHello(hello, "a", {.lowest = 6, .highest = 9})->detail, HasSubstr("build node b with a later"));
}

TEST(HandshakeTest, ASessionHasTheHighestCommonVersionAndTheCommonFeatures) {
  SessionConfig config = Config("a", 'w');
  config.versions = {.lowest = 2, .highest = 7, .features = 0b0110};
  PeerSession a(config);
  proto::Hello hello = HelloFrom("b", kOfB, "a");
  hello.set_version_highest(4);
  hello.set_features(0b0011);
  a.OnStreamFrame(a.OnAccepted(hello, StreamIdentity::Unproved(), MonotonicTime()), HeartbeatFrame(1), MonotonicTime());
  ASSERT_TRUE(a.is_up());
  EXPECT_EQ(a.wire_version(), 4U);
  EXPECT_EQ(a.features(), 0b0010U);
}

// OTP DST-02
TEST(HandshakeTest, EachCombinationOfVersionsAndFeaturesMeetsWithWhatBothHaveOrIsRefused) {
  int met = 0;
  int refused = 0;
  const auto meet = [&](const WireVersions& ours, uint32_t lowest, uint32_t highest, uint64_t features) {
    proto::Hello hello = HelloFrom("b", kOfB, "a");
    hello.set_version(lowest);
    hello.set_version_highest(highest);
    hello.set_features(features);
    if (std::max(lowest, ours.lowest) > std::min(highest, ours.highest)) {
      EXPECT_TRUE(CheckHello(hello, "a", ours).has_value());
      ++refused;
      return;
    }
    SessionConfig config = Config("a", 'w');
    config.versions = ours;
    PeerSession a(config);
    a.OnStreamFrame(a.OnAccepted(hello, StreamIdentity::Unproved(), MonotonicTime()), HeartbeatFrame(1),
                    MonotonicTime());
    ASSERT_TRUE(a.is_up());
    EXPECT_EQ(a.wire_version(), std::min(highest, ours.highest));
    EXPECT_EQ(a.features(), features & ours.features);
    ++met;
  };
  for (uint32_t lowest = 2; lowest < 5; ++lowest) {
    for (uint32_t highest = lowest; highest < 5; ++highest) {
      for (uint64_t features = 0; features < 8; ++features) {
        for (uint32_t theirs = 2; theirs < 5; ++theirs) {
          for (uint64_t of_peer = 0; of_peer < 8; ++of_peer) {
            meet({.lowest = lowest, .highest = highest, .features = features}, theirs, theirs, of_peer);
            meet({.lowest = lowest, .highest = highest, .features = features}, theirs, 4, of_peer);
          }
        }
      }
    }
  }
  EXPECT_GT(met, 1000);
  EXPECT_GT(refused, 100);
}

TEST(HandshakeTest, AFrameOfAStreamWithoutASessionIsSmall) {
  EXPECT_FALSE(DecodeHandshake(std::string(kHandshakeBytesMax + 1, '\0')).ok());
  proto::Hello hello = HelloFrom("b", kOfB, "a");
  hello.set_key(std::string(65, 'k'));
  EXPECT_FALSE(DecodeHandshake(FrameOf(hello)).ok());
}

// ---- Times ----

TEST(SessionTimesTest, ThePresetsAreValid) {
  for (const SessionTimes& times :
       {SessionTimes(), SessionTimes::SameMachine(), SessionTimes::Lan(), SessionTimes::Wan()}) {
    EXPECT_TRUE(times.Validate().ok()) << times.Validate();
  }
}

TEST(SessionTimesTest, EachBadTimeHasItsOwnErrorWithItsValueAndItsRange) {
  const struct {
    void (*change)(SessionTimes&);
    absl::string_view error;
  } kCases[] = {
      {[](SessionTimes& t) { t.heartbeat_interval = absl::ZeroDuration(); },
       "heartbeat_interval is 0: expected 10ms to 1.333s"},
      {[](SessionTimes& t) { t.heartbeat_interval = absl::Seconds(2); },
       "heartbeat_interval is 2s: expected 10ms to 1.333s"},
      {[](SessionTimes& t) { t.silence_timeout = absl::InfiniteDuration(); },
       "silence_timeout is inf: expected 30ms to 10m"},
      {[](SessionTimes& t) { t.grace_period = -absl::Seconds(1); }, "grace_period is -1s: expected 0 to 1h"},
      {[](SessionTimes& t) { t.handshake_timeout = absl::ZeroDuration(); },
       "handshake_timeout is 0: expected 1ms to 1m"},
      {[](SessionTimes& t) { t.probe_timeout = absl::Hours(1); }, "probe_timeout is 1h: expected 1ms to 1m"},
      {[](SessionTimes& t) { t.acknowledge_delay = absl::Seconds(2); }, "acknowledge_delay is 2s: expected 0 to 1s"},
      {[](SessionTimes& t) { t.backoff_min = absl::ZeroDuration(); }, "backoff_min is 0: expected 1ms to 1m"},
      {[](SessionTimes& t) { t.backoff_max = absl::Milliseconds(10); }, "backoff_max is 10ms: expected 20ms to 1m"},
      {[](SessionTimes& t) { t.leave_timeout = -absl::Seconds(1); }, "leave_timeout is -1s: expected 0 to 1m"},
      {[](SessionTimes& t) { t.linger = absl::ZeroDuration(); }, "linger is 0: expected 1ms to 1m"},
  };
  for (const auto& [change, error] : kCases) {
    SessionTimes times;
    change(times);
    EXPECT_THAT(std::string(times.Validate().message()), HasSubstr(std::string(error)));
  }
  SessionTimes two;
  two.grace_period = absl::Hours(2);
  two.linger = absl::Hours(2);
  EXPECT_THAT(std::string(two.Validate().message()), AllOf(HasSubstr("grace_period"), HasSubstr("linger")));
}

TEST(SessionTimesTest, BothEndsUseTheLongerSilenceAndTheLongerGrace) {
  const SessionTimes lan = SessionTimes::Lan();
  const SessionTimes wan = SessionTimes::Wan();
  const SessionTimes at_lan = Agree(lan, ToProto(wan));
  const SessionTimes at_wan = Agree(wan, ToProto(lan));
  EXPECT_EQ(at_lan.silence_timeout, at_wan.silence_timeout);
  EXPECT_EQ(at_lan.grace_period, at_wan.grace_period);
  EXPECT_EQ(at_lan.silence_timeout, wan.silence_timeout);
  EXPECT_EQ(at_lan.heartbeat_interval, lan.heartbeat_interval);
}

TEST(SessionTimesTest, AnUnprovedPeerHasAtMostAMinuteOfGraceUnlessTheNodeHasMore) {
  SessionTimes ours;
  SessionTimes theirs;
  theirs.grace_period = absl::Hours(1);
  theirs.silence_timeout = absl::Seconds(20);
  const auto agreed = [&] { return AgreeUnproved(ours, ToProto(theirs), AcceptingEnd::kOurs); };
  // The dialling peer comes to the same.
  const auto at_peer = [&] { return AgreeUnproved(theirs, ToProto(ours), AcceptingEnd::kTheirs); };
  EXPECT_EQ(agreed().grace_period, absl::Minutes(1));
  EXPECT_EQ(at_peer().grace_period, absl::Minutes(1));
  EXPECT_EQ(agreed().silence_timeout, absl::Seconds(20));
  ours.grace_period = absl::Minutes(10);
  EXPECT_EQ(agreed().grace_period, absl::Minutes(10));
  EXPECT_EQ(at_peer().grace_period, absl::Minutes(10));
  ours = SessionTimes();
  theirs = SessionTimes();
  EXPECT_EQ(agreed().grace_period, absl::Seconds(5));
}

TEST(SessionTimesTest, APeersImpossibleTimesAreRefused) {
  proto::Hello hello = HelloFrom("b", kOfB, "a");
  hello.mutable_times()->set_heartbeat_ms(0);
  EXPECT_THAT(CheckHello(hello, "a", WireVersions())->detail, HasSubstr("heartbeat_interval is 0"));
}

// A session with b at a, whose last frame came at `now`.
class StalledSession {
 public:
  StalledSession() : session(Config("a", 'w')) {
    stream = session.OnAccepted(HelloFrom("b", kOfB, "a"), StreamIdentity::Unproved(), now);
    session.OnStreamFrame(stream, HeartbeatFrame(1), now);
    session.OnStreamWritten(stream, now);
    session.TakeActions();
  }
  PeerSession session;
  MonotonicTime now = MonotonicTime::FromNanos(1000000000);
  uint64_t stream = 0;
};

TEST(SessionTimesTest, AStallOfThisProcessIsNotTakenForASilentPeer) {
  StalledSession stalled;
  stalled.session.Tick(stalled.now + absl::Seconds(30));
  EXPECT_TRUE(stalled.session.is_up());
  bool probes = false;
  for (const SessionAction& action : stalled.session.TakeActions()) {
    const auto* write = std::get_if<WriteFrame>(&action);
    if (write != nullptr && DecodeFrame(write->bytes)->heartbeat().probe()) probes = true;
  }
  EXPECT_TRUE(probes);
  stalled.session.OnStreamFrame(stalled.stream, HeartbeatFrame(1), stalled.now + absl::Seconds(30.5));
  stalled.session.Tick(stalled.now + absl::Seconds(32));
  EXPECT_TRUE(stalled.session.is_up());
}

TEST(SessionTimesTest, ASilentPeerIsGivenMoreTimeOnce) {
  StalledSession stalled;
  stalled.session.Tick(stalled.now + absl::Seconds(30));
  EXPECT_TRUE(stalled.session.is_up());
  stalled.session.Tick(stalled.now + absl::Seconds(40));
  EXPECT_FALSE(stalled.session.is_up());
}

// ---- Proofs ----

TEST(SessionProofTest, AProofIsOfOneClaimAndOneSecret) {
  const SessionSecret secret(std::string(kSessionKeyBytes, 'a'), std::string(kSessionKeyBytes, 'b'));
  const SessionSecret other(std::string(kSessionKeyBytes, 'b'), std::string(kSessionKeyBytes, 'a'));
  const SessionClaim claim = {.kind = SessionClaim::Kind::kResume,
                              .dialler = "a",
                              .dialler_incarnation = {1},
                              .acceptor = "b",
                              .acceptor_incarnation = {2},
                              .epoch = 3,
                              .dial = 4,
                              .received = 5};
  const std::string proof = secret.Prove(claim);
  EXPECT_EQ(proof.size(), kSessionProofBytes);
  EXPECT_TRUE(secret.Accepts(claim, proof));
  EXPECT_FALSE(other.Accepts(claim, proof));
  EXPECT_FALSE(secret.Accepts(claim, proof.substr(1)));
  EXPECT_FALSE(secret.Accepts(claim, ""));
  void (*const kChanges[])(SessionClaim&) = {
      [](SessionClaim& c) { c.kind = SessionClaim::Kind::kResumed; },
      [](SessionClaim& c) { c.dialler = "c"; },
      [](SessionClaim& c) { c.dialler_incarnation = {9}; },
      [](SessionClaim& c) { c.acceptor = "c"; },
      [](SessionClaim& c) { c.acceptor_incarnation = {9}; },
      [](SessionClaim& c) { c.epoch = 9; },
      [](SessionClaim& c) { c.dial = 9; },
      [](SessionClaim& c) { c.received = 9; },
  };
  for (const auto change : kChanges) {
    SessionClaim changed = claim;
    change(changed);
    EXPECT_FALSE(secret.Accepts(changed, proof));
  }
  EXPECT_NE(NewSessionKey(), NewSessionKey());
}

TEST(HandshakeTest, ALongRefusalIsCutWithAMark) {
  const std::string why(5000, 'x');
  const absl::StatusOr<proto::Frame> frame =
      DecodeFrame(RefuseFrame({.reason = proto::Refuse::FULL, .detail = why}, WireVersions(), {.bits = kOfA}));
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->refuse().detail(), CutText(why, limits::kMailboxNameBytesMax));
}

}  // namespace
}  // namespace understudy
