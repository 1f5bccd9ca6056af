#include "understudy/examples/auction/pace.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {
namespace {

const absl::Time kOpens = absl::FromUnixSeconds(5000);

// In these files, time runs from 100 s to 1,100 s.
absl::StatusOr<Pace> PaceFor(const char* speed) {
  const std::vector<Lot> lots = {{.id = "a", .title = "A", .closes = absl::FromUnixSeconds(1100)}};
  const std::vector<Bid> bids = {{.time = absl::FromUnixSeconds(100), .bidder = "anna", .lot = "a", .cents = 1}};
  return MakePace(speed, kOpens, lots, bids);
}

TEST(PaceTest, SpeedIsSecondsOfTheFilesInOneSecond) {
  const Pace pace = *PaceFor("50");
  EXPECT_TRUE(pace.bidders_wait);
  EXPECT_EQ(pace.WallTime(absl::FromUnixSeconds(100)), kOpens);
  EXPECT_EQ(pace.WallTime(absl::FromUnixSeconds(600)), kOpens + absl::Seconds(10));
}

TEST(PaceTest, AtTheHighestSpeedBiddersDoNotWaitAndTheWholeTimeIsASecond) {
  const Pace pace = *PaceFor("max");
  EXPECT_FALSE(pace.bidders_wait);
  EXPECT_EQ(pace.WallTime(absl::FromUnixSeconds(1100)), kOpens + absl::Seconds(1));
}

TEST(PaceTest, AnInvalidSpeedIsRefused) {
  for (const char* speed : {"", "fast", "0", "-1", "nan", "inf", "1s"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(PaceFor(speed).status())) << speed;
  }
}

TEST(PaceTest, WithoutLotsAndBidsItIsStillAPace) {
  EXPECT_EQ(MakePace("max", kOpens, {}, {})->WallTime(kOpens), kOpens);
}

}  // namespace
}  // namespace auction
