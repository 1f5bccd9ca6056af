// PeerSession: who may resume, end and replace a session. The tests write the frames of the peer and of strangers
// themselves.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/session/session_config.h"
#include "understudy/tests/transport/session_pair.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Node a, accepting; the test is everybody else.
class AcceptingSession {
 public:
  AcceptingSession() : session_(ConfigOf("a", kOfA, "b")) {}

  // The frame with which node a answers a Hello, and the number of the stream that brought the Hello.
  struct Answer {
    uint64_t stream = 0;
    proto::Frame frame;
  };
  Answer Say(const proto::Hello& hello, const StreamIdentity& identity = StreamIdentity::Unproved()) {
    Answer answer{.stream = session_.OnAccepted(hello, identity, now_)};
    for (const SessionAction& action : Take()) {
      const auto* write = std::get_if<WriteFrame>(&action);
      if (write != nullptr && write->stream == answer.stream) answer.frame = *DecodeFrame(write->bytes);
    }
    return answer;
  }
  // Begins the session that an answer offers.
  void TakeOffer(const Answer& answer) {
    ASSERT_TRUE(answer.frame.has_welcome()) << answer.frame.DebugString();
    session_.OnStreamFrame(answer.stream, HeartbeatFrame(answer.frame.welcome().epoch()), now_);
    Take();
    ASSERT_TRUE(session_.is_up());
  }
  // A session with b, carried by the stream that is given back; as() holds its secret.
  uint64_t Begin(const StreamIdentity& identity = StreamIdentity::Unproved()) {
    const proto::Hello hello = HelloFrom("b", kOfB, "a");
    const Answer answer = Say(hello, identity);
    TakeOffer(answer);
    epoch_ = answer.frame.welcome().epoch();
    secret_ = SessionSecret(hello.key(), answer.frame.welcome().key());
    events_.clear();
    return answer.stream;
  }
  // b's Hello that resumes the session.
  proto::Hello Resuming(uint64_t dial) const {
    proto::Hello hello = HelloFrom("b", kOfB, "a", dial);
    hello.set_resume_epoch(epoch_);
    hello.set_to_incarnation(kOfA);
    hello.set_proof(secret_->Prove(ClaimOfB(SessionClaim::Kind::kResume, dial)));
    return hello;
  }
  proto::Hello HavingEnded(uint64_t dial) const {
    proto::Hello hello = HelloFrom("b", kOfB, "a", dial);
    hello.set_ended_epoch(epoch_);
    hello.set_to_incarnation(kOfA);
    hello.set_proof(secret_->Prove(ClaimOfB(SessionClaim::Kind::kEndedByDialler, dial)));
    return hello;
  }
  SessionClaim ClaimOfB(SessionClaim::Kind kind, uint64_t dial, uint64_t received = 0) const {
    return {.kind = kind,
            .dialler = "b",
            .dialler_incarnation = {kOfB},
            .acceptor = "a",
            .acceptor_incarnation = {kOfA},
            .epoch = epoch_,
            .dial = dial,
            .received = received};
  }
  void Cut(uint64_t stream) {
    session_.OnStreamClosed(stream, absl::UnavailableError("cut"), now_);
    Take();
  }
  void Pass(absl::Duration duration) {
    now_ = now_ + duration;
    session_.Tick(now_);
    Take();
  }

  PeerSession& session() { return session_; }
  const SessionSecret& secret() const { return *secret_; }
  MonotonicTime now() const { return now_; }
  std::vector<std::string>& events() { return events_; }

  std::vector<SessionAction> Take() {
    std::vector<SessionAction> actions = session_.TakeActions();
    for (const SessionAction& action : actions) {
      if (std::holds_alternative<SessionBegun>(action)) events_.push_back("begun");
      if (std::holds_alternative<SessionSuspect>(action)) events_.push_back("suspect");
      if (std::holds_alternative<SessionResumed>(action)) events_.push_back("resumed");
      if (const auto* ended = std::get_if<SessionEnded>(&action)) {
        events_.push_back(absl::StrCat("ended: ", SessionEndName(ended->why)));
      }
      if (const auto* refused = std::get_if<StreamRefused>(&action)) {
        events_.push_back(absl::StrCat("refused ", proto::Refuse::Reason_Name(refused->reason)));
      }
    }
    return actions;
  }

