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
#include "understudy/actors/printable_text.h"

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

// Returns the character with which the text begins. A byte that is not part of valid UTF-8 counts as one of one column.
Character First(absl::string_view text) {
  const Utf8Character first = FirstUtf8Character(text);
  return {std::max(first.bytes, size_t{1}), IsWide(first.code) ? size_t{2} : size_t{1}};
}

// Returns the beginning of the UTF-8 text, as much as fits into the columns.
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
