#include "understudy/actors/internal/scheduling/run_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/scheduling/ready_slot.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using SmallQueue = RunQueue<int, 8>;

std::vector<int> StealFrom(SmallQueue& queue) {
  SmallQueue::Batch batch;
  const size_t count = queue.Steal(batch);
  std::vector<int> values;
  for (size_t i = 0; i < count; ++i) values.push_back(*batch[i]);
  return values;
}

class RunQueueTest : public ::testing::Test {
 protected:
  RunQueueTest() {
    for (int i = 0; i < 20; ++i) items_.push_back(i);
  }
  void PushAll(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(queue_.Push(&items_[static_cast<size_t>(i)])) << i;
  }
  std::vector<int> items_;
  SmallQueue queue_;
};

TEST_F(RunQueueTest, GivesItsOwnerTheOldestFirst) {
  EXPECT_EQ(queue_.Pop(), nullptr);
  for (int round = 0; round < 5; ++round) {  // round the ring
    PushAll(0, 7);
    EXPECT_EQ(queue_.size(), 7U);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(*queue_.Pop(), i);
    EXPECT_EQ(queue_.Pop(), nullptr);
  }
}

TEST_F(RunQueueTest, RefusesWhatIsBeyondItsCapacity) {
  PushAll(0, 8);
  EXPECT_FALSE(queue_.Push(&items_[8]));
  EXPECT_EQ(*queue_.Pop(), 0);
  EXPECT_TRUE(queue_.Push(&items_[8]));
}

TEST_F(RunQueueTest, AThiefTakesTheOlderHalf) {
  PushAll(0, 5);
  EXPECT_THAT(StealFrom(queue_), ElementsAre(0, 1, 2));
  EXPECT_THAT(StealFrom(queue_), ElementsAre(3));
  EXPECT_EQ(*queue_.Pop(), 4);
  EXPECT_THAT(StealFrom(queue_), ElementsAre());
}

TEST(RunQueueThreadsTest, EveryItemIsTakenOnce) {
  constexpr size_t kItems = 200000;
  std::vector<std::atomic<int>> taken(kItems);
  std::vector<size_t> items(kItems);
  for (size_t i = 0; i < kItems; ++i) items[i] = i;
  RunQueue<size_t, 64> queue;
  std::atomic<bool> is_done{false};
  std::vector<std::thread> thieves;
  for (int i = 0; i < 2; ++i) {
    thieves.emplace_back([&] {
      RunQueue<size_t, 64>::Batch batch;
      for (;;) {
        const bool was_done = is_done.load();
        const size_t count = queue.Steal(batch);
        for (size_t k = 0; k < count; ++k) taken[*batch[k]].fetch_add(1, std::memory_order_relaxed);
        if (count == 0 && was_done) return;
        if (count == 0) std::this_thread::yield();
      }
    });
  }
  for (size_t i = 0; i < kItems; ++i) {
    while (!queue.Push(&items[i])) {
      if (const size_t* own = queue.Pop()) taken[*own].fetch_add(1, std::memory_order_relaxed);
    }
  }
  while (const size_t* own = queue.Pop()) taken[*own].fetch_add(1, std::memory_order_relaxed);
  is_done.store(true);
  for (std::thread& thief : thieves) thief.join();
  for (size_t i = 0; i < kItems; ++i) ASSERT_EQ(taken[i].load(), 1) << i;
}

TEST(ReadySlotTest, KeepsTheNewestAndGivesUpTheOneBefore) {
  int a = 0;
  int b = 0;
  ReadySlot<int> slot;
  EXPECT_EQ(slot.Take(), nullptr);
  EXPECT_EQ(slot.Put(&a), nullptr);
  EXPECT_EQ(slot.Put(&b), &a);
  EXPECT_EQ(slot.Take(), &b);
  EXPECT_EQ(slot.Take(), nullptr);
}

TEST(ReadySlotTest, ItemIsPutOnlyWhereItIsFree) {
  int a = 0;
  int b = 0;
  ReadySlot<int> slot;
  EXPECT_TRUE(slot.TryPut(&a));
  EXPECT_FALSE(slot.TryPut(&b));
  EXPECT_EQ(slot.TakeOver(), &a);
  EXPECT_FALSE(slot.TryPut(&b));
  slot.GiveBack();
  EXPECT_TRUE(slot.TryPut(&b));
  EXPECT_EQ(slot.Take(), &b);
}

TEST(ReadySlotTest, TakesNothingWhileItIsTakenOver) {
  int a = 0;
  int b = 0;
  ReadySlot<int> slot;
  EXPECT_EQ(slot.Put(&a), nullptr);
  EXPECT_EQ(slot.TakeOver(), &a);
  EXPECT_TRUE(slot.is_taken_over());
  EXPECT_EQ(slot.Put(&b), &b);
  EXPECT_EQ(slot.Take(), nullptr);
  slot.GiveBack();
  EXPECT_EQ(slot.Put(&b), nullptr);
  EXPECT_EQ(slot.Take(), &b);
}

}  // namespace
}  // namespace understudy::internal
