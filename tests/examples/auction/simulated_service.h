// SimulatedService: the whole service on one thread with virtual time, with supervisors in place of its processes. One
// call is one run.
#ifndef UNDERSTUDY_TESTS_EXAMPLES_AUCTION_SIMULATED_SERVICE_H_
#define UNDERSTUDY_TESTS_EXAMPLES_AUCTION_SIMULATED_SERVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/run_checks.h"
#include "understudy/examples/auction/run_plan.h"

namespace auction {

struct SimulatedRun {
  Evidence evidence;
  std::string results_csv;
  std::vector<std::string> trace;  // only if the options ask for it
};

struct SimulationOptions {
  uint64_t seed = 1;
  Kills kills;
  std::string speed = "max";
  bool with_trace = false;
};

// Fails the test if the run does not complete.
SimulatedRun Simulate(const std::vector<Lot>& lots, const std::vector<Bid>& bids, const SimulationOptions& options);

// Returns the faults that CheckRun finds, one line each.
std::string FaultsOf(const SimulatedRun& run);

// Make a random input: `lot_count` lots, and `bid_count` bids of five bidders, with ties and with low and late offers.
std::vector<Lot> RandomLots(uint64_t seed, int lot_count);
std::vector<Bid> RandomBids(uint64_t seed, const std::vector<Lot>& lots, int bid_count);

}  // namespace auction

#endif  // UNDERSTUDY_TESTS_EXAMPLES_AUCTION_SIMULATED_SERVICE_H_
