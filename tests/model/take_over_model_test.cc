// Explores the take-over of a stuck worker's slot and queue (semantics 5.13): each actor that was runnable there runs
// once, and none is left behind a handler that does not return.
//
// The model repeats the steps of actors/thread_pool*.cc, over the real ReadySlot, RunQueue and BiasedLock. An actor
// that is moved to the shared queue counts as run.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/biased_lock.h"
#include "understudy/actors/internal/scheduling/ready_slot.h"
#include "understudy/actors/internal/scheduling/run_queue.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::BiasedLock;
using internal::ReadySlot;
using internal::RunQueue;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Item {
  ModelPlain<int> runs{0};
};

enum class Bug {
  kNone,
  kWithoutSeizure,  // the watchdog takes the slot over without a seizure, while the owner may use it
  kSlotStaysInUse,  // actors that the handler makes runnable afterwards still go into the slot
  kSlotOnly,        // the watchdog takes the slot over, but leaves the queue
};

enum class Handler { kReturns, kIsStuckForEver };

template <Bug kBug, class Atomics>
struct Pool {
  static constexpr size_t kCapacity = 4;
  using Queue = RunQueue<Item, kCapacity, Atomics>;

  explicit Pool(size_t queued) {
    // When its handler begins, the worker has one actor in the slot and `queued` others in the queue.
    Expect(slot.Put(&items[0]) == nullptr, "the slot is empty");
    for (size_t i = 0; i < queued; ++i) Expect(queue.Push(&items[made++]), "there is room");
  }

