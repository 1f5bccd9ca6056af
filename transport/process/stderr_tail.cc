#include "understudy/transport/process/stderr_tail.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

void StderrTail::Add(absl::string_view written, MonotonicTime now) {
  constexpr size_t kMax = limits::kStderrTailBytesMax;
  if (written.empty()) return;
  if (written.size() > kMax) written.remove_prefix(written.size() - kMax);
  std::string text(written);
  for (char& c : text) {
    if (c != '\n' && (c < ' ' || c > '~')) c = '?';
  }
  bytes_ += text.size();
  pieces_.push_back({now, std::move(text)});
  while (bytes_ > kMax) {
    std::string& oldest = pieces_.front().text;
    const size_t cut = std::min(bytes_ - kMax, oldest.size());
    oldest.erase(0, cut);
    bytes_ -= cut;
    if (oldest.empty()) pieces_.pop_front();
  }
}

std::string StderrTail::Text(MonotonicTime end) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    if (end - piece.at <= limits::kStderrTailWithin) text += piece.text;
  }
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (lines.size() > limits::kStderrTailLinesMax) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(limits::kStderrTailLinesMax));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace understudy::internal
