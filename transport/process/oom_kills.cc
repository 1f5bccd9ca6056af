#include "understudy/transport/process/oom_kills.h"

#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/scheduling/cgroup.h"

namespace understudy::internal {
namespace {

// The number of the line "oom_kill N".
absl::optional<int64_t> ReadCount(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    int64_t count = 0;
    if (absl::ConsumePrefix(&rest, "oom_kill ") && absl::SimpleAtoi(rest, &count)) return count;
  }
  return absl::nullopt;
}

}  // namespace

absl::optional<int64_t> OomKills(const std::string& membership, const std::string& root) {
  for (const Cgroup& group : CgroupsOf("memory", membership, root)) {
    const char* const file = group.is_version_2 ? "memory.events" : "memory.oom_control";
    for (const std::string& folder : {group.folders.front(), group.folders.back()}) {
      if (absl::optional<int64_t> count = ReadCount(absl::StrCat(folder, "/", file)); count.has_value()) return count;
    }
  }
  return absl::nullopt;
}

}  // namespace understudy::internal
