#include "understudy/supervision/internal/existing_child.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/internal/child_info.h"

namespace understudy {
namespace {

constexpr absl::string_view kChildUrl = "understudy.dev/existing-child";

// The pid's numbers, which have a meaning in this process only, and its text, so that ExistingChild can tell whether
// the status was made in this process.
std::string Encode(Pid pid) { return absl::StrCat(pid.life(), " ", pid.cell(), " ", pid.ToString()); }

}  // namespace

absl::Status ExistingChildError(const ChildInfo& child) {
  std::string what = absl::StrCat("there is a child '", child.id, "' already, which is ", ChildStateName(child.state));
  if (!child.pid.is_null()) absl::StrAppend(&what, " as ", child.pid.ToString());
  if (child.state == ChildState::kStopped) absl::StrAppend(&what, ": restart it, or delete it first");
  absl::Status status = absl::AlreadyExistsError(what);
  status.SetPayload(kChildUrl, absl::Cord(Encode(child.pid)));
  return status;
}

absl::optional<Pid> ExistingChild(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kChildUrl);
  if (!payload.has_value()) return absl::nullopt;
  const std::string text(*payload);
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  uint64_t life = 0;
  uint32_t cell = 0;
  if (parts.size() < 3 || !absl::SimpleAtoi(parts[0], &life) || !absl::SimpleAtoi(parts[1], &cell)) {
    return absl::nullopt;
  }
  const Pid pid = Pid::OfLife(life, cell);
  if (Encode(pid) != text) return absl::nullopt;
  return pid;
}

}  // namespace understudy
