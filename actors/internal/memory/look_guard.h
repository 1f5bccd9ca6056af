// LookGuard: lets a thread read what an owner is about to destroy, at no cost to an owner that destroys nothing.
//
// A looker names an object, then reads what the object has published. The owner first withdraws what it has published,
// then calls AwaitEnd, then destroys it. Both barriers together make sure of one of two things: the looker sees that
// the thing was withdrawn, or the owner sees the looker and waits until it has read. This is a hazard pointer (M.
// Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004) whose barrier is the looker's alone,
// and for which the owner waits, because what it destroys must be destroyed in its own turn.
//
//   looker:  guard.Begin(&object);              owner:  published.store(after, release);
//            T* it = published.load(acquire);           guard.AwaitEnd(&object);
//            … *it …                                    delete before;
//            guard.End();
//
// Threads: one looker at a time; an object has one owner at a time.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_LOOK_GUARD_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_LOOK_GUARD_H_

#include <atomic>
#include <cstdint>

#include "absl/base/optimization.h"
#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

template <class Atomics = StdAtomics>
class LookGuard {
 public:
  LookGuard() = default;
  LookGuard(const LookGuard&) = delete;
  LookGuard& operator=(const LookGuard&) = delete;

  // Looker. What is published after this call stays until End. Takes some microseconds.
  void Begin(const void* object) {
    // relaxed: the barrier orders this store before what the looker loads next; it pairs with the one in AwaitEnd.
    looked_at_.store(Number(object), std::memory_order_relaxed);
    Atomics::HeavyBarrier();
  }
  // Looker. It has read what it wanted, and must be short about it: the owner may be waiting.
  void End() {
    // release: pairs with the acquire loads in AwaitEnd, so the reads happen before what the owner destroys.
    looked_at_.store(0, std::memory_order_release);
    Atomics::WakeAll(looked_at_);
  }
  // Owner, after it has withdrawn what it is about to destroy. Waits while a looker reads `object`.
  void AwaitEnd(const void* object) {
    Atomics::LightBarrier();
    // acquire: pairs with End's release.
    const uint64_t looked_at = looked_at_.load(std::memory_order_acquire);
    if (ABSL_PREDICT_FALSE(looked_at == Number(object))) (void)Atomics::WaitWhile(looked_at_, looked_at);
  }

 private:
  static uint64_t Number(const void* object) { return reinterpret_cast<uintptr_t>(object); }

  typename Atomics::template Atomic<uint64_t> looked_at_{0};  // 0: nothing
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_LOOK_GUARD_H_
