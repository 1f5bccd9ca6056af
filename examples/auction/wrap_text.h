// WrapText: breaks a text into lines that fit a terminal. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_WRAP_TEXT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_WRAP_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace auction {

inline constexpr size_t kColumns = 80;

// Returns `text` broken at spaces into lines of at most kColumns bytes, without a newline at the end. The lines after
// the first are indented by `indent` spaces. A word that is longer than a line gets a line of its own.
std::string WrapText(absl::string_view text, size_t indent);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_WRAP_TEXT_H_
