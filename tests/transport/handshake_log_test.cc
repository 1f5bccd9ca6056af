// How often a node logs why it and a peer do not connect, and in which words.
#include "understudy/transport/session/handshake_log.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/testing/manual_clock.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/logging_dialer.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/acceptor.h"

namespace understudy::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Cause = HandshakeLog::Cause;

class HandshakeLogTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  KeptLog sink_;
  const std::shared_ptr<HandshakeLog> log_ = std::make_shared<HandshakeLog>("a", clock_, sink_);
};

TEST_F(HandshakeLogTest, APeerHasALineAMinuteThatTellsHowManyWereLeftOut) {
  for (int i = 0; i < 30; ++i) {
    log_->Add(Cause::kRefusedByPeer, "node b", absl::StrCat("it refused, attempt ", i));
    clock_.Advance(absl::Seconds(2));
  }
  EXPECT_THAT(sink_.lines(), ElementsAre("node a: no session with node b: it refused, attempt 0"));
  log_->Add(Cause::kRefusedByPeer, "node b", "it refused, attempt 30");
  ASSERT_THAT(sink_.lines(), SizeIs(2));
  EXPECT_EQ(sink_.lines()[1],
            "node a: no session with node b: it refused, attempt 30 (29 more like it since the last such line)");
}

TEST_F(HandshakeLogTest, AnotherCauseAndAnotherPeerHaveLinesOfTheirOwn) {
  log_->Add(Cause::kRefusedByPeer, "node b", "x");
  log_->Add(Cause::kDialFailed, "node b", "x");
  log_->Add(Cause::kRefusedByPeer, "node c", "x");
  log_->Add(Cause::kRefusedByPeer, "node b", "y");
  EXPECT_THAT(sink_.lines(), SizeIs(3));
}

