// What must hold at the end of a run, checked against three accounts of it that
// were kept apart: what the bidders were answered, what the ledger's file
// holds, and what was supervised.
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
  // What the kill of a house looks like to its supervisor.
  std::string kill_shows_as = "OsSignal(9";
  std::vector<NodeEnd> nodes;
};

struct Check {
  std::string what;  // "every acknowledged offer is in the ledger"
  bool holds = false;
  std::string detail;  // the first counterexample, or a count
};

// How each of `nodes`, children of the supervisor that `chronicle` tells of,
// ended for the last time. Clean is Normal or Shutdown.
std::vector<NodeEnd> LastEnds(const std::vector<std::string>& nodes, const Chronicled& chronicle);

// All of them, whether they hold or not.
std::vector<Check> CheckRun(const Evidence& evidence);

// The result of each lot as the ledger's closing rows have it, in the order of
// the lots file.
std::vector<LotResult> LedgerResults(const std::vector<Lot>& lots, const std::vector<Closing>& closings);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_CHECKS_H_