 private:
  PeerSession session_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  uint64_t epoch_ = 0;
  absl::optional<SessionSecret> secret_;
  std::vector<std::string> events_;
};

// ---- Beginning ----

TEST(PeerSessionIdentityTest, AnOfferIsToldToNobodyUntilThePeersFirstFrame) {
  AcceptingSession a;
  const auto answer = a.Say(HelloFrom("b", kOfB, "a"));
  EXPECT_TRUE(answer.frame.has_welcome());
  EXPECT_FALSE(a.session().is_live());
  EXPECT_THAT(a.events(), IsEmpty());
  a.TakeOffer(answer);
  EXPECT_THAT(a.events(), ElementsAre("begun"));
}

TEST(PeerSessionIdentityTest, AnOfferThatIsNotTakenEndsWithTheHandshakesTimeout) {
  AcceptingSession a;
  const auto answer = a.Say(HelloFrom("b", kOfB, "a"));
  a.Pass(SessionTimes().handshake_timeout);
  a.session().OnStreamFrame(answer.stream, HeartbeatFrame(1), a.now());
  EXPECT_FALSE(a.session().is_live());
  EXPECT_THAT(a.events(), IsEmpty());
}

TEST(PeerSessionIdentityTest, AnOfferWhoseFirstFrameWasLostIsResumed) {
  AcceptingSession a;
  const proto::Hello hello = HelloFrom("b", kOfB, "a");
  const auto answer = a.Say(hello);
  a.Cut(answer.stream);
  const SessionSecret secret(hello.key(), answer.frame.welcome().key());
  proto::Hello again = HelloFrom("b", kOfB, "a", 2);
  again.set_resume_epoch(1);
  again.set_to_incarnation(kOfA);
  again.set_proof(secret.Prove({.kind = SessionClaim::Kind::kResume,
                                .dialler = "b",
                                .dialler_incarnation = {kOfB},
                                .acceptor = "a",
                                .acceptor_incarnation = {kOfA},
                                .epoch = 1,
                                .dial = 2}));
  EXPECT_TRUE(a.Say(again).frame.welcome().resumed());
  EXPECT_TRUE(a.session().is_up());
  EXPECT_THAT(a.events(), ElementsAre("begun"));
}

TEST(PeerSessionIdentityTest, ASessionHasANumberOfItsOwnHereWhateverItsEpoch) {
  AcceptingSession a;
  EXPECT_EQ(a.session().number(), 0U);
  a.Begin();
  EXPECT_EQ(a.session().number(), 1U);
  a.session().EndForBadFrame("a test", a.now());
  proto::Hello hello = HelloFrom("b", kOfB, "a", 2);
  hello.set_new_epoch(kEpochEnd - 1);
  a.TakeOffer(a.Say(hello));
  EXPECT_EQ(a.session().number(), 2U);
  a.session().EndForBadFrame("a test", a.now());
  hello.set_dial(3);
  hello.set_new_epoch(1);  // the epochs begin anew
  a.TakeOffer(a.Say(hello));
  EXPECT_EQ(a.session().epoch(), 1U);
  EXPECT_EQ(a.session().number(), 3U);
}

// ---- Resuming ----

TEST(PeerSessionIdentityTest, AHelloWithAProofResumesTheSession) {
  AcceptingSession a;
  a.Cut(a.Begin());
  const auto answer = a.Say(a.Resuming(2));
  ASSERT_TRUE(answer.frame.welcome().resumed()) << answer.frame.DebugString();
  EXPECT_TRUE(a.secret().Accepts(a.ClaimOfB(SessionClaim::Kind::kResumed, 2), answer.frame.welcome().proof()));
  EXPECT_THAT(a.events(), ElementsAre("suspect", "resumed"));
}

