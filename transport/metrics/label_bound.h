// LabelBound: bounds the number of values of one label, and SteadyCounts: keeps counters from falling.
//
// Threads: one.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_LABEL_BOUND_H_
#define UNDERSTUDY_TRANSPORT_METRICS_LABEL_BOUND_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/metrics_limits.h"

namespace understudy::internal {

// The first `values_max` texts are label values themselves, in the order in which Of sees them. They stay so, because a
// time series that moves from one label to another looks like two that jump.
class LabelBound {
 public:
  static constexpr char kOther[] = "other";

  explicit LabelBound(size_t values_max) : values_max_(values_max) {}

  // `name` as printable ASCII, or "other".
  std::string Of(absl::string_view name) {
    std::string text = ToPrintableAscii(name);
    if (known_.count(text) != 0) return text;
    if (known_.size() == values_max_ || text.size() > limits::kMetricsLabelBytesMax) return kOther;
    known_.insert(text);
    return text;
  }
  // Makes room: forgets the texts that are not in `present`.
  void KeepOnly(const std::set<std::string>& present) {
    for (auto known = known_.begin(); known != known_.end();) {
      known = present.count(*known) != 0 ? std::next(known) : known_.erase(known);
    }
  }

 private:
  const size_t values_max_;
  std::set<std::string> known_;
};

// A counter of which the readings may be slightly off, because they are sums over actors that run meanwhile. Prometheus
// takes each fall of a counter for a restart of the process and counts the whole value again, so readings that are
// lower than an earlier one are left out. The exception: a living actor's count has 32 bits and wraps around
// (ledger.h). A reading that is lower by about 2^32, twice in a row, is taken for that.
class SteadyCount {
 public:
  int64_t Next(int64_t reading) {
    if (reading + wrapped_ < last_ - kWrap / 2) {
      ++low_readings_;
      if (low_readings_ == 2) {
        wrapped_ += kWrap;
        low_readings_ = 0;
      }
    } else {
      low_readings_ = 0;
    }
    last_ = std::max(last_, reading + wrapped_);
    return last_;
  }

 private:
  static constexpr int64_t kWrap = int64_t{1} << 32;

  int64_t last_ = 0;
  int64_t wrapped_ = 0;
  int low_readings_ = 0;
};

// One SteadyCount for each time series.
class SteadyCounts {
 public:
  // `name` and `label` name the time series.
  int64_t Next(absl::string_view name, const std::string& label, int64_t reading) {
    return counts_[{std::string(name), label}].Next(reading);
  }

 private:
  std::map<std::pair<std::string, std::string>, SteadyCount> counts_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_LABEL_BOUND_H_
