#include "understudy/examples/auction/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/examples/auction/wrap_text.h"

namespace auction {

namespace {

constexpr absl::string_view kBold = "\033[1m";
constexpr absl::string_view kRed = "\033[31m";
constexpr absl::string_view kGreen = "\033[32m";
constexpr absl::string_view kPlain = "\033[m";

}  // namespace

bool TakesColour(bool is_terminal, const char* no_color) {
  return is_terminal && (no_color == nullptr || *no_color == '\0');
}

std::string Coloured(absl::string_view page) {
  struct Verdict {
    absl::string_view word;  // that the line begins with
    absl::string_view colour;
  };
  constexpr Verdict kVerdicts[] = {{"  ok ", kGreen}, {"All holds.", kGreen}, {"  FAILED ", kRed}, {"FAILED.", kRed}};
  std::vector<std::string> lines;
  bool is_after_empty = false;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const Verdict* verdict = std::find_if(std::begin(kVerdicts), std::end(kVerdicts),
                                          [&](const Verdict& one) { return absl::StartsWith(line, one.word); });
    const Verdict heading{line, kBold};
    if (verdict == std::end(kVerdicts)) verdict = is_after_empty && !line.empty() ? &heading : nullptr;
    is_after_empty = line.empty();
    if (verdict == nullptr) {
      lines.emplace_back(line);
    } else {
      lines.push_back(absl::StrCat(verdict->colour, verdict->word, kPlain, line.substr(verdict->word.size())));
    }
  }
  return absl::StrJoin(lines, "\n");
}

Terminal::Terminal()
    : is_one_(isatty(STDOUT_FILENO) == 1), takes_colour_(TakesColour(is_one_, std::getenv("NO_COLOR"))) {}

void Terminal::ClearStatus() {
  if (has_status_) std::cout << "\r\033[K";
  has_status_ = false;
}

void Terminal::Line(absl::string_view text) {
  absl::MutexLock lock(&mu_);
  ClearStatus();
  std::cout << text << '\n' << std::flush;
}

void Terminal::Status(absl::string_view text) {
  absl::MutexLock lock(&mu_);
  if (!is_one_) {
    std::cout << "  " << text << '\n' << std::flush;
    return;
  }
  ClearStatus();
  std::cout << text.substr(0, kColumns - 1) << std::flush;
  has_status_ = true;
}

void Terminal::Clear() {
  absl::MutexLock lock(&mu_);
  ClearStatus();
  std::cout << std::flush;
}

}  // namespace auction
