// ParseBids: reads a CSV of time,bidder,lot,amount.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "understudy/examples/auction/amount.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/input_text.h"

namespace auction {
namespace {

constexpr size_t kLineBytesMax = 1000;

// Returns the fields of one line. A field may be in double quotes, within which two
// quotes stand for one. This is RFC 4180 without line breaks in fields.
absl::StatusOr<std::vector<std::string>> SplitFields(absl::string_view line) {
  std::vector<std::string> fields;
  size_t at = 0;
  while (true) {
    std::string field;
    if (at < line.size() && line[at] == '"') {
      ++at;
      while (true) {
        const size_t quote = line.find('"', at);
        if (quote == absl::string_view::npos)
          return absl::InvalidArgumentError("a quoted field does not end on its line: it may have no line break");
        absl::StrAppend(&field, line.substr(at, quote - at));
        at = quote + 1;
        if (at >= line.size() || line[at] != '"') break;
        field.push_back('"');
        ++at;
      }
      if (at < line.size() && line[at] != ',') return absl::InvalidArgumentError("text follows a quoted field");
    } else {
      const size_t comma = std::min(line.find(',', at), line.size());
      field = std::string(absl::StripAsciiWhitespace(line.substr(at, comma - at)));
      at = comma;
    }
    fields.push_back(std::move(field));
    if (at >= line.size()) return fields;
    ++at;  // the comma
  }
}

absl::StatusOr<Bid> ToBid(absl::string_view line, const std::set<std::string>& lots) {
  if (line.size() > kLineBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the line has ", line.size(), " bytes; at most ", kLineBytesMax));
  }
  absl::StatusOr<std::vector<std::string>> fields = SplitFields(line);
  if (!fields.ok()) return fields.status();
  if (fields->size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", fields->size(), " fields; should be time,bidder,lot,amount"));
  }
  const absl::StatusOr<absl::Time> time = ParseInputTime((*fields)[0]);
  if (!time.ok()) return time.status();
  Bid bid{.time = *time, .bidder = (*fields)[1], .lot = (*fields)[2]};
  if (bid.bidder.empty() || bid.bidder.size() > kNameBytesMax || !IsPlainText(bid.bidder)) {
    return absl::InvalidArgumentError(
        absl::StrCat("bidder is not 1 to ", kNameBytesMax, " bytes of UTF-8 without control characters"));
  }
  if (lots.count(bid.lot) == 0) return absl::InvalidArgumentError(absl::StrCat("unknown lot '", bid.lot, "'"));
  absl::StatusOr<int64_t> cents = ParseAmount((*fields)[3]);
  if (!cents.ok()) return cents.status();
  bid.cents = *cents;
  return bid;
}

}  // namespace

std::vector<Bid> ParseBids(absl::string_view file, absl::string_view text, const std::vector<Lot>& lots,
                           std::vector<InputProblem>& problems) {
  std::set<std::string> ids;
  for (const Lot& lot : lots) ids.insert(lot.id);
  std::vector<Bid> bids;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(WithoutByteOrderMark(text), '\n')) {
    ++number;
    absl::ConsumeSuffix(&line, "\r");
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (number == 1 && line == "time,bidder,lot,amount") continue;
    absl::StatusOr<Bid> bid = ToBid(line, ids);
    if (!bid.ok()) {
      problems.push_back({std::string(file), number, std::string(bid.status().message())});
      continue;
    }
    bid->line = number;
    bids.push_back(*std::move(bid));
  }
  return bids;
}

}  // namespace auction
