// The page that ends a run: results, timeline, message ledgers, checks.
//
// Text only; no I/O. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_PAGE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "understudy/actors/exit_reason.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/run_checks.h"

namespace auction {

// "lot-01   Brass sextant   vera   1,250.00", a line for each lot.
std::string FormatResults(const std::vector<Lot>& lots, const std::vector<LotResult>& results);

// The faults of each file, below its path.
std::string FormatProblems(const std::vector<InputProblem>& problems);

// A line for each node: what its mailboxes accepted, and what became of it: a column for each disposition that a
// message had. What is in hand when a node reports is still waiting: its request at least.
std::string FormatMessageLedgers(const std::vector<NodeReport>& reports);

// What was accepted and is neither waiting nor has a disposition: 0 unless a turn ran
// while it was counted.
int64_t Imbalance(const NodeReport& report);

// The reason and its causes, a line each, as of a tree that gave up.
std::string FormatCauses(const understudy::ExitReason& reason);

// "  ok      every winner …" and "  FAILED  …".
std::string FormatChecks(const std::vector<Check>& checks);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_PAGE_H_
