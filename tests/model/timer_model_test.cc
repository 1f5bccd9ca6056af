// Explores timers (actors/internal/scheduling/timer_table.h, timer_wheel.h). Each timer fires once or is cancelled
// once, whichever comes first; a handle of an earlier use of an entry does nothing to its later use; and the firing
// thread does not sleep past a timer that was armed meanwhile.
//
// The model repeats the firing thread's steps in actors/internal/scheduling/timer_thread.cc.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/scheduling/timer_table.h"
#include "understudy/actors/internal/scheduling/timer_wheel.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::TimerTable;
using internal::TimerWheel;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kDue = 1;
constexpr int64_t kLater = int64_t{1} << 40;
constexpr size_t kTimers = 6;  // timers of one run

enum class Bug {
  kNone,
  kFireWithoutExchange,  // checking that a timer is not cancelled and firing it are two steps
  kFreeBeforeUse,        // an entry is freed before its value has been used
};

template <Bug kBug, class Atomics>
struct Timers {
  using Table = TimerTable<int, Atomics, 6, 2>;

  void Arm(size_t timer, int64_t at) {
    ids[timer].store(table.Arm(MonotonicTime::FromNanos(at), static_cast<int>(timer) + 1), std::memory_order_release);
    armed[timer] = 1;
  }
  void Cancel(size_t timer) {
    const uint64_t id = ids[timer].load(std::memory_order_acquire);
    if (id != 0 && table.Cancel(id)) ++cancelled[timer];
  }
  // One round of the firing thread.
  void Round(int64_t now) {
    for (typename Table::Entry* entry = table.TakeArmed(); entry != nullptr;) {
      typename Table::Entry* const after = entry->next;
      wheel.Add(*entry);
      entry = after;
    }
    while (typename Table::Entry* const entry = wheel.PopDue(MonotonicTime::FromNanos(now))) {
      const bool fires = kBug == Bug::kFireWithoutExchange ? !table.IsCancelled(*entry) : table.Fire(*entry);
      if (kBug == Bug::kFreeBeforeUse) table.Free(*entry);
      if (fires) {
        const int timer = entry->value;
        const bool is_known = timer > 0 && timer <= static_cast<int>(kTimers);
        Expect(is_known, "a timer's value is the one it was armed with");
        if (is_known) ++fired[static_cast<size_t>(timer) - 1];
      }
      if (kBug != Bug::kFreeBeforeUse) table.Free(*entry);
    }
  }
  void Check() {
    Round(kLater);
    Expect(wheel.size() == 0 && !table.HasArmed() && table.cancelled() == 0, "nothing is left");
    for (size_t i = 0; i < kTimers; ++i) {
      Expect(fired[i] + cancelled[i] == armed[i], "each timer fires or is cancelled, once");
    }
  }

  Table table;
  TimerWheel<typename Table::Entry> wheel;
  std::array<ModelAtomic<uint64_t>, kTimers> ids;                   // published by the arming threads
  std::array<int, kTimers> armed = {}, cancelled = {}, fired = {};  // one thread writes each
};

template <class T>
void NameAll(Program& program, const T& timers) {
  program.Name(timers.table, "table");
  program.Name(timers.ids, "ids");
}

// Three threads: the first arms a timer, the second cancels it, and the third fires it.
template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExploreCancel(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto timers = std::make_shared<Timers<kBug, Atomics>>();
    NameAll(program, *timers);
    program.Thread("arming", [timers] { timers->Arm(0, kDue); });
    program.Thread("cancelling", [timers] { timers->Cancel(0); });
    program.Thread("firing", [timers] { timers->Round(kDue); });
    program.AtEnd([timers] { timers->Check(); });
  });
}

TEST(TimerModelTest, ATimerFiresOrIsCancelledOnce) { ExpectHolds(ExploreCancel<>({}), 19); }

