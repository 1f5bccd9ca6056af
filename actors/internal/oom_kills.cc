#include "understudy/actors/internal/oom_kills.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

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

// In a container the group's path may be the host's, and the mount its root.
absl::optional<int64_t> ReadCount(const std::string& mount, absl::string_view group, absl::string_view file) {
  if (absl::optional<int64_t> count = ReadCount(absl::StrCat(mount, group, "/", file)); count.has_value()) return count;
  return ReadCount(absl::StrCat(mount, "/", file));
}

}  // namespace

absl::optional<int64_t> OomKills(const std::string& membership, const std::string& root) {
  std::ifstream groups(membership);
  for (std::string line; std::getline(groups, line);) {
    // "0::/group" of version 2, "4:memory:/group" of version 1.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    absl::optional<int64_t> count;
    if (parts[0] == "0" && parts[1].empty()) count = ReadCount(root, parts[2], "memory.events");
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    for (const std::string& controller : controllers) {
      if (controller == "memory") count = ReadCount(absl::StrCat(root, "/memory"), parts[2], "memory.oom_control");
    }
    if (count.has_value()) return count;
  }
  return absl::nullopt;
}

}  // namespace understudy::internal
