// ProcessLimits: what an operating-system process may use at most.
//
// A value. They hold from just after the process has been started, for what it
// starts too, and it cannot raise them.
#ifndef UNDERSTUDY_ACTORS_PROCESS_LIMITS_H_
#define UNDERSTUDY_ACTORS_PROCESS_LIMITS_H_

#include <cstdint>

namespace understudy {

struct ProcessLimits {
  // Of memory that is its own and that it may write (RLIMIT_DATA: heap, stacks,
  // private mappings), in bytes; beyond it, to get more fails. 0: no limit but
  // ours. Each thread's stack counts with its whole size.
  int64_t memory_bytes = 0;
  // Open files, sockets and the like (RLIMIT_NOFILE). 0: no limit but ours. A
  // node needs some 30.
  int64_t open_files = 0;
  friend bool operator==(const ProcessLimits&, const ProcessLimits&) = default;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PROCESS_LIMITS_H_
