#include "understudy/transport/sockets/peer_evidence.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

constexpr MonotonicTime kNow = MonotonicTime::FromNanos(1'000'000'000);

TEST(PeerEvidence, TheEndOfTheProcessProvesItWhenNoStreamCarriesTheSession) {
  PeerEvidence evidence;
  evidence.OnCarried(/*has_address=*/true, /*has_process=*/true);
  evidence.OnProcessEnded();
  EXPECT_FALSE(evidence.is_proved());  // what it sent may still be on the stream
  evidence.OnBroken(kNow);
  EXPECT_TRUE(evidence.is_proved());
  EXPECT_TRUE(evidence.NextDial().is_infinite());

  evidence.OnCarried(true, true);
  evidence.OnBroken(kNow);
  EXPECT_FALSE(evidence.is_proved());
  evidence.OnProcessEnded();
  EXPECT_TRUE(evidence.is_proved());
}

TEST(PeerEvidence, TwoRefusedDialsAfterTheStreamBrokeProveIt) {
  PeerEvidence evidence;
  evidence.OnCarried(true, false);
  EXPECT_TRUE(evidence.NextDial().is_infinite());
  evidence.OnBroken(kNow);
  EXPECT_EQ(evidence.NextDial(), kNow);
  evidence.OnDialBegun();
  EXPECT_TRUE(evidence.NextDial().is_infinite());
  evidence.OnNobodyListens(kNow);
  EXPECT_FALSE(evidence.is_proved());
  EXPECT_EQ(evidence.NextDial(), kNow + PeerEvidence::kBetweenDials);
  evidence.OnDialBegun();
  evidence.OnNobodyListens(kNow + PeerEvidence::kBetweenDials);
  EXPECT_TRUE(evidence.is_proved());
  EXPECT_TRUE(evidence.NextDial().is_infinite());
}

// The operating system closes a killed process's descriptors one after another, so its stream may break before its
// listening socket is gone.
TEST(PeerEvidence, ADialThatStillGotThroughDelaysTheProofByLessThanASecond) {
  PeerEvidence evidence;
  evidence.OnCarried(true, false);
  evidence.OnBroken(kNow);
  evidence.OnDialBegun();
  evidence.OnDialProvedNothing(kNow);
  MonotonicTime now = kNow;
  for (int i = 0; i < 2; ++i) {
    now = evidence.NextDial();
    evidence.OnDialBegun();
    evidence.OnNobodyListens(now);
  }
  EXPECT_TRUE(evidence.is_proved());
  EXPECT_LT(now - kNow, absl::Seconds(1));
}

TEST(PeerEvidence, WhereAPidfdSaysThatTheProcessLivesRefusedDialsProveNothing) {
  PeerEvidence evidence;
  evidence.OnCarried(true, true);
  evidence.OnBroken(kNow);
  EXPECT_TRUE(evidence.NextDial().is_infinite());
  evidence.OnNobodyListens(kNow);
  evidence.OnNobodyListens(kNow);
  EXPECT_FALSE(evidence.is_proved());
}

TEST(PeerEvidence, APeerWithoutAnAddressOnThisMachineIsNotDialled) {
  PeerEvidence evidence;
  evidence.OnCarried(false, false);
  evidence.OnBroken(kNow);
  EXPECT_TRUE(evidence.NextDial().is_infinite());
}

TEST(PeerEvidence, AnyOtherOutcomeOfADialProvesNothingAndIsAskedAgainLater) {
  PeerEvidence evidence;
  evidence.OnCarried(true, false);
  evidence.OnBroken(kNow);
  evidence.OnDialBegun();
  evidence.OnNobodyListens(kNow);
  evidence.OnDialBegun();
  evidence.OnDialProvedNothing(kNow);
  EXPECT_EQ(evidence.NextDial(), kNow + PeerEvidence::kDialsAgainAfter);
  evidence.OnDialBegun();
  evidence.OnNobodyListens(kNow);
  EXPECT_FALSE(evidence.is_proved());  // two in a row are needed
}

TEST(PeerEvidence, AStreamThatCarriesTheSessionMeanwhileEndsTheInquiry) {
  PeerEvidence evidence;
  evidence.OnCarried(true, false);
  evidence.OnBroken(kNow);
  evidence.OnDialBegun();
  evidence.OnNobodyListens(kNow);
  evidence.OnCarried(true, false);
  EXPECT_TRUE(evidence.NextDial().is_infinite());
  evidence.OnNobodyListens(kNow);  // of the dial that was under way
  EXPECT_FALSE(evidence.is_proved());
  evidence.OnBroken(kNow);
  evidence.OnNobodyListens(kNow);
  EXPECT_FALSE(evidence.is_proved());
}

}  // namespace
}  // namespace understudy::internal
