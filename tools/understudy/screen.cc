#include "understudy/tools/understudy/screen.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace understudy::tool {
namespace {

constexpr char kClear[] = "\033[H\033[2J";

// The first `columns` characters of the UTF-8 text.
absl::string_view FirstColumns(absl::string_view line, size_t columns) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(line[i]) & 0xc0) != 0x80;
    if (begins_character && columns-- == 0) return line.substr(0, i);
  }
  return line;
}

}  // namespace

std::string Screen(absl::string_view text, Window window) {
  const std::vector<absl::string_view> lines = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  // The cursor stands on the last row.
  const size_t room = std::max<size_t>(window.rows, 2) - 1;
  const size_t shown = lines.size() <= room ? lines.size() : room - 1;
  std::string screen = kClear;
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(&screen, FirstColumns(lines[i], window.columns), "\n");
  if (shown < lines.size()) {
    const std::string more = absl::StrCat("(", lines.size() - shown, " more lines)");
    absl::StrAppend(&screen, FirstColumns(more, window.columns), "\n");
  }
  return screen;
}

}  // namespace understudy::tool
