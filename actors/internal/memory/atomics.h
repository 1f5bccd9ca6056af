// StdAtomics: the default template argument `Atomics` of the kernel's lock-free
// classes. tests/model has another policy, with which a model checker explores
// every interleaving of these classes.
//
// A policy has
//   Atomic<T>          std::atomic<T>, or a class with its interface.
//   Plain<T>           a variable that is not atomic: read by conversion,
//                      written by assignment. Here it is T itself; the checker
//                      reports unordered accesses by two threads as a race.
//   LightBarrier()     An asymmetric pair of store-load barriers. If thread 1
//   HeavyBarrier()     does { store A; LightBarrier(); load B } and thread 2
//                      does { store B; HeavyBarrier(); load A }, at least one
//                      of them sees the other's store. LightBarrier is free and
//                      belongs on the path that runs often; HeavyBarrier costs
//                      microseconds and belongs on the path that runs rarely.
//   WaitWhile(a, v)    Blocks while `a` holds v; returns the other value that it
//                      then loaded, with acquire order.
//   WakeAll(a)         Wakes all WaitWhile on `a`. Call it after each store that
//                      may end one.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_ATOMICS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_ATOMICS_H_

#include <atomic>

#include "absl/base/optimization.h"
#include "understudy/actors/internal/memory/slow_path.h"

#if defined(__SANITIZE_THREAD__)
#define UNDERSTUDY_INTERNAL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDERSTUDY_INTERNAL_TSAN 1
#endif
#endif

namespace understudy::internal {

struct StdAtomics {
  template <class T>
  using Atomic = std::atomic<T>;
  template <class T>
  using Plain = T;

  // Registers the process for membarrier(2), once. Returns false if the
  // operating system refuses (a seccomp filter, an old kernel); then both
  // barriers are seq_cst fences. Any thread, any number of times. LightBarrier is
  // a fence before the first call, so a system calls this before its workers
  // start.
  static bool PrepareBarriers();

  static void LightBarrier() {
    if (ABSL_PREDICT_TRUE(light_is_free_.load(std::memory_order_relaxed))) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  static void HeavyBarrier();

  template <class T>
  UNDERSTUDY_SLOW_PATH static T WaitWhile(const std::atomic<T>& atomic, T value) {
    for (int i = 0; i < kSpins; ++i) {
      const T seen = atomic.load(std::memory_order_acquire);
      if (seen != value) return seen;
    }
    for (;;) {
      atomic.wait(value, std::memory_order_acquire);
      const T seen = atomic.load(std::memory_order_acquire);
      if (seen != value) return seen;
    }
  }
  template <class T>
  static void WakeAll(std::atomic<T>& atomic) {
    atomic.notify_all();
  }

 private:
  static constexpr int kSpins = 100;  // lasts about as long as a short seizure of a BiasedLock
  static bool Register();

  // True only when HeavyBarrier makes every thread pass a barrier. It goes from
  // false to true at most once. A thread that still reads false issues a fence
  // that it does not need, which is correct.
  static inline std::atomic<bool> light_is_free_{false};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_ATOMICS_H_
