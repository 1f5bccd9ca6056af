// Texts and times of the two input files.
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_INPUT_TEXT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_INPUT_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace auction {

// True for well-formed UTF-8 without control characters, which can be a proto string and is harmless on a terminal.
bool IsPlainText(absl::string_view text);

// Returns `text` with each byte that does not belong to plain text replaced by '?'.
std::string Printable(absl::string_view text);

// Parses an RFC 3339 time in the years 1970 to 9999, cut to whole milliseconds. InvalidArgument quotes the text and
// says what is wrong with it.
absl::StatusOr<absl::Time> ParseInputTime(absl::string_view text);

// Returns `text` without the byte order mark that some editors put before a text.
absl::string_view WithoutByteOrderMark(absl::string_view text);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_INPUT_TEXT_H_
