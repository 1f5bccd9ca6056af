// AllocationCount: how many times this process has called malloc.
//
// A program that links :allocations has its own malloc, calloc, realloc, aligned_alloc and posix_memalign, which count
// and call glibc's; operator new is counted through them. Not for builds with a sanitizer, which replaces malloc
// itself.
#ifndef UNDERSTUDY_TESTS_BENCH_ALLOCATIONS_H_
#define UNDERSTUDY_TESTS_BENCH_ALLOCATIONS_H_

#include <cstdint>

namespace understudy::bench {

// Returns false in a build with a sanitizer; AllocationCount() then stays 0.
bool CountsAllocations();
// The calls of all threads since the process started. Any thread.
int64_t AllocationCount();

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_ALLOCATIONS_H_
