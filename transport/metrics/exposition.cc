#include "understudy/transport/metrics/exposition.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"

namespace understudy::internal {
namespace {

// Colons are allowed too, but only in the names of recording rules.
bool IsName(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

}  // namespace

void Exposition::Begin(absl::string_view name, MetricType type, absl::string_view help) {
  UNDERSTUDY_CHECK(IsName(name), "'", name, "' is not the name of a metric");
  UNDERSTUDY_CHECK((type == MetricType::kCounter) == absl::EndsWith(name, "_total"), "'", name,
                   "': the names of counters, and only they, end in _total");
  family_ = std::string(name);
  UNDERSTUDY_CHECK(begun_.insert(family_).second, "the metric ", name, " begins twice");
  absl::StrAppend(&text_, "# HELP ", name, " ", absl::StrReplaceAll(help, {{"\\", "\\\\"}, {"\n", "\\n"}}), "\n# TYPE ",
                  name,
                  type == MetricType::kCounter ? " counter\n"
                  : type == MetricType::kGauge ? " gauge\n"
                                               : " histogram\n");
}

void Exposition::Sample(double value, const MetricLabels& labels) {
  if (std::isnan(value)) return AddSample("NaN", labels);
  if (std::isinf(value)) return AddSample(value > 0 ? "+Inf" : "-Inf", labels);
  AddSample(absl::StrFormat("%.15g", value), labels);
}

void Exposition::Histogram(const std::vector<double>& bounds, const std::vector<int64_t>& buckets, double sum,
                           const MetricLabels& labels) {
  UNDERSTUDY_CHECK(buckets.size() == bounds.size() + 1, "a histogram with ", bounds.size(), " bounds has ",
                   buckets.size(), " buckets: expected one more than bounds");
  int64_t count = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    count += buckets[i];
    MetricLabels with_bound = labels;
    const std::string bound = i < bounds.size() ? absl::StrFormat("%.15g", bounds[i]) : "+Inf";
    with_bound.emplace_back("le", bound);
    AddSample(std::to_string(count), with_bound, "_bucket");
  }
  AddSample(absl::StrFormat("%.15g", sum), labels, "_sum");
  AddSample(std::to_string(count), labels, "_count");
}

void Exposition::AddSample(absl::string_view value, const MetricLabels& labels, absl::string_view suffix) {
  UNDERSTUDY_CHECK(!family_.empty(), "a sample without a metric: call Begin first");
  absl::StrAppend(&text_, family_, suffix);
  absl::string_view separator = "{";
  for (const auto& [name, label] : labels) {
    UNDERSTUDY_CHECK(IsName(name), "'", name, "' is not the name of a label");
    absl::StrAppend(&text_, separator, name, "=\"",
                    absl::StrReplaceAll(ToPrintableAscii(label), {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
    separator = ",";
  }
  absl::StrAppend(&text_, labels.empty() ? " " : "} ", value, "\n");
}

std::string ToPrintableAscii(absl::string_view text) {
  std::string printable;
  for (const char c : text) {
    if (absl::ascii_isprint(static_cast<unsigned char>(c))) {
      printable += c;
    } else {
      absl::StrAppendFormat(&printable, "\\x%02x", static_cast<unsigned char>(c));
    }
  }
  return printable;
}

}  // namespace understudy::internal
