#include "understudy/supervision/internal/restart_decision.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {
namespace {

using Kind = RestartDecision::Kind;

TEST(BackoffWait, GrowsByTheFactorUpToTheMaximum) {
  const RestartBackoff backoff{.min = absl::Milliseconds(50), .max = absl::Seconds(1), .factor = 3};
  EXPECT_EQ(BackoffWait(backoff, 0), absl::Milliseconds(50));
  EXPECT_EQ(BackoffWait(backoff, 1), absl::Milliseconds(150));
  EXPECT_EQ(BackoffWait(backoff, 2), absl::Milliseconds(450));
  EXPECT_EQ(BackoffWait(backoff, 3), absl::Seconds(1));
  EXPECT_EQ(BackoffWait(backoff, 2000000000), absl::Seconds(1));
}

TEST(BackoffWait, OfFactorOneStaysAtTheMinimum) {
  const RestartBackoff backoff{.min = absl::Seconds(1), .factor = 1};
  EXPECT_EQ(BackoffWait(backoff, 100000), absl::Seconds(1));
}

TEST(RestartDecider, JitterShortensTheWaitByAtMostItsPart) {
  absl::Duration shortest = absl::InfiniteDuration();
  absl::Duration longest = absl::ZeroDuration();
  const RestartBackoff backoff{.min = absl::Seconds(1), .jitter = 0.5};
  RestartDecider decider(1000, absl::Seconds(1), Random(7));
  for (int i = 0; i < 1000; ++i) {
    RestartHistory history{.attempts = 1};
    const RestartDecision decision = decider.Decide({.backoff = backoff}, history, MonotonicTime());
    ASSERT_EQ(decision.kind, Kind::kLater);
    shortest = std::min(shortest, decision.wait);
    longest = std::max(longest, decision.wait);
  }
  EXPECT_GE(shortest, absl::Milliseconds(500));
  EXPECT_LT(shortest, absl::Milliseconds(510));
  EXPECT_LE(longest, absl::Seconds(1));
  EXPECT_GT(longest, absl::Milliseconds(990));
}

TEST(RestartDecider, TheSameSeedGivesTheSameWaits) {
  const auto waits = [](uint64_t seed) {
    RestartDecider decider(1, absl::Seconds(1), Random(seed));
    RestartHistory history{.attempts = 1};
    std::vector<absl::Duration> result;
    for (int i = 0; i < 10; ++i)
      result.push_back(decider.Decide({.backoff = RestartBackoff{}}, history, MonotonicTime()).wait);
    return result;
  };
  EXPECT_EQ(waits(3), waits(3));
  EXPECT_NE(waits(3), waits(4));
}

TEST(RestartDecider, AChildThatFailsUntilItsTimeIsOverIsGivenUpAtTheEndOfThatTime) {
  const RestartBackoff backoff{.give_up_after = absl::Minutes(1)};
  RestartDecider decider(1, absl::Seconds(10), Random(1));
  const MonotonicTime first = MonotonicTime() + absl::Hours(1);
  RestartHistory before{.attempts = 1, .first_attempt = first};
  EXPECT_EQ(decider.Decide({.backoff = backoff}, before, first + (absl::Minutes(1) - absl::Nanoseconds(1))).kind,
            Kind::kLater);
  RestartHistory at{.attempts = 1, .first_attempt = first};
  EXPECT_EQ(decider.Decide({.backoff = backoff}, at, first + absl::Minutes(1)).kind, Kind::kGiveUp);
}

TEST(RestartDecider, ARestartThatWaitedIsNotCounted) {
  RestartDecider decider(1, absl::Seconds(10), Random(1));
  RestartHistory patient;
  EXPECT_EQ(decider.Decide({.backoff = RestartBackoff{}}, patient, MonotonicTime()).kind, Kind::kNow);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(decider.Decide({.backoff = RestartBackoff{}}, patient, MonotonicTime()).kind, Kind::kLater);
  }
  RestartHistory impatient;
  const RestartDecision decision = decider.Decide({}, impatient, MonotonicTime());
  EXPECT_EQ(decision.kind, Kind::kGiveUp);
  EXPECT_EQ(decision.why, "needed 2 restarts within 10s; 1 is allowed");
}

}  // namespace
}  // namespace understudy
