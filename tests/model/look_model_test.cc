// Explores LookGuard (actors/internal/memory/look_guard.h): a looker never reads an object that its owner has
// destroyed, and the owner waits for the looker only while the looker reads.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/look_guard.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::LookGuard;
using ::testing::AnyOf;
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

// The bug: the owner does not wait for the looker.
struct WithoutWaiting : LookGuard<ModelAtomics> {
  void AwaitEnd(const void* /*object*/) {}
};

// The behaviors of an actor, of which one is current. A write to a behavior stands for its destruction.
template <class Guard, class Atomics>
struct Owned {
  Guard guard;
  std::array<ModelPlain<int>, 3> behaviors{7, 7, 7};
  typename Atomics::template Atomic<uint64_t> current{1};  // the current behavior, counted from 1; 0: none
};

// The owner changes to another behavior and destroys the one before, `changes` times, and has none in the end.
// Meanwhile another thread looks at the current behavior `looks` times.
template <class Guard, class Atomics = ModelAtomics>
Outcome ExploreLooks(const Bounds& bounds, uint64_t changes, int looks) {
  return Explore(bounds, [=](Program& program) {
    auto owned = std::make_shared<Owned<Guard, Atomics>>();
    program.Name(owned->guard, "guard");
    program.Name(owned->behaviors, "behaviors");
    program.Name(owned->current, "current");
    program.Thread("owner", [owned, changes] {
      for (uint64_t now = 1; now <= changes; ++now) {
        owned->current.store(now == changes ? 0 : now + 1, std::memory_order_release);
        owned->guard.AwaitEnd(owned.get());
        owned->behaviors[now - 1] = 0;
      }
    });
    program.Thread("looker", [owned, looks] {
      for (int i = 0; i < looks; ++i) {
        owned->guard.Begin(owned.get());
        const uint64_t current = owned->current.load(std::memory_order_acquire);
        if (current != 0) Expect(owned->behaviors[current - 1] == 7, "it is not destroyed");
        owned->guard.End();
      }
    });
  });
}

TEST(LookModelTest, ALookerReadsNothingThatIsDestroyed) {
  ExpectHolds(ExploreLooks<LookGuard<ModelAtomics>>({}, 2, 1), 10);
  ExpectHolds(ExploreLooks<LookGuard<ModelAtomics>>({.old_reads_max = 1}, 3, 2), 100);
}

TEST(LookModelTest, AMissingBarrierIsFoundOnEitherSide) {
  EXPECT_THAT(ExploreLooks<LookGuard<WithoutHeavyBarrier>>({}, 2, 1).failure,
              AnyOf(HasSubstr("race: "), HasSubstr("it is not destroyed")));
  EXPECT_THAT(ExploreLooks<LookGuard<WithoutLightBarrier>>({}, 2, 1).failure,
              AnyOf(HasSubstr("race: "), HasSubstr("it is not destroyed")));
}

TEST(LookModelTest, AnOwnerThatDoesNotWaitIsFound) {
  EXPECT_THAT(ExploreLooks<WithoutWaiting>({}, 2, 1).failure,
              AnyOf(HasSubstr("race: "), HasSubstr("it is not destroyed")));
}

TEST(LookModelTest, AMissingWakeUpIsFound) { EXPECT_NE(ExploreLooks<LookGuard<WithoutWaking>>({}, 2, 1).failure, ""); }

TEST(LookModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT(ExploreLooks<LookGuard<WithoutRelease>>({}, 2, 1).failure, HasSubstr("race: "));
  EXPECT_THAT(ExploreLooks<LookGuard<WithoutAcquire>>({}, 2, 1).failure, HasSubstr("race: "));
}

}  // namespace
}  // namespace understudy::model
