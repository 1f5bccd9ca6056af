// ParseLots: reads a textproto lot by lot, so that an error in one lot does not affect
// the others.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "understudy/examples/auction/amount.h"
#include "understudy/examples/auction/input.pb.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/input_text.h"

namespace auction {
namespace {

// The text of one lot: from a line that begins with "lot" to the next such line.
struct Block {
  int first_line = 0;
  std::string text;
};

bool BeginsLot(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "lot")) return false;
  line = absl::StripLeadingAsciiWhitespace(line);
  return line.empty() || line[0] == '{' || line[0] == ':';
}

bool IsBlankOrComment(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  return line.empty() || line[0] == '#';
}

std::vector<Block> SplitIntoBlocks(absl::string_view text) {
  std::vector<Block> blocks;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    // Text before the first lot, except comments, is a block too. It does not parse, so
    // its line is reported.
    if (BeginsLot(line) || (blocks.empty() && !IsBlankOrComment(line))) blocks.push_back({number, ""});
    if (!blocks.empty()) absl::StrAppend(&blocks.back().text, line, "\n");
  }
  return blocks;
}

// Keeps the first error of a block, because further errors usually follow from it.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!reason_.empty()) return;
    line_ = std::max(line, 0);
    if (absl::EndsWith(message, "got: ")) {  // the end of the text
      reason_ = "the lot does not end: a '}' is missing before this line";
      return;
    }
    reason_ = column < 0 ? message : absl::StrCat("column ", column + 1, ": ", message);
  }
  int line() const { return line_; }
  const std::string& reason() const { return reason_; }

 private:
  int line_ = 0;  // from 0, within the block
  std::string reason_;
};

bool IsId(absl::string_view id) {
  return !id.empty() && id.size() <= kNameBytesMax && std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

absl::StatusOr<int64_t> AmountOf(absl::string_view field, absl::string_view text) {
  absl::StatusOr<int64_t> cents = ParseAmount(text);
  if (!cents.ok()) return absl::InvalidArgumentError(absl::StrCat(field, ": ", cents.status().message()));
  return cents;
}

absl::StatusOr<Lot> ToLot(const LotEntry& entry) {
  if (!IsId(entry.id())) {
    return absl::InvalidArgumentError(
        absl::StrCat("id: '", entry.id(), "' is not 1 to ", kNameBytesMax, " letters, digits, '-', '_' or '.'"));
  }
  if (entry.title().empty()) return absl::InvalidArgumentError(absl::StrCat("lot '", entry.id(), "' has no title"));
  if (!IsPlainText(entry.title())) return absl::InvalidArgumentError("title is not UTF-8 without control characters");
  Lot lot{.id = entry.id(), .title = entry.title()};
  absl::StatusOr<int64_t> reserve = AmountOf("reserve_price", entry.reserve_price());
  if (!reserve.ok()) return reserve.status();
  lot.reserve_cents = *reserve;
  absl::StatusOr<int64_t> increment = AmountOf("minimum_increment", entry.minimum_increment());
  if (!increment.ok()) return increment.status();
  lot.increment_cents = *increment;
  const absl::StatusOr<absl::Time> closes = ParseInputTime(entry.closing_time());
  if (!closes.ok()) return absl::InvalidArgumentError(absl::StrCat("closing_time: ", closes.status().message()));
  lot.closes = *closes;
  return lot;
}

// Returns the lots of one block, or the first error. Sets `line` to the line of the error.
absl::StatusOr<std::vector<Lot>> ParseBlock(const Block& block, int& line) {
  line = block.first_line;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  LotsFile parsed;
  if (!parser.ParseFromString(block.text, &parsed)) {
    line += error.line();
    return absl::InvalidArgumentError(error.reason().empty() ? "is not a textproto" : error.reason());
  }
  std::vector<Lot> lots;
  for (const LotEntry& entry : parsed.lot()) {
    absl::StatusOr<Lot> lot = ToLot(entry);
    if (!lot.ok()) return lot.status();
    lots.push_back(*std::move(lot));
  }
  return lots;
}

}  // namespace

std::vector<Lot> ParseLots(absl::string_view file, absl::string_view text, std::vector<InputProblem>& problems) {
  std::vector<Lot> lots;
  std::set<std::string> ids;
  for (const Block& block : SplitIntoBlocks(WithoutByteOrderMark(text))) {
    int line = 0;
    absl::StatusOr<std::vector<Lot>> parsed = ParseBlock(block, line);
    if (!parsed.ok()) {
      problems.push_back({std::string(file), line, std::string(parsed.status().message())});
      continue;
    }
    for (Lot& lot : *parsed) {
      if (lots.size() == kLotsMax) {
        problems.push_back({std::string(file), line, absl::StrCat("more than ", kLotsMax, " lots")});
        return lots;
      }
      if (!ids.insert(lot.id).second) {
        problems.push_back({std::string(file), line, absl::StrCat("lot '", lot.id, "' was there before")});
        continue;
      }
      lots.push_back(std::move(lot));
    }
  }
  return lots;
}

}  // namespace auction
