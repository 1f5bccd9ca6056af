// The expected results, computed from the input alone: without actors, the ledger or the
// code that judges offers in the service. Tests and the demo compare the results of the
// service with them.
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_ORACLE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_ORACLE_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "understudy/examples/auction/input_files.h"

namespace auction {

// The result of one lot. `winner` is empty if the lot was not sold.
struct LotResult {
  std::string lot;
  std::string winner;
  int64_t cents = 0;

  friend bool operator==(const LotResult&, const LotResult&) = default;
  friend std::ostream& operator<<(std::ostream& out, const LotResult& result) {
    return out << result.lot << " to '" << result.winner << "' for " << result.cents;
  }
};

// Returns the results in the order of `lots`.
std::vector<LotResult> ExpectedResults(const std::vector<Lot>& lots, const std::vector<Bid>& bids);

// Returns the header "lot,winner,amount" and a line for each result. Winner and amount
// are empty if the lot was not sold. Fields are quoted where CSV requires it.
std::string ResultsCsv(const std::vector<LotResult>& results);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_ORACLE_H_
