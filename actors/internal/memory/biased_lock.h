// BiasedLock: a lock that is almost free for one thread, its owner, which takes
// and releases it all the time, and expensive for other threads, which revoke
// ("seize") it rarely.
//
// The owner is a worker. It holds the lock while it runs kernel code and
// releases it around user code. The watchdog can seize the lock only while the
// worker is in user code: to fence an actor whose handler does not return, or to
// take over what the worker owns.
//
// Invariants:
// 1. The owner's kernel code and a seizure never overlap.
// 2. What the owner did before Release happens before a seizure that follows;
//    what the seizer did before EndSeizure happens before the return of the
//    owner's next Acquire.
// 3. A seizer never waits: TrySeize fails if the owner is in kernel code.
//
// Why it holds (Dekker, with asymmetric barriers): the owner, in Acquire, stores
// `owner_`, then loads `seizer_`; the seizer, in TrySeize, stores `seizer_`, then
// loads `owner_`. LightBarrier in Acquire and HeavyBarrier in TrySeize guarantee
// that at least one of the two threads sees the other's store. If the seizer sees
// kInside, it ends the seizure and fails; an owner that saw kSeized waits for
// that. If only the owner sees the other's store, it waits for EndSeizure.
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
  // The lock is held at first, by the constructing thread or by the thread that
  // this one makes the owner.
  BiasedLock() = default;
  BiasedLock(const BiasedLock&) = delete;
  BiasedLock& operator=(const BiasedLock&) = delete;

  // Owner, while it holds the lock. Until Acquire it must not touch anything that
  // the lock guards.
  void Release() {
    // release: pairs with the acquire of TrySeize's load of owner_.
    owner_.store(kOutside, std::memory_order_release);
  }

  // Owner, while it does not hold the lock. Waits until the present seizure, if any, has ended.
  void Acquire() {
    // relaxed: a TrySeize that reads kInside fails, and then reads nothing that the owner wrote.
    owner_.store(kInside, std::memory_order_relaxed);
    Atomics::LightBarrier();  // pairs with TrySeize's heavy one
    // acquire: pairs with EndSeizure's release store of seizer_, so the owner sees
    // what the last seizer did.
    if (ABSL_PREDICT_FALSE(seizer_.load(std::memory_order_acquire) != kNobody)) {
      Atomics::WaitWhile(seizer_, kSeized);  // acquire, for the same pair
    }
  }

  // Any thread but the owner. If true, the caller holds the lock until it calls
  // EndSeizure. False if the owner holds the lock or another thread has seized it.
  [[nodiscard]] bool TrySeize() {
    // relaxed: an early exit that saves the heavy barrier; the load below decides.
    if (owner_.load(std::memory_order_relaxed) != kOutside) return false;
    uint32_t nobody = kNobody;
    // acquire: pairs with EndSeizure's release by an earlier seizer.
    if (!seizer_.compare_exchange_strong(nobody, kSeized, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;
    }
    Atomics::HeavyBarrier();  // pairs with Acquire's light one
    // acquire: pairs with Release's release store of owner_, so the seizer sees
    // what the owner did in kernel code.
    if (owner_.load(std::memory_order_acquire) == kOutside) return true;
    EndSeizure();
    return false;
  }

  // The seizer. The owner's next Acquire, or the next seizer, sees what it did.
  void EndSeizure() {
    // release: pairs with the acquire load of seizer_ in Acquire, and with the
    // compare-and-swap of the next TrySeize.
    seizer_.store(kNobody, std::memory_order_release);
    Atomics::WakeAll(seizer_);
  }

  // Any thread. On threads other than the owner the value may be stale.
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
