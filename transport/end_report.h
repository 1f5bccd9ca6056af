// EndReport: why a node's process ends, as text for whoever runs it.
#ifndef UNDERSTUDY_TRANSPORT_END_REPORT_H_
#define UNDERSTUDY_TRANSPORT_END_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {

struct NodeEnd {
  std::string node;
  int exit_status = 0;
  ExitReason tree;
  bool in_order = true;  // no actor had to be killed
};

// A line each for the node, for the reason of its tree and each of its causes,
// and for how it ended; at most limits::kEndReportBytesMax bytes, the last
// causes (where it began) rather than those between.
std::string EndReportText(const NodeEnd& end);

// Replaces what is in the file at `path`.
absl::Status WriteEndReport(const std::string& path, absl::string_view text);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_END_REPORT_H_
