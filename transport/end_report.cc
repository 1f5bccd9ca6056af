#include "understudy/transport/end_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

// Returns one exit reason of the chain, without its causes, on one line.
std::string LineOf(const ExitReason& reason) {
  constexpr size_t kLineBytesMax = 500;
  std::string line = reason.ToStringWithoutCauses();
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return CutText(line, kLineBytesMax);
}

}  // namespace

std::string EndReportText(const NodeEnd& end) {
  const std::string head =
      absl::StrCat("node ", end.node, " ended with exit status ", end.exit_status, ", because its tree did:\n");
  const absl::string_view tail =
      end.in_order ? "its actors were stopped in order\n" : "some of its actors had to be killed\n";
  std::vector<std::string> lines;
  for (const ExitReason* reason = &end.tree; reason != nullptr; reason = reason->cause()) {
    lines.push_back(absl::StrCat(lines.empty() ? "  " : "  because of ", LineOf(*reason), "\n"));
  }
  size_t bytes = head.size() + tail.size();
  for (const std::string& line : lines) bytes += line.size();
  constexpr absl::string_view kLeftOut = "  …\n";
  // Keeps the first line, which names the supervisor that gave up, and the last, which has the original error.
  while (bytes > limits::kEndReportBytesMax && lines.size() > 2) {
    const bool is_marked = lines[1] == kLeftOut;
    const auto left_out = lines.begin() + (is_marked ? 2 : 1);
    bytes -= left_out->size();
    lines.erase(left_out);
    if (is_marked) continue;
    lines.insert(lines.begin() + 1, std::string(kLeftOut));
    bytes += kLeftOut.size();
  }
  return absl::StrCat(head, absl::StrJoin(lines, ""), tail);
}

absl::Status WriteEndReport(const std::string& path, absl::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  absl::Status written;
  while (!text.empty()) {
    const ssize_t bytes = write(file, text.data(), text.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      written = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
      break;
    }
    text.remove_prefix(static_cast<size_t>(bytes));
  }
  close(file);
  return written;
}

}  // namespace understudy::internal
