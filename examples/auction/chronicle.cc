#include "understudy/examples/auction/chronicle.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/examples/auction/wrap_text.h"

namespace auction {
namespace {

constexpr int64_t kSameMomentMicros = 1'000'000;
constexpr size_t kIndent = 23;  // continuation lines begin below the column of `what`

// The happenings that are shown as one text.
struct Line {
  Happening first;
  std::set<std::string> who;
  int count = 0;
};

bool BelongsTo(const Line& line, const Happening& happening) {
  return line.first.what() == happening.what() && line.first.why() == happening.why() &&
         line.first.node() == happening.node() &&
         happening.unix_micros() - line.first.unix_micros() < kSameMomentMicros;
}

std::string Format(const Line& line, absl::Time start) {
  const double seconds = absl::ToDoubleSeconds(absl::FromUnixMicros(line.first.unix_micros()) - start);
  std::string who = line.first.who();
  if (line.who.size() > 1) absl::StrAppend(&who, " and ", line.who.size() - 1, " more");
  if (line.count > static_cast<int>(line.who.size())) absl::StrAppend(&who, ", ", line.count, " times");
  std::string text = absl::StrFormat("%8.3f s  %-10s %-14s %s", seconds, line.first.node(), line.first.what(), who);
  if (!line.first.why().empty()) absl::StrAppend(&text, ": ", line.first.why());
  return WrapText(text, kIndent);
}

}  // namespace

Happening MakeHappening(absl::Time time, absl::string_view node, absl::string_view what, absl::string_view who,
                        absl::string_view why) {
  Happening happening;
  happening.set_unix_micros(absl::ToUnixMicros(time));
  happening.set_node(std::string(node));
  happening.set_what(std::string(what));
  happening.set_who(std::string(who));
  happening.set_why(std::string(why));
  return happening;
}

std::vector<std::string> FormatTimeline(const Chronicled& happenings, absl::Time start) {
  // In order of time; happenings with equal times stay in the order in which they were reported.
  std::multimap<int64_t, const Happening*> ordered;
  for (const Happening& happening : happenings) ordered.emplace(happening.unix_micros(), &happening);
  std::vector<Line> lines;
  for (const auto& [time, told] : ordered) {
    const Happening& happening = *told;
    auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& each) { return BelongsTo(each, happening); });
    if (line == lines.end()) line = lines.insert(lines.end(), Line{happening, {}, 0});
    line->who.insert(happening.who());
    ++line->count;
  }
  std::vector<std::string> formatted;
  formatted.reserve(lines.size());
  for (const Line& line : lines) formatted.push_back(Format(line, start));
  return formatted;
}

}  // namespace auction
