// WrapText: a text in lines that fit the terminal. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_WRAP_TEXT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_WRAP_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace auction {

inline constexpr size_t kColumns = 80;

// `text` broken at spaces into lines of at most kColumns bytes, those after the first indented by `indent` spaces,
// without a newline at the end. A word that is longer than a line has one of its own.
std::string WrapText(absl::string_view text, size_t indent);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_WRAP_TEXT_H_
