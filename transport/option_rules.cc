#include "understudy/transport/option_rules.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node.h"

namespace understudy::internal {

absl::Status CheckOptions(const NodeOptions& options) {
  if (absl::Status times = options.times.Validate(); !times.ok()) return times;
  if (options.drain_within < absl::ZeroDuration() || options.drain_within > limits::kDrainWithinMax) {
    return absl::InvalidArgumentError(absl::StrCat("NodeOptions::drain_within is ",
                                                   absl::FormatDuration(options.drain_within), ": expected 0 to ",
                                                   absl::FormatDuration(limits::kDrainWithinMax)));
  }
  const int reports = static_cast<int>(options.fatal_signal_reports);
  if (reports < 0 || reports > static_cast<int>(FatalSignalReports::kNo)) {
    return absl::InvalidArgumentError(absl::StrCat("NodeOptions::fatal_signal_reports is ", reports, ": expected 0 to ",
                                                   static_cast<int>(FatalSignalReports::kNo)));
  }
  return absl::OkStatus();
}

}  // namespace understudy::internal
