// What both input files have in common: texts that may be printed, and times.
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_INPUT_TEXT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_INPUT_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace auction {

// Well-formed UTF-8 without control characters, so that it can travel in a proto and does nothing to a terminal.
bool IsPlainText(absl::string_view text);

// `text` with '?' for each byte that is not of plain text.
std::string Printable(absl::string_view text);

// RFC 3339, from 1970 to 9999, in whole milliseconds. InvalidArgument says what is wrong, with the text.
absl::StatusOr<absl::Time> ParseInputTime(absl::string_view text);

// Without the byte order mark that some editors put before a text.
absl::string_view WithoutByteOrderMark(absl::string_view text);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_INPUT_TEXT_H_
