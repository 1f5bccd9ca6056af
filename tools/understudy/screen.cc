#include "understudy/tools/understudy/screen.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace understudy::tool {
namespace {

constexpr char kClear[] = "\033[H\033[2J";

struct Character {
  size_t bytes = 0;
  size_t columns = 0;
};

bool IsWide(uint32_t code) {
  static constexpr std::array<std::pair<uint32_t, uint32_t>, 13> kWide = {{{0x1100, 0x115f},
                                                                           {0x231a, 0x231b},
                                                                           {0x2e80, 0x303e},
                                                                           {0x3041, 0xa4cf},
                                                                           {0xa960, 0xa97f},
                                                                           {0xac00, 0xd7a3},
                                                                           {0xf900, 0xfaff},
                                                                           {0xfe10, 0xfe19},
                                                                           {0xfe30, 0xfe6f},
                                                                           {0xff01, 0xff60},
                                                                           {0xffe0, 0xffe6},
                                                                           {0x1f300, 0x1faff},
                                                                           {0x20000, 0x3fffd}}};
  return std::any_of(kWide.begin(), kWide.end(),
                     [code](const auto& range) { return code >= range.first && code <= range.second; });
}

// The character with which the text begins. A byte that is not part of valid UTF-8 is one of one column.
Character First(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (bytes == 1 || bytes > text.size()) return {1, 1};
  uint32_t code = first & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  return {bytes, IsWide(code) ? size_t{2} : size_t{1}};
}

// As much of the beginning of the UTF-8 text as fits into the columns.
absl::string_view FirstColumns(absl::string_view line, size_t columns) {
  for (size_t i = 0; i < line.size();) {
    const Character next = First(line.substr(i));
    if (next.columns > columns) return line.substr(0, i);
    columns -= next.columns;
    i += next.bytes;
  }
  return line;
}

}  // namespace

size_t Columns(absl::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character next = First(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

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
