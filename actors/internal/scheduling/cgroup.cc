#include "understudy/actors/internal/scheduling/cgroup.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace understudy::internal {
namespace {

// Returns the folder of `group`, then the folders of its ancestors, in the order of Cgroup::folders.
std::vector<std::string> FoldersOf(const std::string& mount, absl::string_view group) {
  std::vector<std::string> folders;
  while (!group.empty() && group != "/") {
    folders.push_back(absl::StrCat(mount, group));
    group = group.substr(0, group.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

// The numbers at the beginning of a file. Empty if the file does not exist or begins with a word such as "max".
std::vector<int64_t> ReadNumbers(const std::string& path) {
  std::ifstream file(path);
  std::vector<int64_t> numbers;
  for (int64_t number = 0; file >> number;) numbers.push_back(number);
  return numbers;
}

// In microseconds: the time that a group has in each period, and the period.
std::vector<int64_t> ReadQuota(bool is_version_2, const std::string& folder) {
  if (is_version_2) return ReadNumbers(absl::StrCat(folder, "/cpu.max"));
  std::vector<int64_t> quota = ReadNumbers(absl::StrCat(folder, "/cpu.cfs_quota_us"));  // -1: no bound
  for (const int64_t period : ReadNumbers(absl::StrCat(folder, "/cpu.cfs_period_us"))) quota.push_back(period);
  return quota;
}

}  // namespace

std::vector<Cgroup> CgroupsOf(absl::string_view controller, const std::string& membership, const std::string& root) {
  std::vector<Cgroup> found;
  std::ifstream groups(membership);
  for (std::string line; std::getline(groups, line);) {
    // "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) {
      found.push_back({.is_version_2 = true, .folders = FoldersOf(root, parts[2])});
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      found.push_back({.is_version_2 = false, .folders = FoldersOf(absl::StrCat(root, "/", controller), parts[2])});
    }
  }
  return found;
}

absl::optional<int> CpuQuota(const std::string& membership, const std::string& root) {
  absl::optional<int64_t> least;
  for (const Cgroup& group : CgroupsOf("cpu", membership, root)) {
    for (const std::string& folder : group.folders) {
      const std::vector<int64_t> quota = ReadQuota(group.is_version_2, folder);
      if (quota.size() != 2 || quota[0] <= 0 || quota[1] <= 0) continue;
      const int64_t cpus = (quota[0] + quota[1] - 1) / quota[1];
      if (!least.has_value() || cpus < *least) least = cpus;
    }
  }
  if (!least.has_value()) return absl::nullopt;
  return static_cast<int>(std::min<int64_t>(*least, INT32_MAX));
}

}  // namespace understudy::internal
