#include "understudy/transport/sockets/connection_gate.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ConnectionBounds kBounds = {.connections_max = 4,
                                      .half_open_max = 2,
                                      .per_second = 10,
                                      .burst = 3,
                                      .begins_within = absl::Seconds(5),
                                      .linger = absl::Seconds(1)};

class ConnectionGateTest : public ::testing::Test {
 protected:
  bool Accept(absl::string_view key) { return gate_.OnAccepted(key, now_, closed_); }
  void Pass(absl::Duration time) { now_ = now_ + time; }

  MonotonicTime now_ = MonotonicTime::FromNanos(1'000'000'000);
  ConnectionGate gate_{kBounds, now_};
  std::vector<std::string> closed_;  // to make room
};

TEST_F(ConnectionGateTest, AConnectionThatBeginsNoStreamIsClosedWhenItsTimeIsOver) {
  EXPECT_TRUE(gate_.NextDeadline().is_infinite());
  EXPECT_TRUE(Accept("silent"));
  EXPECT_TRUE(Accept("good"));
  EXPECT_TRUE(gate_.OnBegun("good"));
  EXPECT_EQ(gate_.NextDeadline(), now_ + absl::Seconds(5));
  Pass(absl::Seconds(4));
  EXPECT_THAT(gate_.TakeExpired(now_), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(gate_.TakeExpired(now_), ElementsAre("silent"));
  EXPECT_TRUE(gate_.NextDeadline().is_infinite());
  EXPECT_EQ(gate_.connections(), 1);
  EXPECT_EQ(gate_.half_open(), 0);
}

TEST_F(ConnectionGateTest, OneMoreHalfOpenConnectionClosesTheOldest) {
  EXPECT_TRUE(Accept("first"));
  EXPECT_TRUE(Accept("second"));
  EXPECT_TRUE(Accept("third"));
  EXPECT_THAT(closed_, ElementsAre("first"));
  EXPECT_EQ(gate_.half_open(), 2);
  EXPECT_FALSE(gate_.OnBegun("first"));
  EXPECT_TRUE(gate_.OnBegun("second"));
  EXPECT_TRUE(Accept("fourth"));
  EXPECT_THAT(closed_, ElementsAre("first"));
}

TEST_F(ConnectionGateTest, AConnectionCarriesOneStreamAndThenLingers) {
  EXPECT_TRUE(Accept("a"));
  EXPECT_TRUE(gate_.OnBegun("a"));
  EXPECT_FALSE(gate_.OnBegun("a"));
  Pass(absl::Hours(1));
  EXPECT_THAT(gate_.TakeExpired(now_), IsEmpty());
  gate_.OnOver("a", now_);
  EXPECT_FALSE(gate_.OnBegun("a"));
  EXPECT_EQ(gate_.NextDeadline(), now_ + absl::Seconds(1));
  Pass(absl::Seconds(1));
  EXPECT_THAT(gate_.TakeExpired(now_), ElementsAre("a"));
  EXPECT_EQ(gate_.connections(), 0);
}

TEST_F(ConnectionGateTest, BeyondItsBoundConnectionsAreRefusedUntilOneHasClosed) {
  for (int i = 0; i < kBounds.connections_max; ++i) {
    EXPECT_TRUE(Accept(absl::StrCat(i)));
    EXPECT_TRUE(gate_.OnBegun(absl::StrCat(i)));
  }
  EXPECT_FALSE(Accept("more"));
  gate_.OnClosed("2");
  EXPECT_FALSE(Accept("1"));  // it is there
  EXPECT_TRUE(Accept("more"));
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(ConnectionGateTest, AfterABurstSoManyAreAcceptedInASecond) {
  for (int i = 0; i < kBounds.burst; ++i) {
    EXPECT_EQ(gate_.NextAcceptAt(now_), now_);
    (void)Accept(absl::StrCat(i));
  }
  EXPECT_EQ(gate_.NextAcceptAt(now_), now_ + absl::Milliseconds(100));
  int accepted = 0;
  for (int i = 0; i < 1000; ++i) {
    Pass(absl::Milliseconds(10));
    if (gate_.NextAcceptAt(now_) > now_) continue;
    (void)Accept(absl::StrCat("later ", i));
    ++accepted;
  }
  EXPECT_NEAR(accepted, 100, 1);
}

}  // namespace
}  // namespace understudy::internal
