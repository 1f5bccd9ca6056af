// Explores FreeList (actors/internal/memory/free_list.h): no item is given to two threads, no item is lost, and a
// thread that takes an item sees every write that was made to the item before.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/free_list.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::FreeList;
using ::testing::HasSubstr;

constexpr size_t kItems = 2;

enum class Bug {
  kNoCount,  // a head that was popped and pushed again is taken for the one that was read
  kOldNext,  // an item's next is not stored again when the head has changed meanwhile
};

template <Bug kBug>
class WithBug {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  template <class NextOf>
  void Push(uint32_t item, NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    next_of(item).store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    while (
        !head_.compare_exchange_weak(head, After(head, item), std::memory_order_release, std::memory_order_relaxed)) {
      if (kBug != Bug::kOldNext) next_of(item).store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    }
  }
  template <class NextOf>
  uint32_t Pop(NextOf next_of) {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != kNone) {
      const uint32_t next = next_of(static_cast<uint32_t>(head)).load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, After(head, next), std::memory_order_acquire, std::memory_order_acquire)) {
        return static_cast<uint32_t>(head);
      }
    }
    return kNone;
  }

 private:
  static uint64_t After(uint64_t head, uint32_t item) {
    return kBug == Bug::kNoCount ? item : ((head >> 32) + 1) << 32 | item;
  }

  ModelAtomic<uint64_t> head_{kNone};
};

template <class List>
struct Arena {
  List list;
  std::array<ModelAtomic<uint32_t>, kItems> next;
  std::array<ModelPlain<int>, kItems> used{};  // two threads that have the same item are a race

  Arena() {
    for (uint32_t item = kItems; item-- > 0;) Free(item);
  }
  uint32_t Take() {
    const uint32_t item = list.Pop([this](uint32_t i) -> auto& { return next[i]; });
    if (item != List::kNone) used[item] = used[item] + 1;
    return item;
  }
  void Free(uint32_t item) {
    list.Push(item, [this](uint32_t i) -> auto& { return next[i]; });
  }
};

// The taker takes two items and frees them. The turner takes two, frees the first, and writes to the second before it
// frees that too.
template <class List>
Outcome ExploreList(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto arena = std::make_shared<Arena<List>>();
    program.Name(arena->list, "list");
    program.Name(arena->next, "next");
    program.Thread("taker", [arena] {
      const uint32_t first = arena->Take();
      const uint32_t second = arena->Take();
      if (first != List::kNone) arena->Free(first);
      if (second != List::kNone) arena->Free(second);
    });
    program.Thread("turner", [arena] {
      const uint32_t first = arena->Take();
      const uint32_t second = arena->Take();
      if (first != List::kNone) arena->Free(first);
      if (second == List::kNone) return;
      arena->used[second] = arena->used[second] + 1;
      arena->Free(second);
    });
    program.AtEnd([arena] {
      std::array<int, kItems> seen{};
      for (size_t i = 0; i <= kItems; ++i) {
        if (const uint32_t item = arena->Take(); item != List::kNone) ++seen[item];
      }
      for (const int times : seen) Expect(times == 1, "each item is in the list once in the end");
    });
  });
}

TEST(FreeListModelTest, NoItemIsGivenToTwoOwners) {
  ExpectHolds(ExploreList<FreeList<ModelAtomics>>({.preemptions_max = 4}), 100);
}

constexpr Bounds kFew = {.preemptions_max = 4};

TEST(FreeListModelTest, AHeadThatComesBackIsFoundWithoutTheCount) {
  EXPECT_THAT(ExploreList<WithBug<Bug::kNoCount>>(kFew).failure, HasSubstr("each item is in the list once"));
}

TEST(FreeListModelTest, ANextThatIsOldIsFound) {
  EXPECT_THAT(ExploreList<WithBug<Bug::kOldNext>>(kFew).failure, HasSubstr("each item is in the list once"));
}

TEST(FreeListModelTest, ReleaseAndAcquireAreNeeded) {
  EXPECT_THAT(ExploreList<FreeList<WithoutRelease>>(kFew).failure, HasSubstr("race"));
  EXPECT_THAT(ExploreList<FreeList<WithoutAcquire>>(kFew).failure, HasSubstr("race"));
}

}  // namespace
}  // namespace understudy::model