  // The worker. In its handler it makes `schedules` more actors runnable.
  void Work(Handler handler, size_t schedules) {
    handlers.store(handlers.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    lock.Release();
    for (size_t i = 0; i < schedules; ++i) {
      lock.Acquire();
      Schedule(&items[made++]);
      lock.Release();
    }
    if (handler == Handler::kIsStuckForEver) return;
    lock.Acquire();
    if (slot.is_taken_over()) slot.GiveBack();
    Drain();
  }
  void Schedule(Item* item) {
    Item* displaced = item;
    if (kBug == Bug::kSlotStaysInUse && slot.is_taken_over()) {
      slot.GiveBack();
      displaced = slot.Put(item);
    } else {
      displaced = slot.Put(item);
    }
    if (displaced == nullptr) return;
    if (slot.is_taken_over() || !queue.Push(displaced)) owner_shared.push_back(displaced);
  }
  void Drain() {
    for (;;) {
      Item* item = slot.Take();
      if (item == nullptr) item = queue.Pop();
      if (item == nullptr) return;
      item->runs = item->runs + 1;
    }
  }

  // The watchdog, when the worker has been in its handler for too long.
  void TakeOver() {
    Item* next = nullptr;
    if (kBug == Bug::kWithoutSeizure) {
      next = slot.TakeOver();
    } else {
      if (!lock.TrySeize()) return;
      const bool is_first = handlers.load(std::memory_order_relaxed) == 1 && !slot.is_taken_over();
      if (is_first) next = slot.TakeOver();
      lock.EndSeizure();
      if (!is_first) return;
    }
    ++takeovers;
    if (next != nullptr) Take(next);
    if (kBug != Bug::kSlotOnly) Steal(watchdog_batch, 100);
  }
  // Called by another worker or by the watchdog.
  void Steal(typename Queue::Batch& batch, int times) {
    for (int i = 0; i < times; ++i) {
      const size_t count = queue.Steal(batch);
      if (count == 0) return;
      for (size_t k = 0; k < count; ++k) Take(batch[k]);
    }
  }
  // Counts the actor as run. The real code runs the actor, or gives it to a thread that does.
  void Take(Item* item) {
    Expect(item != nullptr, "the item is seen with its place");
    item->runs = item->runs + 1;
  }

  void Check(Handler handler) {
    if (handler == Handler::kIsStuckForEver && takeovers == 0) TakeOver();  // the watchdog tries until it succeeds
    for (Item* item : owner_shared) Take(item);
    for (size_t i = 0; i < made; ++i) Expect(items[i].runs == 1, "what was runnable runs once");
    Expect(queue.size() == 0, "the queue is empty");
  }

  BiasedLock<Atomics> lock;
  ReadySlot<Item, Atomics> slot;
  Queue queue;
  typename Atomics::template Atomic<uint64_t> handlers{0};
  std::array<Item, 6> items;
  size_t made = 1;                  // written by the owner
  std::vector<Item*> owner_shared;  // the owner's part of the shared queue
  typename Queue::Batch watchdog_batch;
  typename Queue::Batch thief_batch;
  int takeovers = 0;  // written by the watchdog
};

struct Script {
  Handler handler = Handler::kReturns;
  size_t queued = 1;
  size_t schedules = 1;
  int tries = 1;
  int steals = 1;
};

template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExplorePool(const Bounds& bounds, const Script& script, int* takeovers = nullptr) {
  return Explore(bounds, [=](Program& program) {
    auto pool = std::make_shared<Pool<kBug, Atomics>>(script.queued);
    program.Name(pool->lock, "lock");
    program.Name(pool->slot, "slot");
    program.Name(pool->queue, "queue");
    program.Name(pool->handlers, "handlers");
    for (size_t i = 0; i < pool->items.size(); ++i) program.Name(pool->items[i], "item " + std::to_string(i));
    program.Thread("worker", [pool, script] { pool->Work(script.handler, script.schedules); });
    program.Thread("watchdog", [pool, script] {
      for (int i = 0; i < script.tries && pool->takeovers == 0; ++i) pool->TakeOver();
    });
    if (script.steals > 0) program.Thread("thief", [pool, script] { pool->Steal(pool->thief_batch, script.steals); });
    program.AtEnd([pool, script, takeovers] {
      if (takeovers != nullptr) *takeovers += pool->takeovers;
      pool->Check(script.handler);
    });
  });
}

TEST(TakeOverModelTest, ARunnableActorRunsOnceWhileItsWorkerReturns) {
  int takeovers = 0;
  const Outcome outcome = ExplorePool<>({}, {.schedules = 0}, &takeovers);
  ExpectHolds(outcome, 3'000);
  EXPECT_GT(takeovers, 100);
  EXPECT_LT(takeovers, outcome.schedules);
}

TEST(TakeOverModelTest, AlsoWhenItsHandlerMakesAnActorRunnable) {
  if (!IsLongRun()) GTEST_SKIP() << "explored by .ci/long models";
  ExpectHolds(ExplorePool<>({}, {}), 1'000'000);
}

TEST(TakeOverModelTest, NothingIsLeftBehindAHandlerThatNeverReturns) {
  // semantics 5.13
  ExpectHolds(ExplorePool<>({}, {.handler = Handler::kIsStuckForEver}), 1'000);
}

TEST(TakeOverModelTest, AlsoWithMoreActorsAndAtMostThreePreemptions) {
  for (const Handler handler : {Handler::kReturns, Handler::kIsStuckForEver}) {
    ExpectHolds(ExplorePool<>({.preemptions_max = 3, .old_reads_max = 0},
                              {.handler = handler, .queued = 3, .schedules = 2, .tries = 2, .steals = 2}),
                30'000);
  }
}

TEST(TakeOverModelTest, ATakeOverWithoutASeizureIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kWithoutSeizure>({}, {.steals = 0}).failure, HasSubstr("race: "));
}

TEST(TakeOverModelTest, ASlotThatStaysInUseIsFound) {
  EXPECT_THAT(
      ExplorePool<Bug::kSlotStaysInUse>({}, {.handler = Handler::kIsStuckForEver, .schedules = 2, .steals = 0}).failure,
      HasSubstr("runs once"));
}

TEST(TakeOverModelTest, AQueueThatIsLeftBehindIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kSlotOnly>({}, {.handler = Handler::kIsStuckForEver, .steals = 0}).failure,
              HasSubstr("runs once"));
}

const auto kRaceOrLoss = AnyOf(HasSubstr("race: "), HasSubstr("is seen with its place"));

TEST(TakeOverModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT((ExplorePool<Bug::kNone, WithoutRelease>({}, {}).failure), kRaceOrLoss);
  EXPECT_THAT((ExplorePool<Bug::kNone, WithoutAcquire>({}, {}).failure), kRaceOrLoss);
}

// The queue alone: its owner pushes until it is full and round again, and pops.
template <class Atomics>
Outcome ExploreQueue(const Bounds& bounds, size_t pushes) {
  return Explore(bounds, [=](Program& program) {
    struct State {
      RunQueue<Item, 2, Atomics> queue;
      std::array<Item, 6> items;
    };
    auto state = std::make_shared<State>();
    program.Name(state->queue, "queue");
    program.Name(state->items, "items");
    program.Thread("owner", [state, pushes] {
      for (size_t i = 0; i < pushes; ++i) {
        Item* item = &state->items[i];
        item->runs = 0;
        if (state->queue.Push(item)) item = state->queue.size() > 1 ? state->queue.Pop() : nullptr;
        if (item != nullptr) item->runs = item->runs + 1;
      }
      while (Item* const item = state->queue.Pop()) item->runs = item->runs + 1;
    });
    for (int thief = 0; thief < 2; ++thief) {
      program.Thread("thief", [state] {
        typename RunQueue<Item, 2, Atomics>::Batch batch;
        if (state->queue.Steal(batch) == 0) return;
        Expect(batch[0] != nullptr, "the item is seen with its place");
        batch[0]->runs = batch[0]->runs + 1;
      });
    }
    program.AtEnd([state, pushes] {
      for (size_t i = 0; i < pushes; ++i) Expect(state->items[i].runs == 1, "each item is taken once");
    });
  });
}

TEST(RunQueueModelTest, EachItemIsTakenOnceByTheOwnerOrAThief) {
  ExpectHolds(ExploreQueue<ModelAtomics>({}, 2), 30'000);
}

TEST(RunQueueModelTest, AlsoWhenItGoesRoundAndAtMostThreePreemptions) {
  ExpectHolds(ExploreQueue<ModelAtomics>({.preemptions_max = 3, .old_reads_max = 0}, 5), 20'000);
}

TEST(RunQueueModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT(ExploreQueue<WithoutRelease>({}, 2).failure, kRaceOrLoss);
  EXPECT_THAT(ExploreQueue<WithoutAcquire>({}, 2).failure, kRaceOrLoss);
}

}  // namespace
}  // namespace understudy::model
