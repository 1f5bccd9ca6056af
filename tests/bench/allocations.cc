#include "understudy/tests/bench/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDERSTUDY_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define UNDERSTUDY_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef UNDERSTUDY_COUNTS_ALLOCATIONS
#define UNDERSTUDY_COUNTS_ALLOCATIONS 1
#endif

namespace understudy::bench {
namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

bool CountsAllocations() { return UNDERSTUDY_COUNTS_ALLOCATIONS != 0; }
int64_t AllocationCount() { return allocations.load(std::memory_order_relaxed); }

}  // namespace understudy::bench

#if UNDERSTUDY_COUNTS_ALLOCATIONS

namespace {

void Count() { understudy::bench::allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  Count();
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  Count();
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}

}  // extern "C"

#endif  // UNDERSTUDY_COUNTS_ALLOCATIONS
