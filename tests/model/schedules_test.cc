// The explorer itself: it allows every outcome that C++ allows in these programs, and none that C++ forbids.
#include "understudy/tests/model/schedules.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/model/model_atomics.h"

namespace understudy::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

// Two atomics, a plain variable, and the values that up to four threads read.
struct Litmus {
  ModelAtomic<int> x{0}, y{0};
  ModelPlain<int> plain{0};
  int a = -1, b = -1, c = -1, d = -1;
  std::string Text() const {
    std::string text;
    for (const int read : {a, b, c, d}) {
      if (read >= 0) text += std::to_string(read);
    }
    return text;
  }
};

// Returns the values that the threads read, over all schedules. All orders of their operations must give the same
// values as the schedules that the reduction leaves.
template <class... Bodies>
std::set<std::string> Results(Bodies... bodies) {
  std::set<std::string> results, all_results;
  const auto explore = [&](const Bounds& bounds, std::set<std::string>& into) {
    const Outcome outcome = Explore(bounds, [&](Program& program) {
      auto litmus = std::make_shared<Litmus>();
      (program.Thread("thread", [litmus, bodies] { bodies(*litmus); }), ...);
      program.AtEnd([litmus, &into] { into.insert(litmus->Text()); });
    });
    EXPECT_TRUE(outcome.holds()) << outcome.failure;
    return outcome.schedules;
  };
  EXPECT_LE(explore({}, results), explore({.preemptions_max = 1000}, all_results));
  EXPECT_EQ(results, all_results);
  return results;
}

TEST(MemoryModelTest, StoreBufferingIsSeenUnlessBothSidesAreOrdered) {
  const auto side = [](std::memory_order order, auto fence) {
    return std::pair([=](Litmus& l) { l.x.store(1, order), fence(), l.a = l.y.load(order); },
                     [=](Litmus& l) { l.y.store(1, order), fence(), l.b = l.x.load(order); });
  };
  const auto none = [] {};
  const auto fence = [] { ModelAtomics::Fence(kSeqCst); };
  const auto weaker = [] { ModelAtomics::Fence(kAcqRel); };
  const auto [relaxed_x, relaxed_y] = side(kRelaxed, none);
  EXPECT_THAT(Results(relaxed_x, relaxed_y), ElementsAre("00", "01", "10", "11"));
  const auto [total_x, total_y] = side(kSeqCst, none);
  EXPECT_THAT(Results(total_x, total_y), ElementsAre("01", "10", "11"));
  const auto [fenced_x, fenced_y] = side(kRelaxed, fence);
  EXPECT_THAT(Results(fenced_x, fenced_y), ElementsAre("01", "10", "11"));
  const auto [weak_x, weak_y] = side(kRelaxed, weaker);
  EXPECT_THAT(Results(weak_x, weak_y), ElementsAre("00", "01", "10", "11"));
}

TEST(MemoryModelTest, AnAsymmetricPairOrdersAndTwoLightOnesDoNot) {
  const auto light = [](Litmus& l) { l.x.store(1, kRelaxed), ModelAtomics::LightBarrier(), l.a = l.y.load(kRelaxed); };
  const auto other = [](Litmus& l) { l.y.store(1, kRelaxed), ModelAtomics::LightBarrier(), l.b = l.x.load(kRelaxed); };
  const auto heavy = [](Litmus& l) { l.y.store(1, kRelaxed), ModelAtomics::HeavyBarrier(), l.b = l.x.load(kRelaxed); };
  const auto bare = [](Litmus& l) { l.x.store(1, kRelaxed), l.a = l.y.load(kRelaxed); };
  EXPECT_THAT(Results(light, heavy), ElementsAre("01", "10", "11"));
  EXPECT_THAT(Results(light, other), ElementsAre("00", "01", "10", "11"));
  EXPECT_THAT(Results(bare, heavy), ElementsAre("00", "01", "10", "11")) << "the compiler may exchange the two";
}

TEST(MemoryModelTest, AMessageIsPassedByReleaseAndAcquire) {
  const auto pass = [](std::memory_order store, std::memory_order load) {
    return Results([=](Litmus& l) { l.x.store(1, kRelaxed), l.y.store(1, store); },
                   [=](Litmus& l) { l.a = l.y.load(load), l.b = l.x.load(kRelaxed); });
  };
  EXPECT_THAT(pass(kRelease, kAcquire), ElementsAre("00", "01", "11"));
  EXPECT_THAT(pass(kRelaxed, kAcquire), ElementsAre("00", "01", "10", "11"));
  EXPECT_THAT(pass(kRelease, kRelaxed), ElementsAre("00", "01", "10", "11"));
  EXPECT_THAT(
      Results([](Litmus& l) { l.x.store(1, kRelaxed), ModelAtomics::Fence(kRelease), l.y.store(1, kRelaxed); },
              [](Litmus& l) { l.a = l.y.load(kRelaxed), ModelAtomics::Fence(kAcquire), l.b = l.x.load(kRelaxed); }),
      ElementsAre("00", "01", "11"));
}

