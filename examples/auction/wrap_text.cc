#include "understudy/examples/auction/wrap_text.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace auction {

std::string WrapText(absl::string_view text, size_t indent) {
  std::string wrapped;
  size_t width = kColumns;
  // Does not break the first line at its leading spaces.
  size_t searched_from = std::min(text.find_first_not_of(' '), text.size());
  while (text.size() > width) {
    size_t end = text.rfind(' ', width);
    if (end == absl::string_view::npos || end < searched_from) end = text.find(' ', searched_from);
    if (end == absl::string_view::npos) break;
    absl::StrAppend(&wrapped, text.substr(0, end), "\n", std::string(indent, ' '));
    text.remove_prefix(end + 1);
    width = kColumns - indent;
    searched_from = 0;
  }
  return absl::StrCat(wrapped, text);
}

}  // namespace auction
