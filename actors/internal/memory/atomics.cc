#include "understudy/actors/internal/memory/atomics.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "understudy/actors/check.h"

namespace understudy::internal {
namespace {

bool Membarrier(int command) { return syscall(__NR_membarrier, command, 0, 0) == 0; }

}  // namespace

bool StdAtomics::Register() {
#ifdef UNDERSTUDY_INTERNAL_TSAN
  return false;  // TSan does not model membarrier(2); fences on both sides give the same order
#else
  if (!Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) return false;
  light_is_free_.store(true, std::memory_order_relaxed);
  return true;
#endif
}

bool StdAtomics::PrepareBarriers() {
  static const bool is_registered = Register();
  return is_registered;
}

void StdAtomics::HeavyBarrier() {
  // Does not read `light_is_free_`: its relaxed load could return a stale false here and skip membarrier(2), while
  // other threads that read true already rely on that call.
  if (!PrepareBarriers()) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return;
  }
  if (Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // The registration belongs to the address space: a forked child has to repeat it.
  UNDERSTUDY_CHECK(
      Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED),
      "membarrier worked before and fails now, errno ", errno,
      "; a seccomp filter must be installed before the system");
}

}  // namespace understudy::internal
