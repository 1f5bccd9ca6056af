// Tells ThreadSanitizer of the order between threads that Abseil's locks make.
//
// Debian's libabsl_synchronization is not instrumented: ThreadSanitizer would see no lock, and would report a race
// between any two critical sections, in gRPC as well. The dynamic linker finds the member functions defined here before
// the shared library's. Each calls the library's function of the same name between two annotations.
// ThreadSanitizer ignores memory accesses between a `pre` and its `post` annotation: the library's function may
// evaluate the conditions of other waiting threads there, on the thread that holds the lock.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdio.h>
#include <stdlib.h>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#pragma clang diagnostic ignored "-Wthread-safety"

// The inline namespace of Debian's build is part of each mangled name.
#define MANGLED(rest) "_ZN4absl7debian3" rest
#define MANGLED_CONST(rest) "_ZNK4absl7debian3" rest
// The library's function of that name. A name that is not found ends the process: passing over it would hide races.
#define REAL(result, name, parameters)                                            \
  ([]() -> result(*) parameters {                                                 \
    static auto* const real = reinterpret_cast<result(*) parameters>(Find(name)); \
    return real;                                                                  \
  }())

namespace {

void* Find(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    fprintf(stderr, "tools/tsan/absl_locks: no %s; is this another Abseil?\n", name);
    abort();
  }
  return found;
}

// Abseil's members call each other; only the outermost one is annotated.
thread_local int depth = 0;

class Outermost {
 public:
  Outermost() : yes_(depth++ == 0) {}
  ~Outermost() { --depth; }
  explicit operator bool() const { return yes_; }

 private:
  const bool yes_;
};

constexpr unsigned kWrite = 0;
constexpr unsigned kRead = __tsan_mutex_read_lock;

template <typename Call>
auto Acquiring(void* mu, unsigned mode, Call call) {
  Outermost outermost;
  if (outermost) __tsan_mutex_pre_lock(mu, mode);
  struct Post {
    void* mu;
    unsigned mode;
    bool annotate;
    ~Post() {
      if (annotate) __tsan_mutex_post_lock(mu, mode, 0);
    }
  } post{mu, mode, static_cast<bool>(outermost)};
  return call();
}

bool Trying(void* mu, unsigned mode, bool (*real)(void*)) {
  Outermost outermost;
  mode |= __tsan_mutex_try_lock;
  if (outermost) __tsan_mutex_pre_lock(mu, mode);
  bool held = real(mu);
  if (outermost) __tsan_mutex_post_lock(mu, held ? mode : mode | __tsan_mutex_try_lock_failed, 0);
  return held;
}

void Releasing(void* mu, unsigned mode, void (*real)(void*)) {
  Outermost outermost;
  if (outermost) __tsan_mutex_pre_unlock(mu, mode);
  real(mu);
  if (outermost) __tsan_mutex_post_unlock(mu, mode);
}

// Await and CondVar::Wait: the lock is released while the thread waits, and taken again. A thread that waits with the
// lock held for reading is annotated as if it held it for writing, since Abseil does not say which it was.
template <typename Call>
auto Waiting(void* mu, Call call) {
  if (depth == 0) {
    __tsan_mutex_pre_unlock(mu, kWrite);
    __tsan_mutex_post_unlock(mu, kWrite);
  }
  return Acquiring(mu, kWrite, call);
}

}  // namespace

