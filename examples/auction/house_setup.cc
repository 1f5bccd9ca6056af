#include "understudy/examples/auction/house_setup.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace auction {

std::vector<std::string> ToArguments(const HouseSetup& setup) {
  return {absl::StrCat(setup.number),
          setup.lots_path,
          absl::StrCat(absl::ToUnixMicros(setup.pace.opens)),
          absl::StrCat(absl::ToUnixMicros(setup.pace.first)),
          absl::StrFormat("%.17g", setup.pace.rate),
          setup.crashed_lot,
          absl::StrCat(setup.crash_at_offer)};
}

absl::StatusOr<HouseSetup> HouseSetupFromArguments(const std::vector<std::string>& arguments) {
  if (arguments.size() != 7) {
    return absl::InvalidArgumentError(
        absl::StrCat("a house has 7 arguments, not ", arguments.size(),
                     ": NUMBER LOTS OPENS_MICROS FIRST_MICROS RATE CRASHED_LOT AT_OFFER"));
  }
  HouseSetup setup;
  int64_t opens = 0;
  int64_t first = 0;
  const bool numbers[] = {absl::SimpleAtoi(arguments[0], &setup.number) && setup.number >= 1,
                          true,
                          absl::SimpleAtoi(arguments[2], &opens),
                          absl::SimpleAtoi(arguments[3], &first),
                          absl::SimpleAtod(arguments[4], &setup.pace.rate) && setup.pace.rate > 0,
                          true,
                          absl::SimpleAtoi(arguments[6], &setup.crash_at_offer)};
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!numbers[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", i + 1, ", '", arguments[i], "', is not a number in its range"));
    }
  }
  setup.lots_path = arguments[1];
  setup.pace.opens = absl::FromUnixMicros(opens);
  setup.pace.first = absl::FromUnixMicros(first);
  setup.crashed_lot = arguments[5];
  return setup;
}

std::vector<LotSetup> LotsOfHouse(const HouseSetup& setup, const std::vector<Lot>& lots) {
  std::vector<LotSetup> mine;
  for (size_t i = 0; i < lots.size(); ++i) {
    if (HouseOfLot(i) != setup.number) continue;
    const Lot& lot = lots[i];
    LotSetup& made = mine.emplace_back();
    made.lot = lot.id;
    made.terms = {lot.reserve_cents, lot.increment_cents, absl::ToUnixMillis(lot.closes)};
    made.closes_at = setup.pace.WallTime(lot.closes);
    if (lot.id == setup.crashed_lot) made.crash_at_offer = setup.crash_at_offer;
  }
  return mine;
}

}  // namespace auction