TEST(PeerSessionIdentityTest, AHelloWithoutTheProofIsRefusedAndDisturbsNothing) {
  for (const bool is_up : {true, false}) {
    AcceptingSession a;
    const uint64_t stream = a.Begin();
    if (!is_up) a.Cut(stream);
    a.events().clear();
    proto::Hello forged = a.Resuming(2);
    forged.set_proof(std::string(kSessionProofBytes, 'x'));
    EXPECT_EQ(a.Say(forged).frame.refuse().reason(), proto::Refuse::UNPROVED);
    // A stranger can read the incarnation from a Welcome, so it sends a Hello with that incarnation.
    EXPECT_EQ(a.Say(HelloFrom("b", kOfB, "a", 2)).frame.refuse().reason(), proto::Refuse::UNPROVED);
    proto::Hello ended = a.HavingEnded(2);
    ended.set_proof(a.Resuming(2).proof());  // a proof of something else
    EXPECT_EQ(a.Say(ended).frame.refuse().reason(), proto::Refuse::UNPROVED);
    EXPECT_THAT(a.events(), ElementsAre("refused UNPROVED", "refused UNPROVED", "refused UNPROVED"));
    EXPECT_EQ(a.session().is_up(), is_up);
    EXPECT_TRUE(a.session().is_live());
    EXPECT_EQ(a.session().unproved_refused(), 3);
    EXPECT_TRUE(a.Say(a.Resuming(3)).frame.welcome().resumed());
  }
}

TEST(PeerSessionIdentityTest, ARecordedHelloIsRefused) {
  AcceptingSession a;
  a.Cut(a.Begin());
  const proto::Hello recorded = a.Resuming(2);
  const auto first = a.Say(recorded);
  EXPECT_TRUE(first.frame.welcome().resumed());
  EXPECT_EQ(a.Say(recorded).frame.refuse().reason(), proto::Refuse::SUPERSEDED);
  EXPECT_TRUE(a.session().is_up());
  a.Cut(first.stream);
  EXPECT_EQ(a.Say(recorded).frame.refuse().reason(), proto::Refuse::SUPERSEDED);
  EXPECT_FALSE(a.session().is_up());
  proto::Hello altered = recorded;  // the proof is of dial 2
  altered.set_dial(3);
  EXPECT_EQ(a.Say(altered).frame.refuse().reason(), proto::Refuse::UNPROVED);
}

// ---- Ending ----

TEST(PeerSessionIdentityTest, APeerThatProvesThatItHasEndedTheSessionBeginsAnother) {
  AcceptingSession a;
  a.Begin();
  const auto answer = a.Say(a.HavingEnded(2));
  EXPECT_THAT(a.events(), ElementsAre("ended: the peer began anew"));
  EXPECT_FALSE(answer.frame.welcome().resumed());
  EXPECT_GT(answer.frame.welcome().epoch(), 1U);
  a.TakeOffer(answer);
}

TEST(PeerSessionIdentityTest, ASessionThatIsOverIsRefusedWithAProofThatItIs) {
  AcceptingSession a;
  a.Cut(a.Begin());
  const proto::Hello late = a.Resuming(2);
  a.Pass(SessionTimes().grace_period);
  const auto answer = a.Say(late);
  EXPECT_EQ(answer.frame.refuse().reason(), proto::Refuse::ENDED);
  EXPECT_TRUE(a.secret().Accepts(a.ClaimOfB(SessionClaim::Kind::kEndedByAcceptor, 2), answer.frame.refuse().proof()));
  proto::Hello forged = late;
  forged.set_proof("");
  EXPECT_EQ(a.Say(forged).frame.refuse().proof(), "");
}

TEST(PeerSessionIdentityTest, AProofThatCrossesTheNextStreamOfItsSessionEndsNothing) {
  AcceptingSession a;
  const uint64_t stream = a.Begin();
  a.session().OnPeerProvedDead({kOfB}, a.now());
  EXPECT_TRUE(a.session().is_up());
  a.Cut(stream);
  EXPECT_THAT(a.events(), ElementsAre("suspect"));
}