TEST(MemoryModelTest, AReadModifyWriteContinuesAReleaseSequenceAndAStoreEndsIt) {
  const auto pass = [](auto between) {
    return Results([](Litmus& l) { l.x.store(1, kRelaxed), l.y.store(1, kRelease); }, between,
                   [](Litmus& l) { l.a = l.y.load(kAcquire), l.b = l.x.load(kRelaxed); });
  };
  // y is 3 only if the store of 1 came before.
  EXPECT_EQ(pass([](Litmus& l) { l.y.fetch_add(2, kRelaxed); }).count("30"), 0U);
  EXPECT_EQ(pass([](Litmus& l) {
              if (l.y.load(kRelaxed) == 1) l.y.store(3, kRelaxed);
            }).count("30"),
            1U);
}

TEST(MemoryModelTest, OneAtomicIsCoherentAndChangesAreNotLost) {
  EXPECT_THAT(Results([](Litmus& l) { l.x.store(1, kRelaxed), l.x.store(2, kRelaxed); },
                      [](Litmus& l) { l.a = l.x.load(kRelaxed), l.b = l.x.load(kRelaxed); }),
              ElementsAre("00", "01", "02", "11", "12", "22"));
  EXPECT_THAT(
      Results([](Litmus& l) { l.a = l.x.fetch_add(1, kRelaxed); }, [](Litmus& l) { l.b = l.x.fetch_add(1, kRelaxed); }),
      ElementsAre("01", "10"));
}

TEST(MemoryModelTest, IndependentReadsOfIndependentWritesAgreeOnlyUnderSeqCst) {
  const auto read = [](std::memory_order order) {
    return Results([=](Litmus& l) { l.x.store(1, order); }, [=](Litmus& l) { l.y.store(1, order); },
                   [=](Litmus& l) { l.a = l.x.load(order), l.b = l.y.load(order); },
                   [=](Litmus& l) { l.c = l.y.load(order), l.d = l.x.load(order); });
  };
  EXPECT_EQ(read(kRelaxed).count("1010"), 1U);
  EXPECT_EQ(read(kSeqCst).count("1010"), 0U);
}

TEST(ExplorerTest, CountsSchedulesExactly) {
  // Three threads with three operations each: 9! / (3!)^3 orders.
  const auto count = [](const Bounds& bounds, bool is_shared) {
    const Outcome outcome = Explore(bounds, [is_shared](Program& program) {
      struct State {
        ModelAtomic<int> cells[3] = {0, 0, 0};
      };
      auto state = std::make_shared<State>();
      for (int i = 0; i < 3; ++i) {
        program.Thread("thread", [state, i, is_shared] {
          for (int n = 0; n < 3; ++n) state->cells[is_shared ? 0 : i].fetch_add(1, kRelaxed);
        });
      }
    });
    EXPECT_TRUE(outcome.holds()) << outcome.failure;
    return outcome.schedules;
  };
  EXPECT_EQ(count({}, true), 1680);
  EXPECT_EQ(count({}, false), 1) << "nothing depends on their order";
  EXPECT_EQ(count({.preemptions_max = 100}, false), 1680);
  EXPECT_EQ(count({.preemptions_max = 0}, true), 6);
  // One preemption permits more schedules than none, and fewer than two preemptions.
  EXPECT_GT(count({.preemptions_max = 1}, true), 6);
  EXPECT_LT(count({.preemptions_max = 1}, true), count({.preemptions_max = 2}, true));
}

TEST(ExplorerTest, LeavesOutNoScheduleThatDiffers) {
  // Each reduction runs one schedule of each set of equivalent ones to its end, so both run the same number. The
  // threads have a compare-and-swap that fails, and they sleep and wake each other, where a reduction is easily wrong.
  const auto explore = [](Reduction reduction) {
    return Explore({.reduction = reduction}, [](Program& program) {
      auto litmus = std::make_shared<Litmus>();
      program.Thread("sleeper", [litmus] {
        litmus->y.store(1, kRelaxed);
        ModelAtomics::LightBarrier();
        litmus->a = ModelAtomics::WaitWhile(litmus->x, 1);
      });
      for (int i = 0; i < 2; ++i) {
        program.Thread("waker", [litmus] {
          int free = 0;
          if (!litmus->x.compare_exchange_strong(free, 1, kAcquire, kRelaxed)) return;
          ModelAtomics::HeavyBarrier();
          litmus->y.load(kRelaxed);
          litmus->x.store(0, kRelease);
          ModelAtomics::WakeAll(litmus->x);
        });
      }
    });
  };
  const Outcome by_need = explore(Reduction::kSourceSets);
  const Outcome all = explore(Reduction::kSleepSets);
  EXPECT_TRUE(by_need.holds()) << by_need.failure;
  EXPECT_TRUE(all.holds()) << all.failure;
  EXPECT_EQ(by_need.schedules, all.schedules);
  EXPECT_LT(by_need.cut, all.cut);
  EXPECT_GT(all.schedules, 100);
}