// The first timer is armed before the threads start, so the cancelling and the firing thread compete for it. Another
// timer is armed meanwhile.
template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExploreMeeting(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto timers = std::make_shared<Timers<kBug, Atomics>>();
    NameAll(program, *timers);
    timers->Arm(0, kDue);
    program.Thread("cancelling", [timers] { timers->Cancel(0), timers->Cancel(1); });
    program.Thread("arming", [timers] { timers->Arm(1, kDue); });
    program.Thread("firing", [timers] { timers->Round(kDue), timers->Round(kDue); });
    program.AtEnd([timers] { timers->Check(); });
  });
}

TEST(TimerModelTest, AlsoWhenItIsInTheWheelAndAnotherIsArmed) { ExpectHolds(ExploreMeeting<>({}), 2'500); }

// Three threads make three calls each.
Outcome ExploreThrees(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto timers = std::make_shared<Timers<Bug::kNone, ModelAtomics>>();
    NameAll(program, *timers);
    timers->Arm(0, kDue);
    program.Thread("cancelling", [timers] { timers->Cancel(0), timers->Cancel(1), timers->Cancel(2); });
    program.Thread("arming", [timers] { timers->Arm(1, kDue), timers->Arm(2, kDue), timers->Arm(3, kLater); });
    program.Thread("firing", [timers] { timers->Round(kDue), timers->Round(kDue), timers->Round(kDue); });
    program.AtEnd([timers] { timers->Check(); });
  });
}

TEST(TimerModelTest, AlsoWithThreeCallsByEachWhereLoadsReadTheNewest) {
  if (!IsLongRun()) GTEST_SKIP() << "explored by .ci/long models";
  ExpectHolds(ExploreThrees({.old_reads_max = 0}), 500'000);
}

// Entries are reused: two are free, and are armed, fired and armed again. A late cancel of an earlier use of an entry
// must do nothing to its present use. A thread that has read the first free entry and its next, was delayed, and finds
// the same entry at the head must not store the next that it read before (ABA).
template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExploreReuse(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto timers = std::make_shared<Timers<kBug, Atomics>>();
    NameAll(program, *timers);
    timers->Arm(0, kDue);
    timers->Arm(1, kDue);
    timers->Round(kDue);
    program.Thread("arming", [timers] { timers->Arm(2, kDue), timers->Cancel(0), timers->Arm(5, kDue); });
    program.Thread("arming too", [timers] { timers->Arm(3, kDue), timers->Arm(4, kLater); });
    program.Thread("firing", [timers] { timers->Round(kDue); });
    program.AtEnd([timers] { timers->Check(); });
  });
}

TEST(TimerModelTest, AlsoWhenEntriesAreUsedAgainAndAtMostThreePreemptions) {
  ExpectHolds(ExploreReuse<>({.preemptions_max = 3, .old_reads_max = 0}), 100'000);
}

// Two threads arm the first two timers of a table, and both would allocate the table's first chunk.
Outcome ExploreFreshChunk(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto timers = std::make_shared<Timers<Bug::kNone, ModelAtomics>>();
    NameAll(program, *timers);
    for (size_t i = 0; i < 2; ++i) {
      program.Thread("arming", [timers, i] {
        timers->Arm(i, kLater);
        timers->Cancel(i);
        Expect(timers->cancelled[i] == 1, "a timer that nobody fires is cancelled");
      });
    }
    program.AtEnd([timers] { timers->Check(); });
  });
}

TEST(TimerModelTest, AlsoWhereTwoThreadsArmTheFirstOfATable) { ExpectHolds(ExploreFreshChunk({}), 100); }

TEST(TimerModelTest, AFireThatLooksAndThenFiresIsFound) {
  EXPECT_THAT(ExploreMeeting<Bug::kFireWithoutExchange>({}).failure, HasSubstr("fires or is cancelled, once"));
}

