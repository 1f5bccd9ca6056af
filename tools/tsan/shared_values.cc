// Tells ThreadSanitizer what the last owner of a shared value may do.
//
// absl::Status, absl::Cord and std::exception_ptr count their owners in libraries that are not instrumented. Without
// these definitions, which come before the libraries', whoever drops the last share would seem to race with all others.

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

// Orders everything that may destroy one exception object. Few locks for many objects: an exception's destructor may
// drop another exception, so they are recursive; a destructor that waits for another thread's would hang here.
std::recursive_mutex& LockOf(const void* object) {
  static auto* const locks = new std::recursive_mutex[64];
  return locks[(reinterpret_cast<uintptr_t>(object) >> 4) % 64];
}

}  // namespace

namespace absl {

// As in status.cc.
void Status::UnrefNonInlined(uintptr_t rep_in) {
  status_internal::StatusRep* rep = RepToPointer(rep_in);
  if (rep->ref.load(std::memory_order_acquire) == 1 || rep->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete rep;
  }
}

// As in cord.cc.
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

// The end of a catch block drops a share of the exception, or the last one.
extern "C" void __cxa_end_catch() {
  static auto* const real = Real<void()>("__cxa_end_catch");
  std::exception_ptr current = std::current_exception();  // dropped last, and not in here
  if (current == nullptr) return real();
  const void* object = *reinterpret_cast<const void* const*>(&current);
  std::lock_guard lock(LockOf(object));
  real();
}
