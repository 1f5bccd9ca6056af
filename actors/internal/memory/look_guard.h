// LookGuard: lets a thread, the looker, read a value that its owner may be about to destroy, at no cost to an owner
// that destroys nothing.
//
// The looker announces the object that has the value by its address (Begin), and then reads what the object has
// published. The owner first withdraws the published value, then calls AwaitEnd, and then destroys the value. The
// looker's heavy barrier and the owner's light barrier together ensure that either the looker sees that the value was
// withdrawn, or the owner sees the announcement and waits until the looker has read. This is a hazard pointer (M.
// Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004) with two differences: only the
// looker pays for the expensive barrier, and the owner waits instead of deferring the destruction, because the value
// must be destroyed in the owner's own turn.
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

  // Called by the looker. A value that the looker loads after this call stays valid until End. Takes some microseconds.
  void Begin(const void* object) {
    // relaxed: the heavy barrier orders this store before the loads that the looker makes next; it pairs with the light
    // barrier in AwaitEnd.
    looked_at_.store(Number(object), std::memory_order_relaxed);
    Atomics::HeavyBarrier();
  }
  // Called by the looker when it has read. It should call this soon, because the owner may be waiting.
  void End() {
    // release: pairs with the acquire loads in AwaitEnd, so the looker's reads happen before the owner destroys the
    // value.
    looked_at_.store(0, std::memory_order_release);
    Atomics::WakeAll(looked_at_);
  }
  // Called by the owner after it has withdrawn the value that it is about to destroy. Waits while a looker reads
  // `object`.
  void AwaitEnd(const void* object) {
    Atomics::LightBarrier();
    // acquire: pairs with the release store in End.
    const uint64_t looked_at = looked_at_.load(std::memory_order_acquire);
    if (ABSL_PREDICT_FALSE(looked_at == Number(object))) (void)Atomics::WaitWhile(looked_at_, looked_at);
  }

 private:
  static uint64_t Number(const void* object) { return reinterpret_cast<uintptr_t>(object); }

  typename Atomics::template Atomic<uint64_t> looked_at_{0};  // the address of the object; 0: no looker reads
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_LOOK_GUARD_H_
