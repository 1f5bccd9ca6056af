// Parts of the page that is printed at the end of a run: results, message ledgers, checks.
//
// Text only; no I/O. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_PAGE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/run_checks.h"

namespace auction {

// Returns a header and a line for each lot, such as "lot-01   Brass sextant   vera   1250.00".
std::string FormatResults(const std::vector<Lot>& lots, const std::vector<LotResult>& results);

// Faults of one file that FormatProblems shows.
inline constexpr int kProblemsShownMax = 20;

// Returns the faults in the input, for each file below its path: the first kProblemsShownMax, and how many more there
// are.
std::string FormatProblems(const std::vector<InputProblem>& problems);

// Returns a line for each node: the messages that its mailboxes accepted, and a column for each disposition that some
// message has. Messages in hand while the node reports count as waiting; the request for the report is one of them.
std::string FormatMessageLedgers(const std::vector<NodeReport>& reports);

// The number of accepted messages that neither wait nor have a disposition: 0 unless a turn ran
// while they were counted.
int64_t Imbalance(const NodeReport& report);

// Returns the reason and its causes, one on each line.
std::string FormatCauses(const understudy::ExitReason& reason);

// Returns why the run failed, on as many lines as it takes; "" if it did not.
std::string FormatFailure(const absl::Status& failure);

// Returns an entry for each check, such as "  ok      every winner …" or "  FAILED  …".
std::string FormatChecks(const std::vector<Check>& checks);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_PAGE_H_
