#include "understudy/actors/internal/last_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

void LastWords::Add(absl::string_view written) {
  constexpr size_t kMax = limits::kLastWordsBytesMax;
  if (written.size() > kMax) written.remove_prefix(written.size() - kMax);
  for (const char c : written) {
    tail_.push_back(c == '\n' || (c >= ' ' && c <= '~') ? c : '?');
  }
  if (tail_.size() > kMax) tail_.erase(0, tail_.size() - kMax);
}

std::string LastWords::Text() const {
  std::vector<absl::string_view> lines = absl::StrSplit(tail_, '\n', absl::SkipWhitespace());
  if (lines.size() > limits::kLastWordsLinesMax) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(limits::kLastWordsLinesMax));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace understudy::internal