// The bug: the head of the free list has no tag in its upper bits.
template <class T>
struct UntaggedAtomic : ModelAtomic<T> {
  using ModelAtomic<T>::ModelAtomic;
  bool compare_exchange_weak(T& expected, T value, std::memory_order success, std::memory_order failure) {
    if constexpr (std::is_same_v<T, uint64_t>) value &= (uint64_t{1} << 27) - 1;
    return ModelAtomic<T>::compare_exchange_weak(expected, value, success, failure);
  }
};
struct WithoutTags : ModelAtomics {
  template <class T>
  using Atomic = UntaggedAtomic<T>;
};

TEST(TimerModelTest, AFreeListWithoutTagsIsFound) {
  EXPECT_NE((ExploreReuse<Bug::kNone, WithoutTags>({.preemptions_max = 3, .old_reads_max = 0}).failure), "");
}

TEST(TimerModelTest, AnEntryThatIsFreeBeforeItsValueIsUsedIsFound) {
  EXPECT_THAT(ExploreReuse<Bug::kFreeBeforeUse>({.preemptions_max = 3}).failure,
              AnyOf(HasSubstr("race: "), HasSubstr("not so: ")));
}

TEST(TimerModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT((ExploreReuse<Bug::kNone, WithoutRelease>({}).failure), HasSubstr("race: "));
  EXPECT_THAT((ExploreReuse<Bug::kNone, WithoutAcquire>({}).failure), HasSubstr("race: "));
}

// The firing thread sleeps until the first timer that it knows of is due, or for ever if it knows of none. A thread
// that arms an earlier timer wakes it. The flag `is_woken` is an atomic here; in the real code a mutex guards it.
template <class Atomics>
struct Sleeper {
  TimerTable<int, Atomics, 6, 2> table;
  typename Atomics::template Atomic<int64_t> sleeps_until{0};
  ModelAtomic<int> is_woken{0};
  int fired = 0;

  void RunAt(int64_t time) {
    (void)table.Arm(MonotonicTime::FromNanos(time), 1);
    if (time >= sleeps_until.load(std::memory_order_seq_cst)) return;
    is_woken.store(1, std::memory_order_release);
    ModelAtomics::WakeAll(is_woken);
  }
  void Work(int timers) {
    for (;;) {
      for (auto* entry = table.TakeArmed(); entry != nullptr;) {
        auto* const after = static_cast<decltype(entry)>(entry->next);
        if (table.Fire(*entry)) ++fired;
        table.Free(*entry);
        entry = after;
      }
      if (fired == timers) return;
      sleeps_until.store(kLater, std::memory_order_seq_cst);
      if (!table.HasArmed()) ModelAtomics::WaitWhile(is_woken, 0);
      sleeps_until.store(0, std::memory_order_relaxed);
      is_woken.store(0, std::memory_order_release);
    }
  }
};

template <class Atomics>
Outcome ExploreSleeper(const Bounds& bounds, int threads) {
  return Explore(bounds, [threads](Program& program) {
    auto sleeper = std::make_shared<Sleeper<Atomics>>();
    program.Name(sleeper->table, "table");
    program.Name(sleeper->sleeps_until, "sleeps_until");
    program.Name(sleeper->is_woken, "is_woken");
    program.Thread("firing", [sleeper, threads] { sleeper->Work(threads); });
    for (int i = 0; i < threads; ++i) {
      program.Thread("arming", [sleeper] { sleeper->RunAt(kDue); });
    }
  });
}

TEST(TimerSleepModelTest, NoTimerWaitsForASleeperThatDoesNotKnowOfIt) {
  ExpectHolds(ExploreSleeper<ModelAtomics>({}, 1), 37);
  ExpectHolds(ExploreSleeper<ModelAtomics>({.preemptions_max = 3, .old_reads_max = 0}, 2), 60'000);
}

TEST(TimerSleepModelTest, AcquireAndReleaseWhereATotalOrderIsNeededIsFound) {
  EXPECT_THAT(ExploreSleeper<WithoutTotalOrder>({}, 1).failure, HasSubstr("a wake-up was lost"));
}

}  // namespace
}  // namespace understudy::model