namespace absl {

// Mutex, but for ReaderLockWhenWithTimeout and ReaderLockWhenWithDeadline, which nothing here calls.
using C = const Condition&;
Mutex::~Mutex() {
  REAL(void, MANGLED("5MutexD1Ev"), (void*))(this);
  __tsan_mutex_destroy(this, __tsan_mutex_not_static);
}
void Mutex::Lock() {
  Acquiring(this, kWrite, [&] { REAL(void, MANGLED("5Mutex4LockEv"), (void*))(this); });
}
void Mutex::Unlock() { Releasing(this, kWrite, REAL(void, MANGLED("5Mutex6UnlockEv"), (void*))); }
bool Mutex::TryLock() { return Trying(this, kWrite, REAL(bool, MANGLED("5Mutex7TryLockEv"), (void*))); }
void Mutex::ReaderLock() {
  Acquiring(this, kRead, [&] { REAL(void, MANGLED("5Mutex10ReaderLockEv"), (void*))(this); });
}
void Mutex::ReaderUnlock() { Releasing(this, kRead, REAL(void, MANGLED("5Mutex12ReaderUnlockEv"), (void*))); }
bool Mutex::ReaderTryLock() { return Trying(this, kRead, REAL(bool, MANGLED("5Mutex13ReaderTryLockEv"), (void*))); }
void Mutex::LockWhen(C c) {
  Acquiring(this, kWrite, [&] { REAL(void, MANGLED("5Mutex8LockWhenERKNS0_9ConditionE"), (void*, C))(this, c); });
}
bool Mutex::LockWhenWithTimeout(C c, Duration d) {
  auto* real = REAL(bool, MANGLED("5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE"), (void*, C, Duration));
  return Acquiring(this, kWrite, [&] { return real(this, c, d); });
}
bool Mutex::LockWhenWithDeadline(C c, Time t) {
  auto* real = REAL(bool, MANGLED("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE"), (void*, C, Time));
  return Acquiring(this, kWrite, [&] { return real(this, c, t); });
}
void Mutex::ReaderLockWhen(C c) {
  auto* real = REAL(void, MANGLED("5Mutex14ReaderLockWhenERKNS0_9ConditionE"), (void*, C));
  Acquiring(this, kRead, [&] { real(this, c); });
}
void Mutex::Await(C c) {
  Waiting(this, [&] { REAL(void, MANGLED("5Mutex5AwaitERKNS0_9ConditionE"), (void*, C))(this, c); });
}
bool Mutex::AwaitWithTimeout(C c, Duration d) {
  auto* real = REAL(bool, MANGLED("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE"), (void*, C, Duration));
  return Waiting(this, [&] { return real(this, c, d); });
}
bool Mutex::AwaitWithDeadline(C c, Time t) {
  auto* real = REAL(bool, MANGLED("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE"), (void*, C, Time));
  return Waiting(this, [&] { return real(this, c, t); });
}

// CondVar.
void CondVar::Wait(Mutex* mu) {
  Waiting(mu, [&] { REAL(void, MANGLED("7CondVar4WaitEPNS0_5MutexE"), (void*, Mutex*))(this, mu); });
}
bool CondVar::WaitWithTimeout(Mutex* mu, Duration d) {
  auto* real = REAL(bool, MANGLED("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE"), (void*, Mutex*, Duration));
  return Waiting(mu, [&] { return real(this, mu, d); });
}
bool CondVar::WaitWithDeadline(Mutex* mu, Time t) {
  auto* real = REAL(bool, MANGLED("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"), (void*, Mutex*, Time));
  return Waiting(mu, [&] { return real(this, mu, t); });
}

// Notification. HasBeenNotified is inline and reads the flag that Notify has set in the library.
void Notification::Notify() {
  __tsan_release(&notified_yet_);
  REAL(void, MANGLED("12Notification6NotifyEv"), (void*))(this);
}
void Notification::WaitForNotification() const {
  REAL(void, MANGLED_CONST("12Notification19WaitForNotificationEv"), (const void*))(this);
  __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
}
bool Notification::WaitForNotificationWithTimeout(Duration d) const {
  auto* real = REAL(bool, MANGLED_CONST("12Notification30WaitForNotificationWithTimeoutENS0_8DurationE"),
                    (const void*, Duration));
  bool notified = real(this, d);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}
bool Notification::WaitForNotificationWithDeadline(Time t) const {
  auto* real =
      REAL(bool, MANGLED_CONST("12Notification31WaitForNotificationWithDeadlineENS0_4TimeE"), (const void*, Time));
  bool notified = real(this, t);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}

// Counters.
bool BlockingCounter::DecrementCount() {
  __tsan_release(this);
  return REAL(bool, MANGLED("15BlockingCounter14DecrementCountEv"), (void*))(this);
}
void BlockingCounter::Wait() {
  REAL(void, MANGLED("15BlockingCounter4WaitEv"), (void*))(this);
  __tsan_acquire(this);
}
bool Barrier::Block() {
  __tsan_release(this);
  bool last = REAL(bool, MANGLED("7Barrier5BlockEv"), (void*))(this);
  __tsan_acquire(this);
  return last;
}

}  // namespace absl
