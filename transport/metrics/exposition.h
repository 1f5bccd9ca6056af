// Exposition: writes metrics in Prometheus' text format, version 0.0.4.
//
//   Exposition page;
//   page.Begin("understudy_dead_letters_total", MetricType::kCounter, "Messages that reached no handler.");
//   page.Sample(system.dead_letters());
//   page.Begin("understudy_peers", MetricType::kGauge, "Peers by the state of their session.");
//   page.Sample(2, {{"state", "up"}});
//
// Guarantees: each family has one HELP line, one TYPE line and then its samples. Help texts and label values are
// escaped, and label values are made printable ASCII.
// Requires (CHECKed): the names of families and labels are valid and each family begins once; the caller gives each set
// of labels once in a family.
// Threads: one. Format: https://prometheus.io/docs/instrumenting/exposition_formats.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_EXPOSITION_H_
#define UNDERSTUDY_TRANSPORT_METRICS_EXPOSITION_H_

#include <concepts>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace understudy::internal {

enum class MetricType { kCounter, kGauge, kHistogram };

using MetricLabels = std::vector<std::pair<absl::string_view, absl::string_view>>;

class Exposition {
 public:
  // The Content-Type of the format.
  static constexpr absl::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Begins the family to which the samples that follow belong. The name of a counter ends in "_total".
  void Begin(absl::string_view name, MetricType type, absl::string_view help);

  template <std::integral Integer>
  void Sample(Integer value, const MetricLabels& labels = {}) {
    AddSample(std::to_string(value), labels);
  }
  void Sample(double value, const MetricLabels& labels = {});

  // A family with one sample, which has no labels.
  void One(absl::string_view name, MetricType type, absl::string_view help, int64_t value) {
    Begin(name, type, help);
    Sample(value);
  }

  // The samples of one histogram of the family. `buckets`: upper bounds, and how many observations are at most that,
  // not summed; one more without a bound, for the last. Requires kHistogram.
  void Histogram(const std::vector<double>& bounds, const std::vector<int64_t>& buckets, double sum,
                 const MetricLabels& labels = {});

  const std::string& text() const { return text_; }

 private:
  void AddSample(absl::string_view value, const MetricLabels& labels, absl::string_view suffix = "");

  std::string text_;
  std::string family_;           // the name of the last family
  std::set<std::string> begun_;  // the names of all families
};

// Returns `text` with "\xNN" in place of control characters and bytes that are not ASCII. The format is UTF-8, and the
// name of a mailbox may be any bytes.
std::string ToPrintableAscii(absl::string_view text);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_EXPOSITION_H_
