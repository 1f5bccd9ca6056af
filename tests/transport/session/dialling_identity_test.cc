// PeerSession: what a node that dials believes of the answers. The tests write the frames of the node that answers.
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
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Node b, which dials a; the test answers.
class DiallingSession {
 public:
  explicit DiallingSession(StreamIdentity identity = StreamIdentity::Unproved()) : session_(ConfigOf("b", kOfB, "a")) {
    session_.SetDialable(identity, now_);
    Take();
  }

  void Begin() {
    proto::Welcome welcome = WelcomeOfA();
    welcome.set_key(std::string(kSessionKeyBytes, 'w'));
    secret_ = SessionSecret(hello_.key(), welcome.key());
    Answer(welcome);
    ASSERT_TRUE(session_.is_up());
    events_.clear();
  }
  void Redial() {
    session_.OnStreamClosed(stream_, absl::UnavailableError("cut"), now_);
    now_ = now_ + absl::Seconds(1);
    session_.Tick(now_);
    Take();
    events_.clear();
  }
  static proto::Welcome WelcomeOfA() {
    proto::Welcome welcome;
    welcome.set_version(kWireVersion);
    welcome.set_from_node("a");
    welcome.set_incarnation(kOfA);
    welcome.set_epoch(1);
    *welcome.mutable_times() = ToProto(SessionTimes());
    return welcome;
  }
  void Answer(const proto::Welcome& welcome) {
    FramePacker packer(welcome.epoch(), 0);
    *packer.frame().mutable_welcome() = welcome;
    session_.OnStreamFrame(stream_, packer.Encode(), now_);
    Take();
  }
  void Answer(const proto::Refuse& refuse) {
    FramePacker packer(0, 0);
    *packer.frame().mutable_refuse() = refuse;
    session_.OnStreamFrame(stream_, packer.Encode(), now_);
    Take();
  }
  std::string Proof(SessionClaim::Kind kind, uint64_t dial) const {
    return secret_->Prove({.kind = kind,
                           .dialler = "b",
                           .dialler_incarnation = {kOfB},
                           .acceptor = "a",
                           .acceptor_incarnation = {kOfA},
                           .epoch = 1,
                           .dial = dial});
  }

  PeerSession& session() { return session_; }
  const proto::Hello& hello() const { return hello_; }
  MonotonicTime now() const { return now_; }
  std::vector<std::string>& events() { return events_; }

 private:
  void Take() {
    for (const SessionAction& action : session_.TakeActions()) {
      if (const auto* write = std::get_if<WriteFrame>(&action)) {
        const proto::Frame frame = *DecodeFrame(write->bytes);
        if (!frame.has_hello()) continue;
        hello_ = frame.hello();
        stream_ = write->stream;
      } else if (std::holds_alternative<SessionBegun>(action)) {
        events_.push_back("begun");
      } else if (std::holds_alternative<SessionResumed>(action)) {
        events_.push_back("resumed");
      } else if (const auto* ended = std::get_if<SessionEnded>(&action)) {
        events_.push_back(absl::StrCat("ended: ", SessionEndName(ended->why)));
      } else if (const auto* refused = std::get_if<DialRefused>(&action)) {
        events_.push_back(absl::StrCat("refused ", proto::Refuse::Reason_Name(refused->reason)));
      }
    }
  }

  PeerSession session_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  proto::Hello hello_;
  uint64_t stream_ = 0;
  absl::optional<SessionSecret> secret_;
  std::vector<std::string> events_;
};

TEST(DiallingIdentityTest, AWelcomeResumesOnlyWithAProofOfThisDial) {
  DiallingSession b;
  b.Begin();
  b.Redial();
  ASSERT_EQ(b.hello().dial(), 2U);
  EXPECT_EQ(b.hello().proof(), b.Proof(SessionClaim::Kind::kResume, 2));
  proto::Welcome welcome = DiallingSession::WelcomeOfA();
  welcome.set_resumed(true);
  welcome.set_proof(b.Proof(SessionClaim::Kind::kResumed, 1));  // of an earlier dial
  b.Answer(welcome);
  EXPECT_FALSE(b.session().is_up());
  EXPECT_TRUE(b.session().is_live());
  EXPECT_THAT(b.events(), IsEmpty());
  for (int i = 0; i < 3 && b.hello().dial() < 3; ++i) b.Redial();
  ASSERT_EQ(b.hello().dial(), 3U);
  welcome.set_proof(b.Proof(SessionClaim::Kind::kResumed, 3));
  b.Answer(welcome);
  EXPECT_TRUE(b.session().is_up());
}

