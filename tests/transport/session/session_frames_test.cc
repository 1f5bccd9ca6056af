// PeerSession: how many frames it writes, and when it acknowledges.
#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/session_pair.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

class SessionFramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Run(absl::Milliseconds(100));
    ASSERT_TRUE(pair_.a().session->is_up());
    ASSERT_TRUE(pair_.b().session->is_up());
  }
  void Send(SessionPair::Node& node, const std::string& text) { ASSERT_TRUE(pair_.Send(node, text).ok()); }
  void Run(absl::Duration duration) { pair_.RunFor(duration); }
  int FramesWritten() { return pair_.a().frames_written + pair_.b().frames_written; }

  SessionPair pair_{{}};
};

TEST_F(SessionFramesTest, AnExchangeOfOneMessageAtATimeTakesOneFrameForEach) {
  const int before = FramesWritten();
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Send(pair_.a(), "ping");
    Run(absl::Milliseconds(10));
    Send(pair_.b(), "pong");
    Run(absl::Milliseconds(10));
  }
  EXPECT_EQ(pair_.a().received.size(), size_t{kRounds});
  EXPECT_EQ(FramesWritten() - before, 2 * kRounds) << "each acknowledges the one before";
}

TEST_F(SessionFramesTest, LittleIsAcknowledgedAfterAWhileAndMuchAtOnce) {
  const std::string large(size_t{64} << 10, 'x');
  Send(pair_.a(), large);
  Run(absl::Milliseconds(10));
  EXPECT_EQ(pair_.a().session->ledger().acknowledged, 0);
  Run(SessionTimes().acknowledge_delay);
  EXPECT_EQ(pair_.a().session->ledger().acknowledged, 1);
  for (int i = 0; i < 16; ++i) Send(pair_.a(), large);
  Run(absl::Milliseconds(10));
  EXPECT_GE(pair_.a().session->ledger().acknowledged, 10);
}

}  // namespace
}  // namespace understudy
