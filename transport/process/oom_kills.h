// OomKills: the number of processes of this control group that the kernel has killed
// because memory ran out.
//
// A wait status does not tell who sent a SIGKILL. If this count has grown meanwhile, the
// sender was probably the kernel.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_OOM_KILLS_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_OOM_KILLS_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"

namespace understudy::internal {

// Reads the count of the group that the file `membership` names, of cgroup version 2
// (memory.events) or 1 (memory.oom_control). Returns nullopt if the platform has no such
// count. Any thread.
absl::optional<int64_t> OomKills(const std::string& membership = "/proc/self/cgroup",
                                 const std::string& root = "/sys/fs/cgroup");

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_OOM_KILLS_H_
