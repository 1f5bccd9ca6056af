// The control groups that this process is in (cgroups(7)): versions 1 and 2.
//
// The files are read at each call. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_CGROUP_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_CGROUP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace understudy::internal {

struct Cgroup {
  bool is_version_2 = false;
  // The group's folder, then those of its ancestors, up to the root of the mount. In a container the group's path may
  // be the host's; then only the root exists.
  std::vector<std::string> folders;
};

// The groups of this process that may be bounded by `controller`, such as "cpu".
std::vector<Cgroup> CgroupsOf(absl::string_view controller, const std::string& membership, const std::string& root);

// How many CPUs' worth of time the groups of this process may use, rounded up; nullopt if there is no bound.
absl::optional<int> CpuQuota(const std::string& membership = "/proc/self/cgroup",
                             const std::string& root = "/sys/fs/cgroup");

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_CGROUP_H_
