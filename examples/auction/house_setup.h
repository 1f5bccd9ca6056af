// HouseSetup: the command line arguments that the launcher gives to a house's process.
//
// The arguments are the same for every life of the process, so a process that was
// killed is restarted with the same lots and closing times. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_SETUP_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_SETUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "understudy/examples/auction/english_auction.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/pace.h"
#include "understudy/examples/auction/run_plan.h"

namespace auction {

struct HouseSetup {
  int number = 0;  // from 1
  std::string lots_path;
  Pace pace;
  // Empty and 0 if no lot of this house is to crash.
  std::string crashed_lot;
  int64_t crash_at_offer = 0;
};

// Returns the arguments of the house's command line, without the program's name.
std::vector<std::string> ToArguments(const HouseSetup& setup);

// The inverse of ToArguments. InvalidArgument names the argument that is wrong.
absl::StatusOr<HouseSetup> HouseSetupFromArguments(const std::vector<std::string>& arguments);

// The setups of this house's lots, out of all lots.
std::vector<LotSetup> LotsOfHouse(const HouseSetup& setup, const std::vector<Lot>& lots);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_SETUP_H_
