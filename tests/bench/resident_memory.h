// ResidentBytes: the resident memory of this process now.
#ifndef UNDERSTUDY_TESTS_BENCH_RESIDENT_MEMORY_H_
#define UNDERSTUDY_TESTS_BENCH_RESIDENT_MEMORY_H_

#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "understudy/actors/check.h"

namespace understudy::bench {

// Reads /proc/self/statm, which counts whole pages. Any thread.
inline int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  UNDERSTUDY_CHECK(resident_pages > 0, "/proc/self/statm does not say what is resident");
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_RESIDENT_MEMORY_H_
