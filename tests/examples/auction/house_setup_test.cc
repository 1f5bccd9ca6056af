#include "understudy/examples/auction/house_setup.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/english_auction.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {
namespace {

using ::testing::SizeIs;

HouseSetup SomeHouse() {
  return {.number = 2,
          .lots_path = "/tmp/a b/lots",
          .pace = {.opens = absl::FromUnixMicros(1234567), .first = absl::FromUnixMicros(100), .rate = 1.0 / 3},
          .crashed_lot = "lot-3",
          .crash_at_offer = 17};
}

TEST(HouseSetupTest, ArgumentsCarryItWhole) {
  absl::StatusOr<HouseSetup> read = HouseSetupFromArguments(ToArguments(SomeHouse()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToArguments(*read), ToArguments(SomeHouse()));
  EXPECT_EQ(read->pace.rate, 1.0 / 3);
  EXPECT_EQ(read->lots_path, "/tmp/a b/lots");
  EXPECT_EQ(read->crash_at_offer, 17);
}

TEST(HouseSetupTest, WrongArgumentsAreNamed) {
  EXPECT_TRUE(absl::IsInvalidArgument(HouseSetupFromArguments({}).status()));
  for (size_t wrong : {0, 2, 3, 4, 6}) {
    std::vector<std::string> arguments = ToArguments(SomeHouse());
    arguments[wrong] = "x";
    absl::StatusOr<HouseSetup> read = HouseSetupFromArguments(arguments);
    EXPECT_THAT(std::string(read.status().message()), ::testing::HasSubstr(absl::StrCat("argument ", wrong + 1)));
  }
}

TEST(HouseSetupTest, TheHousesShareTheLotsAndOneOfThemHasTheCrash) {
  std::vector<Lot> lots;
  for (int i = 0; i < 5; ++i) {
    lots.push_back({.id = absl::StrCat("lot-", i),
                    .title = "A lot",
                    .reserve_cents = 10,
                    .increment_cents = 2,
                    .closes = absl::FromUnixMicros(100) + absl::Seconds(i)});
  }
  HouseSetup setup = SomeHouse();
  const std::vector<LotSetup> second = LotsOfHouse(setup, lots);
  ASSERT_THAT(second, SizeIs(2));
  EXPECT_EQ(second[0].lot, "lot-1");
  EXPECT_EQ(second[1].lot, "lot-3");
  EXPECT_EQ(second[0].crash_at_offer, 0);
  EXPECT_EQ(second[1].crash_at_offer, 17);
  EXPECT_EQ(second[1].terms.increment_cents, 2);
  EXPECT_EQ(second[1].closes_at, setup.pace.opens + absl::Seconds(9));
  setup.number = 1;
  EXPECT_THAT(LotsOfHouse(setup, lots), SizeIs(3));
}

}  // namespace
}  // namespace auction
