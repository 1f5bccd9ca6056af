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
  // The group's, then those of the groups around it, to the root of its mount. In a container the group's path may be
  // the host's, and then only the last one exists.
  std::vector<std::string> folders;
};

// The groups of this process that may be bounded by `controller`, such as "cpu".
std::vector<Cgroup> CgroupsOf(absl::string_view controller, const std::string& membership, const std::string& root);

// CPUs' worth of time that the groups of this process may use, rounded up; nothing where there is no bound.
absl::optional<int> CpuQuota(const std::string& membership = "/proc/self/cgroup",
                             const std::string& root = "/sys/fs/cgroup");

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_CGROUP_H_
