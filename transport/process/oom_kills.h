// OomKills: how many processes of our control group the kernel has killed for
// want of memory.
//
// A SIGKILL does not say who sent it; that this count has grown does.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_OOM_KILLS_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_OOM_KILLS_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"

namespace understudy::internal {

// Reads the count of the group that `membership` names, of cgroup version 2
// (memory.events) or 1 (memory.oom_control). Nothing where the platform does
// not tell. Any thread.
absl::optional<int64_t> OomKills(const std::string& membership = "/proc/self/cgroup",
                                 const std::string& root = "/sys/fs/cgroup");

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_OOM_KILLS_H_
