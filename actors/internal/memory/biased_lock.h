// BiasedLock: a lock that one thread takes and gives back all the time, almost
// for free, and others rarely, dearly.
//
// A worker holds it while it runs kernel code and releases it around user code.
// The watchdog may seize it only while the worker is in user code: to fence an
// actor whose handler does not return, or to take over what the worker owns.
//
// Invariants:
// 1. The owner's kernel code and a seizure never overlap.
// 2. What the owner did before Release happens before a seizure that follows;
//    what the seizer did before EndSeizure happens before the return of the
//    owner's next Acquire.
// 3. A seizer never waits: it finds the owner in the kernel, and gives up.
//
// Why it holds: Acquire stores `owner_`, then loads `seizer_`; TrySeize stores
// `seizer_`, then loads `owner_`. The barriers between them let at least one
// see the other's store. If both do, the seizer gives up and the owner waits for
// that. If only the seizer does, the same. If only the owner does, it waits.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BIASED_LOCK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BIASED_LOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/base/optimization.h"
#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

template <class Atomics = StdAtomics>
class BiasedLock {
 public:
  // The constructing thread, or the one that it hands the lock to, holds it.
  BiasedLock() = default;
  BiasedLock(const BiasedLock&) = delete;
  BiasedLock& operator=(const BiasedLock&) = delete;

  // Owner, held: from here on it touches nothing that the lock guards.
  void Release() {
    // release: pairs with the acquire of TrySeize's load of owner_.
    owner_.store(kOutside, std::memory_order_release);
  }

  // Owner, not held. Waits while a seizure lasts.
  void Acquire() {
    // relaxed: a failed TrySeize reads nothing that the owner wrote.
    owner_.store(kInside, std::memory_order_relaxed);
    Atomics::LightBarrier();  // pairs with TrySeize's heavy one
    // acquire: pairs with EndSeizure's release.
    if (ABSL_PREDICT_FALSE(seizer_.load(std::memory_order_acquire) != kNobody)) {
      Atomics::WaitWhile(seizer_, kSeized);  // acquire, the same
    }
  }

  // Any thread but the owner. True: the caller holds it until EndSeizure. False:
  // the owner is in the kernel, or there is a seizure already; try again later.
  [[nodiscard]] bool TrySeize() {
    // relaxed: a guess, which saves the barrier where it would be in vain.
    if (owner_.load(std::memory_order_relaxed) != kOutside) return false;
    uint32_t nobody = kNobody;
    // acquire: pairs with EndSeizure's release by an earlier seizer.
    if (!seizer_.compare_exchange_strong(nobody, kSeized, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;
    }
    Atomics::HeavyBarrier();  // pairs with Acquire's light one
    // acquire: pairs with Release's release.
    if (owner_.load(std::memory_order_acquire) == kOutside) return true;
    EndSeizure();
    return false;
  }

  // The seizer. What it did is the owner's from now on.
  void EndSeizure() {
    // release: pairs with the acquire in Acquire, and of the next TrySeize.
    seizer_.store(kNobody, std::memory_order_release);
    Atomics::WakeAll(seizer_);
  }

  // Any thread; what another thread learns may be old.
  bool IsHeldByOwner() const { return owner_.load(std::memory_order_relaxed) == kInside; }

 private:
  static constexpr uint32_t kOutside = 0;
  static constexpr uint32_t kInside = 1;
  static constexpr uint32_t kNobody = 0;
  static constexpr uint32_t kSeized = 1;

  typename Atomics::template Atomic<uint32_t> owner_{kInside};
  typename Atomics::template Atomic<uint32_t> seizer_{kNobody};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BIASED_LOCK_H_
