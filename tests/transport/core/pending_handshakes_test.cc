#include "understudy/transport/core/pending_handshakes.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

MonotonicTime At(int64_t seconds) { return MonotonicTime() + absl::Seconds(seconds); }

class PendingHandshakesTest : public ::testing::Test {
 protected:
  // A stream is accepted; returns its number.
  uint64_t Accept(const StreamIdentity& identity, MonotonicTime deadline = At(10)) {
    handshakes_.Add(std::make_shared<NodeLink>(back_reference_, ++last_, identity), deadline);
    return last_;
  }
  std::vector<uint64_t> DropLate(MonotonicTime now) {
    std::vector<uint64_t> numbers;
    for (const std::shared_ptr<NodeLink>& link : handshakes_.DropLate(now)) numbers.push_back(link->number);
    return numbers;
  }

  const StreamIdentity unproved_ = StreamIdentity::Unproved();
  const StreamIdentity proved_ = StreamIdentity::SameUser();
  const std::shared_ptr<NodeBackReference> back_reference_ = std::make_shared<NodeBackReference>(nullptr);
  PendingHandshakes handshakes_;
  uint64_t last_ = 0;
};

TEST_F(PendingHandshakesTest, StreamsWhoseIdentityIsNotProvedHaveABoundedShare) {
  for (size_t i = 0; i < limits::kUnprovedPeersMax; ++i) {
    ASSERT_TRUE(handshakes_.HasRoom(unproved_));
    (void)Accept(unproved_);
  }
  EXPECT_FALSE(handshakes_.HasRoom(unproved_));
  for (size_t i = limits::kUnprovedPeersMax; i < limits::kPeersMax; ++i) {
    ASSERT_TRUE(handshakes_.HasRoom(proved_));
    (void)Accept(proved_);
  }
  EXPECT_FALSE(handshakes_.HasRoom(proved_));
  handshakes_.Remove(last_);
  EXPECT_TRUE(handshakes_.HasRoom(proved_));
  EXPECT_FALSE(handshakes_.HasRoom(unproved_));
  handshakes_.Drop(1, PendingHandshakes::kNotAHello);
  EXPECT_TRUE(handshakes_.HasRoom(unproved_));
}

TEST_F(PendingHandshakesTest, AStreamWhoseHelloIsRefusedStaysUntilItsDeadlineAndCountsOnce) {
  const uint64_t stream = Accept(unproved_, At(10));
  EXPECT_TRUE(handshakes_.AwaitsHello(stream));
  handshakes_.Refuse(stream, "full");
  EXPECT_FALSE(handshakes_.AwaitsHello(stream));
  EXPECT_TRUE(handshakes_.Contains(stream));
  EXPECT_THAT(DropLate(At(9)), IsEmpty());
  EXPECT_THAT(DropLate(At(10)), ElementsAre(stream));
  EXPECT_FALSE(handshakes_.Contains(stream));
  EXPECT_EQ(handshakes_.refused(), 1);
  EXPECT_THAT(handshakes_.refused_by_cause(), ElementsAre(Pair("full", 1)));
}

TEST_F(PendingHandshakesTest, StreamsThatAreLateAreReturnedInTheirOrderAndCount) {
  EXPECT_EQ(handshakes_.NextDeadline(), MonotonicTime::InfiniteFuture());
  (void)Accept(proved_, At(12));
  (void)Accept(unproved_, At(11));
  (void)Accept(unproved_, At(13));
  EXPECT_EQ(handshakes_.NextDeadline(), At(11));
  EXPECT_THAT(DropLate(At(12)), ElementsAre(1, 2));
  EXPECT_EQ(handshakes_.refused(), 2);
  EXPECT_THAT(handshakes_.refused_by_cause(), ElementsAre(Pair(PendingHandshakes::kNoHello, 2)));
  EXPECT_EQ(handshakes_.NextDeadline(), At(13));
}

TEST_F(PendingHandshakesTest, AStreamThatClosesOrHasAPeerIsNotCountedAsRefused) {
  const uint64_t stream = Accept(proved_);
  handshakes_.Remove(stream);
  handshakes_.Remove(stream);
  EXPECT_FALSE(handshakes_.AwaitsHello(stream));
  EXPECT_EQ(handshakes_.refused(), 0);
}

}  // namespace
}  // namespace understudy::internal
