// The results table, computed from the input alone: no actors, no ledger, and
// none of the code that judges offers in the service. Tests and the demo hold
// the service's results against it.
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

// One line of the results: who got the lot, for how much. No winner: not sold.
struct LotResult {
  std::string lot;
  std::string winner;
  int64_t cents = 0;

  friend bool operator==(const LotResult&, const LotResult&) = default;
  friend std::ostream& operator<<(std::ostream& out, const LotResult& result) {
    return out << result.lot << " to '" << result.winner << "' for " << result.cents;
  }
};

// In the order of `lots`.
std::vector<LotResult> ExpectedResults(const std::vector<Lot>& lots, const std::vector<Bid>& bids);

// "lot,winner,amount" and a line for each result; winner and amount are empty
// when the lot was not sold. Fields are quoted where CSV asks for it.
std::string ResultsCsv(const std::vector<LotResult>& results);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_ORACLE_H_
