// StdAtomics: what lock-free code of the kernel takes as its template parameter
// `Atomics`. tests/model has another one, under which a checker walks through
// every interleaving of such code.
//
// A policy has
//   Atomic<T>          std::atomic<T>, or what has its interface.
//   Plain<T>           a variable that is not atomic: read by conversion,
//                      written by assignment. Here it is T itself; the checker
//                      reports two threads that touch it unordered.
//   LightBarrier()     Together they order a store before a later load on both
//   HeavyBarrier()     sides: of a thread that does { store A; LightBarrier();
//                      load B } and one that does { store B; HeavyBarrier();
//                      load A }, at least one sees the other's store. The light
//                      one costs nothing, the heavy one microseconds: for a
//                      path that is run always against one that is run rarely.
//   WaitWhile(a, v)    Returns once `a` was seen to hold another value than v,
//                      with acquire order, and gives that value.
//   WakeAll(a)         After each store that may end a WaitWhile on `a`.
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

  // Registers the process with the kernel, once. False when it refuses (a
  // seccomp filter, an old kernel): then both barriers are fences. Any thread,
  // any number of times; before the first call LightBarrier is a fence too, so
  // a system calls it before its workers start.
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
  static constexpr int kSpins = 100;  // about as long as a short seizure
  static bool Register();

  // True only when HeavyBarrier makes every thread pass a barrier. It goes from
  // false to true at most once; a thread that still sees false does too much.
  static inline std::atomic<bool> light_is_free_{false};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_ATOMICS_H_
