// The checks at the end of a run. They compare three independent records of the run: the
// answers that the bidders got, the contents of the ledger's file, and the chronicle.
//
// Any thread; no I/O.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_CHECKS_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_CHECKS_H_

#include <string>
#include <vector>

#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/bidding_floor.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/closing_round.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/run_plan.h"

namespace auction {

// How a node's process ended for the last time.
struct NodeEnd {
  std::string node;
  bool is_clean = false;
  std::string reason;
};

struct Evidence {
  std::vector<Lot> lots;
  RunPlan plan;
  FloorReport floor;
  ClosedLots closed;
  std::vector<RecordedOffer> ledger_offers;
  std::vector<Closing> ledger_closings;
  Chronicled chronicle;
  // How the exit reason of a house that was killed with SIGKILL begins.
  std::string kill_shows_as = "OsSignal(9";
  std::vector<NodeEnd> nodes;
};

struct Check {
  std::string what;  // "every acknowledged offer is in the ledger"
  bool holds = false;
  std::string detail;  // the first counterexample, or a count
};

// Returns how the last life of each of `nodes` ended according to `chronicle`. An end is
// clean if its reason is Normal or Shutdown.
std::vector<NodeEnd> LastEnds(const std::vector<std::string>& nodes, const Chronicled& chronicle);

// Returns all checks, whether they hold or not.
std::vector<Check> CheckRun(const Evidence& evidence);

// Returns the result of each lot according to the ledger's closing rows, in the order of
// the lots file.
std::vector<LotResult> LedgerResults(const std::vector<Lot>& lots, const std::vector<Closing>& closings);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_CHECKS_H_
