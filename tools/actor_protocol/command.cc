#include "understudy/tools/actor_protocol/command.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/tools/actor_protocol/baseline_text.h"
#include "understudy/transport/protocol/compare.h"
#include "understudy/transport/protocol/findings.h"
#include "understudy/transport/protocol/placed_protocol.h"

namespace understudy::actor_protocol {
namespace {

// NotFound if there is no such file.
absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    return absl::ErrnoToStatus(errno == ENOENT ? ENOENT : EACCES, absl::StrCat(path, ": cannot be opened"));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Changes(size_t count) { return count == 1 ? "1 change breaks" : absl::StrCat(count, " changes break"); }

// Returns an error text if none of `files` is in `baseline`; empty otherwise. So files may be added to a baseline's, or
// be removed from them.
std::string OtherFiles(const PlacedProtocol& baseline, const std::vector<std::string>& files) {
  for (const std::string& file : baseline.protocol.file()) {
    if (std::find(files.begin(), files.end(), file) != files.end()) return "";
  }
  return absl::StrCat("it is the baseline of ", absl::StrJoin(baseline.protocol.file(), ", "), ", not of ",
                      absl::StrJoin(files, ", "));
}

}  // namespace

CheckResult Check(const Command& command) {
  const absl::StatusOr<PlacedProtocol> now = ReadProtoFiles(command.files, command.sources);
  if (!now.ok()) return {.passed = false, .text = absl::StrCat(now.status().message(), "\n")};
  const absl::StatusOr<std::string> text = ReadFile(command.baseline);
  if (!text.ok()) {
    return {.passed = false,
            .text = absl::StrCat(command.baseline, ": there is no baseline. Write it, and commit it:\n    ",
                                 command.update, "\n")};
  }
  const absl::StatusOr<PlacedProtocol> before = ReadBaselineText(*text, command.baseline);
  if (!before.ok()) {
    return {
        .passed = false,
        .text = absl::StrCat(before.status().message(), "\nThe baseline is damaged. Restore it from version ",
                             "control, or write it anew if no peer has another protocol than the .proto files:\n    ",
                             command.update, "\n")};
  }
  if (const std::string other = OtherFiles(*before, command.files); !other.empty()) {
    return {.passed = false,
            .text = absl::StrCat(command.baseline, ": ", other, ". If the .proto file was moved, correct the line ",
                                 "`file:` there; else let `baseline` name another file\n")};
  }
  const Findings findings = Compare(*before, *now);
  std::string report = findings.Text();
  if (!findings.findings.empty()) {
    absl::StrAppend(&report, "\n", Changes(findings.findings.size()),
                    " peers that are not updated. Understudy's tools/actor_protocol/README.md says why, and what to do "
                    "instead.\nIf no such peer and no stored message is left, accept:\n    ",
                    command.update, "\n");
  } else if (!findings.notes.empty()) {
    absl::StrAppend(&report, "\nNothing breaks. What is not in the baseline is not protected before:\n    ",
                    command.update, "\n");
  }
  return {.passed = findings.findings.empty(), .text = report};
}

absl::StatusOr<std::string> Update(const Command& command, const std::string& to) {
  const absl::StatusOr<PlacedProtocol> now = ReadProtoFiles(command.files, command.sources);
  if (!now.ok()) return now.status();
  const std::string written = BaselineText(now->protocol, command.update);
  std::string report;
  const absl::StatusOr<std::string> text = ReadFile(to);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  if (text.ok()) {
    if (*text == written) return absl::StrCat(to, " is up to date\n");
    const absl::StatusOr<PlacedProtocol> before = ReadBaselineText(*text, to);
    if (!before.ok()) {
      absl::StrAppend(&report, before.status().message(), "\nThe baseline was damaged; nothing was compared.\n");
    } else if (const std::string other = OtherFiles(*before, command.files); !other.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(to, ": ", other, ". Delete it if it is not needed any more"));
    } else {
      const Findings findings = Compare(*before, *now);
      absl::StrAppend(&report, findings.Text());
      if (!findings.findings.empty()) {
        absl::StrAppend(&report, "\n", Changes(findings.findings.size()), " peers that are not updated, and ",
                        findings.findings.size() == 1 ? "is" : "are", " accepted now.\n");
      }
    }
  }
  std::ofstream file(to, std::ios::binary | std::ios::trunc);
  file << written << std::flush;
  if (!file.good()) return absl::ErrnoToStatus(errno, absl::StrCat(to, ": cannot be written"));
  return absl::StrCat(report, "wrote ", to, "\n");
}

}  // namespace understudy::actor_protocol