TEST(ExplorerTest, WithoutOldReadsEachOperationIsSeenByAllAtOnce) {
  std::set<std::string> results;
  const Outcome outcome = Explore({.old_reads_max = 0}, [&results](Program& program) {
    auto litmus = std::make_shared<Litmus>();
    program.Thread("one", [litmus] { litmus->x.store(1, kRelaxed), litmus->a = litmus->y.load(kRelaxed); });
    program.Thread("other", [litmus] { litmus->y.store(1, kRelaxed), litmus->b = litmus->x.load(kRelaxed); });
    program.AtEnd([litmus, &results] { results.insert(litmus->Text()); });
  });
  EXPECT_TRUE(outcome.holds()) << outcome.failure;
  EXPECT_THAT(results, ElementsAre("01", "10", "11"));
}

TEST(ExplorerTest, FindsARaceSaysTheScheduleAndReplaysIt) {
  const auto set_up = [](Program& program) {
    auto litmus = std::make_shared<Litmus>();
    program.Name(litmus->plain, "payload");
    program.Name(litmus->x, "flag");
    program.Thread("writer", [litmus] { litmus->plain = 1, litmus->x.store(1, kRelaxed); });
    program.Thread("reader", [litmus] {
      if (litmus->x.load(kAcquire) == 1) litmus->a = litmus->plain;
    });
  };
  const Outcome outcome = Explore({}, set_up);
  EXPECT_FALSE(outcome.holds());
  EXPECT_THAT(outcome.failure, HasSubstr("race: reader reads payload, unordered with an access by writer"));
  EXPECT_THAT(outcome.failure, HasSubstr("writer       stores flag = 1, relaxed"));
  EXPECT_THAT(outcome.failure, HasSubstr("reader       loads flag: 1, acquire"));
  EXPECT_EQ(Replay(outcome.schedule, set_up), outcome.failure);
  EXPECT_THAT(Replay("1 0", set_up), HasSubstr("nothing fails"));
}

TEST(ExplorerTest, FindsWhoIsNeverWoken) {
  const auto explore = [](bool wakes) {
    return Explore({}, [wakes](Program& program) {
      auto litmus = std::make_shared<Litmus>();
      program.Thread("sleeper", [litmus] { litmus->a = ModelAtomics::WaitWhile(litmus->x, 0); });
      program.Thread("waker", [litmus, wakes] {
        litmus->x.store(7, kRelease);
        if (wakes) ModelAtomics::WakeAll(litmus->x);
      });
      program.AtEnd([litmus] { Expect(litmus->a == 7, "it sees why it was woken"); });
    });
  };
  EXPECT_TRUE(explore(true).holds()) << explore(true).failure;
  EXPECT_THAT(explore(false).failure, HasSubstr("nobody can go on"));
}

TEST(ExplorerTest, EndsARunThatSpins) {
  const Outcome outcome = Explore({.steps_max = 50}, [](Program& program) {
    auto litmus = std::make_shared<Litmus>();
    program.Thread("spinner", [litmus] {
      while (litmus->x.load(kRelaxed) == 0) {
      }
    });
  });
  EXPECT_THAT(outcome.failure, HasSubstr("too many steps"));
}

TEST(ExplorerTest, FindsAnAtomicThatIsUsedBeforeItsMakingIsKnown) {
  const auto explore = [](std::memory_order order) {
    return Explore({}, [order](Program& program) {
      struct State {
        ModelAtomic<ModelAtomic<int>*> made{nullptr};
        std::unique_ptr<ModelAtomic<int>> owned;
      };
      auto state = std::make_shared<State>();
      program.Thread("maker", [state, order] {
        state->owned = std::make_unique<ModelAtomic<int>>(1);
        state->made.store(state->owned.get(), order);
      });
      program.Thread("user", [state] {
        if (ModelAtomic<int>* const made = state->made.load(kAcquire); made != nullptr) made->fetch_add(1, kRelaxed);
      });
    });
  };
  EXPECT_TRUE(explore(kRelease).holds()) << explore(kRelease).failure;
  EXPECT_THAT(explore(kRelaxed).failure, HasSubstr("whose making does not happen before"));
}

}  // namespace
}  // namespace understudy::model
