// Checks of those NodeOptions that are neither addresses (sockets/listen_rules.h) nor
// grants (grants.h).
#ifndef UNDERSTUDY_TRANSPORT_OPTION_RULES_H_
#define UNDERSTUDY_TRANSPORT_OPTION_RULES_H_

#include "absl/status/status.h"
#include "understudy/transport/node.h"

namespace understudy::internal {

// InvalidArgument names an option that is out of its range, its value and the range: first
// those of `times`, all together, then `drain_within` and `fatal_signal_reports`.
[[nodiscard]] absl::Status CheckOptions(const NodeOptions& options);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPTION_RULES_H_
