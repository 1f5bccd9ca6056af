#include "understudy/actors/internal/scheduling/signal_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace understudy::internal {
namespace {

// The guard pages below the stack of this thread, where any access faults.
struct Guard {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};
// initial-exec: the variable's offset is known when the program is loaded, so a signal handler may read it.
constinit thread_local Guard guard __attribute__((tls_model("initial-exec")));

Guard FindGuard() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* lowest = nullptr;
  size_t stack_bytes = 0;
  size_t guard_bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &stack_bytes);
  pthread_attr_getguardsize(&attributes, &guard_bytes);
  pthread_attr_destroy(&attributes);
  const auto end = reinterpret_cast<uintptr_t>(lowest);
  return {.begin = end - guard_bytes, .end = end};
}

// Enough for the chain of handlers, some of which print a stack trace.
size_t BytesWanted() {
  constexpr long kBytesMin = 64 << 10;
  return static_cast<size_t>(std::max(kBytesMin, sysconf(_SC_SIGSTKSZ)));
}

}  // namespace

SignalStack::SignalStack() {
  guard = FindGuard();
  stack_t present;
  if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  bytes_ = BytesWanted();
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  const stack_t own = {.ss_sp = memory_, .ss_flags = 0, .ss_size = bytes_};
  sigaltstack(&own, nullptr);
}

SignalStack::~SignalStack() {
  guard = {};
  if (memory_ == nullptr) return;
  const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
  munmap(memory_, bytes_);
}

bool SignalStack::IsOverflow(uintptr_t address) { return address >= guard.begin && address < guard.end; }

}  // namespace understudy::internal
