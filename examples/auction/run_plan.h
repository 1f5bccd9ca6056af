// RunPlan: everything that the seed decides, computed before the run starts.
//
// The same input, seed and kills give the same plan. Which bidder wins a lot does not depend on the plan. Any thread.
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
  // One offer for each bid, in file order, with ids that depend on the seed.
  std::vector<Offer> offers;
  // The house to kill, or 0 for none, and the number of acknowledged offers after which
  // it is killed.
  int killed_house = 0;
  int64_t kill_after_offers = 0;

  // The lot to crash, or empty for none, and the number of its offer at which it crashes:
  // after the ledger has recorded the offer and before the offer is acknowledged. The lot
  // does not belong to the killed house, so that neither failure can hide the other.
  std::string crashed_lot;
  int64_t crash_at_offer = 0;
};

// InvalidArgument if no lot has a bid, or if the failures in `kills` cannot happen because there are too few bids.
absl::StatusOr<RunPlan> MakeRunPlan(const std::vector<Lot>& lots, const std::vector<Bid>& bids, uint64_t seed,
                                    const Kills& kills);

// "house-1"
std::string HouseName(int number);

// The number, from 1, of the house to which the lot with that index belongs.
int HouseOfLot(size_t index);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_PLAN_H_
