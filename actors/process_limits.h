// ProcessLimits: bounds on the resources of an operating-system process.
//
// A plain value. The limits apply from just after the process has been started; its
// own child processes inherit them, and it cannot raise them.
#ifndef UNDERSTUDY_ACTORS_PROCESS_LIMITS_H_
#define UNDERSTUDY_ACTORS_PROCESS_LIMITS_H_

#include <cstdint>

namespace understudy {

struct ProcessLimits {
  // Private writable memory in bytes (RLIMIT_DATA: heap, stacks, private mappings). An
  // allocation beyond the limit fails. Each thread's stack counts with its whole size.
  // 0 leaves the limit of this process in force.
  int64_t memory_bytes = 0;
  // Open files, sockets and the like (RLIMIT_NOFILE); a node needs some 30. 0 leaves
  // the limit of this process in force.
  int64_t open_files = 0;
  friend bool operator==(const ProcessLimits&, const ProcessLimits&) = default;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PROCESS_LIMITS_H_
