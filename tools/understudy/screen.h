// The screen that `understudy top --watch` draws on a terminal again and again, and the width of text on a terminal.
// Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_SCREEN_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_SCREEN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace understudy::tool {

// The size of a terminal's window. Without rows: there is no terminal.
struct Window {
  size_t rows = 0;
  size_t columns = 0;
};

// Returns how many columns UTF-8 text takes: two for each wide character (those of East Asia and emoji, as in Unicode's
// EastAsianWidth.txt, by blocks) and one for each other one.
size_t Columns(absl::string_view text);

// Clears the window, and then `text` as far as it fits: lines are cut at its right edge, and a line says how many
// others were left out.
std::string Screen(absl::string_view text, Window window);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_SCREEN_H_
