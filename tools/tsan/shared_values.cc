// Tells ThreadSanitizer that the last owner of a shared value destroys it after all other owners have let go of it.
//
// absl::Status, absl::Cord and std::exception_ptr count their owners in libraries that are not instrumented. Without
// these definitions, which the dynamic linker finds before the libraries', the destruction by the last owner would be
// reported as a race with the accesses of the others.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace {

template <typename Function>
Function* Real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    fprintf(stderr, "tools/tsan/shared_values: no %s\n", name);
    abort();
  }
  return reinterpret_cast<Function*>(found);
}

// The lock that orders all calls that may destroy this exception object. Many objects share each of the 64 locks. The
// locks are recursive, since an exception's destructor may release another exception. An exception's destructor that
// waits for another thread to release an exception may hang here.
std::recursive_mutex& LockOf(const void* object) {
  static auto* const locks = new std::recursive_mutex[64];
  return locks[(reinterpret_cast<uintptr_t>(object) >> 4) % 64];
}

}  // namespace

namespace absl {

// A copy of the definition in Abseil's status.cc, compiled with instrumentation.
void Status::UnrefNonInlined(uintptr_t rep_in) {
  status_internal::StatusRep* rep = RepToPointer(rep_in);
  if (rep->ref.load(std::memory_order_acquire) == 1 || rep->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete rep;
  }
}

// A copy of the definition in Abseil's cord.cc, compiled with instrumentation.
void Cord::DestroyCordSlow() {
  if (cord_internal::CordRep* tree = contents_.tree()) {
    cord_internal::CordzInfo::MaybeUntrackCord(contents_.cordz_info());
    cord_internal::CordRep::Unref(tree);
  }
}

}  // namespace absl

namespace std::__exception_ptr {

void exception_ptr::_M_release() noexcept {
  static auto* const real = Real<void(exception_ptr*)>("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
  std::lock_guard lock(LockOf(_M_exception_object));
  real(this);
}

}  // namespace std::__exception_ptr

// The end of a catch block releases the exception, and destroys it if no exception_ptr holds it.
extern "C" void __cxa_end_catch() {
  static auto* const real = Real<void()>("__cxa_end_catch");
  std::exception_ptr current = std::current_exception();  // keeps the object alive until the lock is released
  if (current == nullptr) return real();
  const void* object = *reinterpret_cast<const void* const*>(&current);
  std::lock_guard lock(LockOf(object));
  real();
}
