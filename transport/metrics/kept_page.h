// KeptPage: a page that takes time to make, and answers all who ask for it meanwhile. One thread.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_KEPT_PAGE_H_
#define UNDERSTUDY_TRANSPORT_METRICS_KEPT_PAGE_H_

#include <algorithm>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/metrics/metrics_limits.h"

namespace understudy::internal {

class KeptPage {
 public:
  explicit KeptPage(Clock& clock) : clock_(clock) {}

  // Returns the page. It is made by `make` if the last one is older than limits::kMetricsPageAgeMax and than
  // limits::kMetricsPageAgePerCost times the time that it took, so that pages take at most a small share of the
  // thread's time however often they are asked for. The reference is valid until the next call.
  const std::string& Get(absl::FunctionRef<std::string()> make) {
    const MonotonicTime begun = clock_.Now();
    if (begun < kept_until_) return page_;
    page_ = make();
    const MonotonicTime made = clock_.Now();
    kept_until_ = made + std::max(limits::kMetricsPageAgeMax, limits::kMetricsPageAgePerCost * (made - begun));
    return page_;
  }

 private:
  Clock& clock_;
  std::string page_;
  MonotonicTime kept_until_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_KEPT_PAGE_H_