TEST(PeerSessionIdentityTest, AProofThatTheProcessIsDeadEndsASuspectSessionAtOnce) {
  AcceptingSession suspect;
  suspect.Cut(suspect.Begin());
  suspect.session().OnPeerProvedDead({kOfStranger}, suspect.now());
  EXPECT_TRUE(suspect.session().is_live());
  suspect.session().OnPeerProvedDead({kOfB}, suspect.now());
  suspect.Take();
  EXPECT_THAT(suspect.events(), ElementsAre("suspect", "ended: the peer's process ended"));
}

// ---- Another process of the peer's name ----

TEST(PeerSessionIdentityTest, AnUnprovedIncarnationWaitsForTheEndOfASuspectSession) {
  AcceptingSession a;
  a.Cut(a.Begin());
  a.events().clear();
  const auto refused = a.Say(HelloFrom("b", kOfStranger, "a"));
  EXPECT_EQ(refused.frame.refuse().reason(), proto::Refuse::NAME_TAKEN);
  EXPECT_THAT(refused.frame.refuse().detail(), HasSubstr("ends within 5s"));
  EXPECT_TRUE(a.session().is_live());
  EXPECT_TRUE(a.Say(a.Resuming(2)).frame.welcome().resumed());  // the old one comes back
  EXPECT_THAT(a.events(), ElementsAre("refused NAME_TAKEN", "resumed"));
}

TEST(PeerSessionIdentityTest, AnUnprovedIncarnationBeginsWhenTheOldOneIsProvedDeadOrItsGraceIsOver) {
  for (const bool is_proved_dead : {true, false}) {
    AcceptingSession a;
    a.Cut(a.Begin());
    if (is_proved_dead) a.session().OnPeerProvedDead({kOfB}, a.now());
    if (!is_proved_dead) a.Pass(SessionTimes().grace_period);
    a.TakeOffer(a.Say(HelloFrom("b", kOfStranger, "a")));
    EXPECT_EQ(a.session().nodes().peer.bits, kOfStranger);
  }
}

TEST(PeerSessionIdentityTest, AnUnprovedIncarnationNeverEndsAnUpSession) {
  AcceptingSession a;
  const uint64_t stream = a.Begin();
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(a.Say(HelloFrom("b", kOfStranger + i, "a")).frame.refuse().reason(), proto::Refuse::NAME_TAKEN);
    a.Pass(absl::Milliseconds(900));
    a.session().OnStreamFrame(stream, HeartbeatFrame(1), a.now());
  }
  EXPECT_TRUE(a.session().is_up());
}

TEST(PeerSessionIdentityTest, AHelloThatProvesMoreIsConsideredBeforeALaterOne) {
  AcceptingSession a;
  const uint64_t stream = a.Begin(StreamIdentity::SameUser());
  // A claim that waits for the probe gives way to the old process, which comes by another stream.
  const auto claim = a.Say(HelloFrom("b", kOfStranger, "a"), StreamIdentity::SameUser());
  EXPECT_FALSE(claim.frame.has_welcome());
  EXPECT_TRUE(a.Say(a.Resuming(2)).frame.welcome().resumed());
  EXPECT_TRUE(a.session().is_up());
  a.session().OnStreamClosed(stream, absl::OkStatus(), a.now());
  EXPECT_TRUE(a.session().is_up());
}

// ---- Both ends ----

TEST(PeerSessionIdentityTest, WithoutProvedIdentitiesARestartedNodeIsMetWhenTheGraceIsOver) {
  SessionPair pair({.identity = StreamIdentity::Unproved()});
  pair.RunFor(absl::Milliseconds(100));
  pair.a().events.clear();
  pair.Restart(pair.b(), SessionPair::Streams::kCut);
  pair.RunFor(absl::Seconds(4));
  EXPECT_TRUE(pair.a().session->is_live());
  EXPECT_EQ(pair.a().session->epoch(), 1U);
  pair.RunFor(absl::Seconds(6));
  EXPECT_TRUE(pair.a().session->is_up() && pair.b().session->is_up());
  EXPECT_EQ(pair.a().session->nodes().peer.bits, pair.b().incarnation);
}

}  // namespace
}  // namespace understudy
