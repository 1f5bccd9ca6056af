// The screen that `understudy top --watch` draws on a terminal again and again. Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_SCREEN_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_SCREEN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace understudy::tool {

// The size of a terminal's window, in characters. Without rows: there is no terminal.
struct Window {
  size_t rows = 0;
  size_t columns = 0;
};

// Clears the window, and then `text` as far as it fits: lines are cut at its right edge, and a line says how many
// others were left out. Characters count as one column each.
std::string Screen(absl::string_view text, Window window);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_SCREEN_H_
