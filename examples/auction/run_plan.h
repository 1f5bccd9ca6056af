// RunPlan: everything that the seed decides, computed before the run starts.
//
// The same input, seed and kills give the same plan. The plan never decides
// who wins. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_PLAN_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {

inline constexpr int kHouses = 2;

// Which failures a run must have.
struct Kills {
  bool house = true;  // SIGKILL of one house
  bool lot = true;    // an exception in one lot
};

// "all", "house", "lot" or "none"; else InvalidArgument.
absl::StatusOr<Kills> ParseKills(absl::string_view text);

struct RunPlan {
  // One for each bid, in file order, with ids of the seed.
  std::vector<Offer> offers;
  // The house to kill (0: none), once this many offers were acknowledged.
  int killed_house = 0;
  int64_t kill_after_offers = 0;

  // The lot to crash (empty: none), in the handler of this many-th offer of
  // its own, after the ledger has it and before it is acknowledged. The lot is
  // not of the killed house, so that neither failure can hide the other.
  std::string crashed_lot;
  int64_t crash_at_offer = 0;
};

// InvalidArgument when the failures that were asked for cannot happen because
// there are too few bids.
absl::StatusOr<RunPlan> MakeRunPlan(const std::vector<Lot>& lots, const std::vector<Bid>& bids, uint64_t seed,
                                    const Kills& kills);

// "house-1"
std::string HouseName(int number);

// The number, from 1, of the house that has the lot of that index.
int HouseOfLot(size_t index);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_PLAN_H_