TEST(DiallingIdentityTest, AnAnswerThatTheSessionIsOverEndsItOnlyWithAProof) {
  for (const bool has_proof : {true, false}) {
    DiallingSession b;
    b.Begin();
    b.Redial();
    proto::Refuse refuse;
    refuse.set_reason(proto::Refuse::ENDED);
    if (has_proof) refuse.set_proof(b.Proof(SessionClaim::Kind::kEndedByAcceptor, 2));
    b.Answer(refuse);
    EXPECT_EQ(b.session().is_live(), !has_proof);
    EXPECT_THAT(b.events(), ElementsAre(has_proof ? "ended: the peer began anew" : "refused ENDED"));
  }
}

TEST(DiallingIdentityTest, AWelcomeToANewSessionDoesNotReplaceTheLiveOne) {
  DiallingSession b;
  b.Begin();
  b.Redial();
  proto::Welcome welcome = DiallingSession::WelcomeOfA();
  welcome.set_epoch(2);
  welcome.set_key(std::string(kSessionKeyBytes, 'x'));
  b.Answer(welcome);
  EXPECT_THAT(b.events(), ElementsAre("refused MISTAKEN"));
  EXPECT_TRUE(b.session().is_live());
}

TEST(DiallingIdentityTest, AWelcomeWithAnEpochThatIsNotHigherBeginsNoSession) {
  DiallingSession b;
  b.Begin();
  b.session().EndForBadFrame("a test", b.now());
  for (int i = 0; i < 3 && b.hello().dial() < 2; ++i) b.Redial();
  ASSERT_EQ(b.hello().new_epoch(), 2U);
  proto::Welcome welcome = DiallingSession::WelcomeOfA();
  welcome.set_key(std::string(kSessionKeyBytes, 'x'));
  b.Answer(welcome);
  EXPECT_THAT(b.events(), ElementsAre("refused MISTAKEN"));
  EXPECT_FALSE(b.session().is_live());
  for (int i = 0; i < 3 && b.hello().dial() < 3; ++i) b.Redial();
  ASSERT_EQ(b.hello().dial(), 3U);
  welcome.set_epoch(2);
  b.Answer(welcome);
  EXPECT_THAT(b.events(), ElementsAre("begun"));
}

TEST(DiallingIdentityTest, AnotherIncarnationAtTheAddressIsBelievedOnlyWithProvedIdentity) {
  for (const bool is_proved : {true, false}) {
    DiallingSession b(is_proved ? StreamIdentity::SameUser() : StreamIdentity::Unproved());
    b.Begin();
    b.Redial();
    proto::Refuse refuse;
    refuse.set_reason(proto::Refuse::OTHER_INCARNATION);
    refuse.set_incarnation(kOfStranger);
    b.Answer(refuse);
    EXPECT_THAT(b.events(), ElementsAre(is_proved ? "ended: new incarnation" : "refused OTHER_INCARNATION"));
    EXPECT_EQ(b.session().is_live(), !is_proved);
  }
}

// The process that answers is the one at the address that was dialled, wherever the next dial goes.
TEST(DiallingIdentityTest, AnAnswerProvesWhatTheDialledAddressDidAlsoWhenTheAddressHasChanged) {
  for (const bool was_proved : {true, false}) {
    const StreamIdentity dialled = was_proved ? StreamIdentity::SameUser() : StreamIdentity::Unproved();
    const StreamIdentity later = was_proved ? StreamIdentity::Unproved() : StreamIdentity::SameUser();
    DiallingSession b(dialled);
    b.Begin();
    b.Redial();
    b.session().SetDialable(later, b.now());
    proto::Refuse refuse;
    refuse.set_reason(proto::Refuse::ENDED);
    b.Answer(refuse);
    EXPECT_EQ(b.session().is_live(), !was_proved);
  }
}

}  // namespace
}  // namespace understudy
