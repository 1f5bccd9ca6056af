// ParseExposition: a strict reader of Prometheus' text format 0.0.4, as far as Metrics writes it.
//
// Each line must be of the grammar; each family has one HELP line, then one TYPE line (counter, gauge or histogram),
// then all its samples; no time series is there twice; counters end in _total and are not negative.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_METRICS_STRICT_EXPOSITION_H_
#define UNDERSTUDY_TESTS_TRANSPORT_METRICS_STRICT_EXPOSITION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace understudy {

// The value of each time series by its name with labels as they stand in the text, such as "peers{state=\"up\"}".
using Series = std::map<std::string, double>;

inline absl::StatusOr<Series> ParseExposition(absl::string_view text) {
  static const std::regex help_line("# HELP ([a-zA-Z_][a-zA-Z0-9_]*) ((?:[^\\\\\n]|\\\\\\\\|\\\\n)+)");
  static const std::regex type_line("# TYPE ([a-zA-Z_][a-zA-Z0-9_]*) (counter|gauge|histogram)");
  static const std::regex sample_line(
      "([a-zA-Z_][a-zA-Z0-9_]*)"
      "(\\{[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\\\n]|\\\\[\"\\\\n])*\""
      "(?:,[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\\\n]|\\\\[\"\\\\n])*\")*\\})?"
      " (NaN|[+-]Inf|-?[0-9]+(?:\\.[0-9]+)?(?:e[+-][0-9]+)?)");
  if (!absl::EndsWith(text, "\n")) return absl::InvalidArgumentError("the last line does not end");
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  Series series;
  std::set<std::string> families;
  std::string family;
  std::string type;
  for (const std::string& line : lines) {
    const auto wrong = [&line](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": ", line));
    };
    std::smatch match;
    if (std::regex_match(line, match, help_line)) {
      if (!family.empty() && type.empty()) return wrong("HELP without TYPE before");
      family = match[1];
      type.clear();
      if (!families.insert(family).second) return wrong("the family is there twice");
    } else if (std::regex_match(line, match, type_line)) {
      if (match[1] != family || !type.empty()) return wrong("TYPE does not follow its HELP");
      type = match[2];
      if ((type == "counter") != absl::EndsWith(family, "_total"))
        return wrong("counters, and only they, end in _total");
    } else if (std::regex_match(line, match, sample_line)) {
      const std::string name = match[1];
      const bool is_part = type == "histogram" && absl::StartsWith(name, family) &&
                           (name == family + "_bucket" || name == family + "_sum" || name == family + "_count");
      if (type.empty() || (type == "histogram" ? !is_part : name != family))
        return wrong("a sample outside of its family");
      double value = 0;
      if (!absl::SimpleAtod(std::string(match[3]), &value)) return wrong("the value is not a number");
      if (type == "counter" && !(value >= 0)) return wrong("a counter is negative");
      if (!series.emplace(absl::StrCat(std::string(match[1]), std::string(match[2])), value).second) {
        return wrong("the time series is there twice");
      }
    } else {
      return wrong("not a line of the format");
    }
  }
  if (!family.empty() && type.empty()) return absl::InvalidArgumentError("HELP without TYPE at the end");
  return series;
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_METRICS_STRICT_EXPOSITION_H_
