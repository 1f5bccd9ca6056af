#include "understudy/transport/ops/refusal_lines.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy::internal {

std::vector<std::string> RefusalLines::Due(MonotonicTime now) {
  std::vector<std::string> lines;
  for (auto next = callers_.begin(); next != callers_.end();) {
    const auto& [caller, refusals] = *next;
    if (now - refusals.since < limits::kOpsRefusalLinesPer) {
      ++next;
      continue;
    }
    if (refusals.count > limits::kOpsRefusalLinesMax) {
      lines.push_back(absl::StrCat("ops: ", caller, " asked for ", refusals.count - limits::kOpsRefusalLinesMax,
                                   " more actions within ", absl::FormatDuration(limits::kOpsRefusalLinesPer),
                                   ", which were refused"));
    }
    next = callers_.erase(next);
  }
  return lines;
}

bool RefusalLines::Add(const std::string& caller, MonotonicTime now) {
  const bool is_known = callers_.contains(caller) || callers_.size() < limits::kOpsRefusedCallersMax;
  Refusals& refusals =
      callers_.try_emplace(is_known ? caller : "further callers", Refusals{.since = now}).first->second;
  return ++refusals.count <= limits::kOpsRefusalLinesMax;
}

}  // namespace understudy::internal