TEST_F(HandshakeLogTest, AStrangerThatClaimsEverNewNamesWritesABoundedNumberOfLines) {
  for (int i = 0; i < 10'000; ++i) log_->Add(Cause::kRefusedHere, absl::StrCat("node n", i), "x");
  EXPECT_THAT(sink_.lines(), SizeIs(HandshakeLog::kLinesPerMinute));
  clock_.Advance(HandshakeLog::kQuiet);
  log_->Add(Cause::kRefusedHere, "node b", "x");
  ASSERT_THAT(sink_.lines(), SizeIs(HandshakeLog::kLinesPerMinute + 1));
  EXPECT_EQ(sink_.lines().back(),
            absl::StrCat("node a: no session with node b: x (", 10'000 - HandshakeLog::kLinesPerMinute,
                         " failures of other peers were not logged)"));
}

TEST_F(HandshakeLogTest, AfterStopNothingIsWritten) {
  log_->Stop();
  log_->Add(Cause::kRefusedHere, "node b", "x");
  EXPECT_THAT(sink_.lines(), IsEmpty());
}

TEST_F(HandshakeLogTest, OnlyWhatPreventsASessionIsLimited) {
  for (int i = 0; i < 3; ++i) {
    for (const PeerEvent::Kind kind :
         {PeerEvent::Kind::kUp, PeerEvent::Kind::kRefused, PeerEvent::Kind::kStreamRefused, PeerEvent::Kind::kFailed}) {
      LogPeerEvent({.kind = kind, .node = "b", .detail = "why"}, "a", *log_, sink_);
    }
  }
  EXPECT_THAT(sink_.lines(),
              ElementsAre("node a: up b epoch 0", "node a: no session with node b: it refused: why",
                          "node a: no session with node b: refused it: why", "node a: no session with node b: why",
                          "node a: up b epoch 0", "node a: up b epoch 0"));
}

TEST_F(HandshakeLogTest, AConnectionWithoutAStreamIsToldUnlessItSaidNothingAndWent) {
  using End = ConnectionWithoutStream::End;
  log_->Add({.peer = "10.0.0.7", .end = End::kClosed, .has_spoken = false}, /*is_tls=*/true);
  EXPECT_THAT(sink_.lines(), IsEmpty());  // as a node does that looks whether another's port is listened on
  log_->Add({.peer = "10.0.0.7", .end = End::kClosed, .has_spoken = true}, true);
  log_->Add({.peer = "10.0.0.8", .end = End::kClosed, .has_spoken = true}, false);
  log_->Add({.peer = "10.0.0.9", .end = End::kTimeOver, .lasted = absl::Seconds(5)}, true);
  log_->Add({.peer = "10.0.0.10", .end = End::kTimeOver, .lasted = absl::Seconds(5), .has_spoken = true}, true);
  log_->Add({.peer = "10.0.0.11", .end = End::kMadeRoom, .lasted = absl::Milliseconds(3)}, true);
  EXPECT_THAT(
      sink_.lines(),
      ElementsAre(AllOf(HasSubstr("no session with 10.0.0.7: its TLS handshake failed"), HasSubstr("make_certs")),
                  AllOf(HasSubstr("10.0.0.8: it spoke, but not gRPC"), HasSubstr("Credentials::Tls")),
                  HasSubstr("10.0.0.9: closed, because it said nothing for 5s"),
                  HasSubstr("10.0.0.10: closed, because its handshake was not complete after 5s"),
                  HasSubstr("10.0.0.11: closed after 3ms to make room")));
}

TEST(WhyDialFailed, NamesTheCure) {
  const auto why = [](absl::string_view said, bool is_tls = true) {
    return WhyDialFailed(absl::UnavailableError(said), is_tls);
  };
  EXPECT_THAT(why("Connection refused"), HasSubstr("Connection refused; nothing listens there"));
  EXPECT_THAT(why("SSL routines::certificate verify failed"), HasSubstr("signed by this node's ca_file"));
  EXPECT_THAT(why("SSL routines::wrong version number"), HasSubstr("does not speak TLS"));
  EXPECT_THAT(why("DNS resolution failed for x"), HasSubstr("correct the host's name"));
  EXPECT_THAT(why("no answer within 2s"), HasSubstr("firewall"));
  EXPECT_THAT(why("Network is unreachable"), HasSubstr("routes"));
  EXPECT_THAT(why("Connection reset by peer"), HasSubstr("of another authority"));
  EXPECT_THAT(why("Socket closed", /*is_tls=*/false), HasSubstr("start this node with it too"));
  EXPECT_THAT(why("?"), HasSubstr("a node of Understudy listens there"));
  // The text has the reason already.
  EXPECT_EQ(why("names 'c': expected the DNS name b"), "names 'c': expected the DNS name b");
}

// Does not connect; the test calls the events of the dialled stream.
class HeldDialer final : public Dialer {
 public:
  std::unique_ptr<FrameStream> Dial(absl::string_view, absl::string_view, FrameStream::Events* dialled) override {
    events = dialled;
    return nullptr;
  }
  StreamIdentity IdentityAt(absl::string_view, absl::string_view) const override { return StreamIdentity::SameUser(); }
  FrameStream::Events* events = nullptr;
};

// Records the events of a stream.
class Heard final : public FrameStream::Events {
 public:
  void OnFrame(std::string frame) override { frames.push_back(std::move(frame)); }
  void OnWritten() override {}
  void OnClosed(absl::Status why) override { closed = std::move(why); }
  std::vector<std::string> frames;
  absl::Status closed;
};

class LoggingDialerTest : public HandshakeLogTest {
 protected:
  static constexpr absl::Duration kPatience = absl::Seconds(2);

  // The events of a stream that is dialled now.
  FrameStream::Events& Dial() {
    EXPECT_EQ(dialer_.Dial("b", "10.0.0.7:7000", &heard_), nullptr);
    return *held_->events;
  }

  HeldDialer* const held_ = new HeldDialer;
  Heard heard_;
  LoggingDialer dialer_{std::unique_ptr<Dialer>(held_), log_, kPatience, /*is_tls=*/false};
};

TEST_F(LoggingDialerTest, ADialWithoutAFrameIsToldWithAddressCauseAndCure) {
  Dial().OnClosed(absl::UnavailableError("Connection refused"));
  EXPECT_EQ(heard_.closed, absl::UnavailableError("Connection refused"));
  EXPECT_THAT(sink_.lines(), ElementsAre("node a: no session with node b at 10.0.0.7:7000: Connection refused; nothing "
                                         "listens there; start that node, or correct its address"));
}

TEST_F(LoggingDialerTest, AStreamThatHadAFrameIsTheSessionsAffair) {
  FrameStream::Events& events = Dial();
  events.OnFrame("welcome");
  events.OnClosed(absl::UnavailableError("Connection reset by peer"));
  EXPECT_THAT(heard_.frames, ElementsAre("welcome"));
  EXPECT_THAT(sink_.lines(), IsEmpty());
}

TEST_F(LoggingDialerTest, ADialThatIsGivenUpIsAFailureWhenItsTimeIsOver) {
  Dial().OnClosed(absl::CancelledError("closed by this node"));
  EXPECT_THAT(sink_.lines(), IsEmpty());
  FrameStream::Events& late = Dial();
  clock_.Advance(kPatience);
  late.OnClosed(absl::CancelledError("closed by this node"));
  EXPECT_THAT(sink_.lines(), ElementsAre(HasSubstr("no answer within 2s")));
}

}  // namespace
}  // namespace understudy::internal
