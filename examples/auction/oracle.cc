#include "understudy/examples/auction/oracle.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "understudy/examples/auction/amount.h"

namespace auction {
namespace {

std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::vector<LotResult> ExpectedResults(const std::vector<Lot>& lots, const std::vector<Bid>& bids) {
  // The next offer for a lot must reach next_at_least: the reserve price at first, and then
  // the increment above the last offer that reached it.
  std::map<std::string, std::vector<const Bid*>> bids_of;
  for (const Bid& bid : bids) bids_of[bid.lot].push_back(&bid);
  std::vector<LotResult> results;
  for (const Lot& lot : lots) {
    LotResult result{.lot = lot.id};
    int64_t next_at_least = lot.reserve_cents;
    for (const Bid* bid : bids_of[lot.id]) {
      const bool in_time = bid->time < lot.closes;
      if (!in_time || bid->cents < next_at_least) continue;
      result.winner = bid->bidder;
      result.cents = bid->cents;
      next_at_least = bid->cents + lot.increment_cents;
    }
    results.push_back(result);
  }
  return results;
}

std::string ResultsCsv(const std::vector<LotResult>& results) {
  std::string csv = "lot,winner,amount\n";
  for (const LotResult& result : results) {
    absl::StrAppend(&csv, Quoted(result.lot), ",", Quoted(result.winner), ",",
                    result.winner.empty() ? "" : FormatAmount(result.cents), "\n");
  }
  return csv;
}

}  // namespace auction
