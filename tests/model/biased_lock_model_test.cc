// Explores BiasedLock (actors/internal/memory/biased_lock.h). The owner's kernel code and a seizure never overlap, and
// each of the two sees every write that the other made before.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/biased_lock.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::BiasedLock;
using ::testing::HasSubstr;

struct WithoutHeavyBarrier : ModelAtomics {
  static void HeavyBarrier() {}
};
struct WithoutLightBarrier : ModelAtomics {
  static void LightBarrier() {}
};
struct WithoutWaking : ModelAtomics {
  template <class T>
  static void WakeAll(ModelAtomic<T>&) {}
};

// The bug: TrySeize loads `owner` only once, before it takes the lock, and not again after the heavy barrier.
struct WithoutSecondLook {
  using Policy = ModelAtomics;
  void Release() { owner.store(0, std::memory_order_release); }
  void Acquire() {
    owner.store(1, std::memory_order_relaxed);
    Policy::LightBarrier();
    if (seizer.load(std::memory_order_acquire) != 0) Policy::WaitWhile(seizer, 1);
  }
  bool TrySeize() {
    if (owner.load(std::memory_order_acquire) != 0) return false;
    int nobody = 0;
    if (!seizer.compare_exchange_strong(nobody, 1, std::memory_order_acquire, std::memory_order_relaxed)) return false;
    Policy::HeavyBarrier();
    return true;
  }
  void EndSeizure() {
    seizer.store(0, std::memory_order_release);
    Policy::WakeAll(seizer);
  }
  ModelAtomic<int> owner{1};
  ModelAtomic<int> seizer{0};
};

template <class Lock>
struct Guarded {
  Lock lock;
  ModelPlain<int> state{0};  // changed only with the lock held, so two holders at a time are a race
  int owner_changes = 0;
  int seizures = 0;
};

// The owner leaves and enters the kernel `rounds` times; each of `seizers` threads tries to seize the lock `tries`
// times.
template <class Lock>
Outcome ExploreLock(const Bounds& bounds, int rounds, int tries, int seizers = 2) {
  return Explore(bounds, [=](Program& program) {
    auto guarded = std::make_shared<Guarded<Lock>>();
    program.Name(guarded->lock, "lock");
    program.Name(guarded->state, "state");
    program.Thread("owner", [guarded, rounds] {
      for (int i = 0; i < rounds; ++i) {
        guarded->state = guarded->state + 1;
        ++guarded->owner_changes;
        guarded->lock.Release();
        guarded->lock.Acquire();
      }
      guarded->state = guarded->state + 1;
      ++guarded->owner_changes;
    });
    auto seized = std::make_shared<std::vector<int>>(seizers);
    for (int seizer = 0; seizer < seizers; ++seizer) {
      program.Thread("seizer", [guarded, seized, seizer, tries] {
        for (int i = 0; i < tries; ++i) {
          if (!guarded->lock.TrySeize()) continue;
          guarded->state = guarded->state + 1;
          ++(*seized)[static_cast<size_t>(seizer)];
          guarded->lock.EndSeizure();
        }
      });
    }
    program.AtEnd([guarded, seized, rounds] {
      int seizures = 0;
      for (const int each : *seized) seizures += each;
      Expect(guarded->state == rounds + 1 + seizures, "nothing that was done under the lock is lost");
    });
  });
}

TEST(BiasedLockModelTest, OwnerAndSeizersExcludeEachOther) {
  const Outcome outcome = ExploreLock<BiasedLock<ModelAtomics>>({}, 1, 1);
  ExpectHolds(outcome, 10'000);
}

TEST(BiasedLockModelTest, AlsoOneSeizerWhoTriesAgain) {
  const Outcome outcome = ExploreLock<BiasedLock<ModelAtomics>>({}, 2, 2, 1);
  ExpectHolds(outcome, 14'000);
}

TEST(BiasedLockModelTest, AlsoWithMoreRoundsAndAtMostThreePreemptions) {
  const Outcome outcome = ExploreLock<BiasedLock<ModelAtomics>>({.preemptions_max = 3, .old_reads_max = 1}, 3, 2);
  ExpectHolds(outcome, 70'000);
}

TEST(BiasedLockModelTest, ASeizureHappensInSomeSchedules) {
  // The other tests would pass too if no TrySeize ever succeeded.
  bool was_seized = false;
  (void)Explore({}, [&](Program& program) {
    auto lock = std::make_shared<BiasedLock<ModelAtomics>>();
    program.Thread("owner", [lock] { lock->Release(), lock->Acquire(); });
    program.Thread("seizer", [lock, &was_seized] {
      if (!lock->TrySeize()) return;
      was_seized = true;
      lock->EndSeizure();
    });
  });
  EXPECT_TRUE(was_seized);
}

TEST(BiasedLockModelTest, AMissingBarrierIsFoundOnEitherSide) {
  EXPECT_THAT(ExploreLock<BiasedLock<WithoutHeavyBarrier>>({}, 1, 1, 1).failure, HasSubstr("race: "));
  EXPECT_THAT(ExploreLock<BiasedLock<WithoutLightBarrier>>({}, 1, 1, 1).failure, HasSubstr("race: "));
}

TEST(BiasedLockModelTest, ASeizerThatDoesNotLookAgainIsFound) {
  EXPECT_THAT(ExploreLock<WithoutSecondLook>({}, 1, 1, 1).failure, HasSubstr("race: "));
}

TEST(BiasedLockModelTest, AMissingWakeUpIsFound) {
  EXPECT_THAT(ExploreLock<BiasedLock<WithoutWaking>>({}, 1, 1, 1).failure, HasSubstr("nobody can go on"));
}

TEST(BiasedLockModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT(ExploreLock<BiasedLock<WithoutRelease>>({}, 1, 1, 1).failure, HasSubstr("race: "));
  EXPECT_THAT(ExploreLock<BiasedLock<WithoutAcquire>>({}, 1, 1, 1).failure, HasSubstr("race: "));
}

}  // namespace
}  // namespace understudy::model
