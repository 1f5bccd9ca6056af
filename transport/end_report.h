// EndReport: a file that tells an operator why a node's process ended (NodeOptions::end_report).
// Any thread.
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
  ExitReason tree;       // the exit reason of the node's tree
  bool in_order = true;  // false if an actor had to be killed
};

// Returns one line each for the node, for the exit reason of its tree, for each cause of
// that reason, and for whether the actors stopped in order. If the text would exceed
// limits::kEndReportBytesMax bytes, causes after the first reason are left out, but not
// the last cause, which is the origin of the failure.
std::string EndReportText(const NodeEnd& end);

// Writes `text` to the file at `path`, which is created or overwritten.
absl::Status WriteEndReport(const std::string& path, absl::string_view text);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_END_REPORT_H_
