#include "understudy/actors/internal/scheduling/timer_queue.h"

#include <map>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

MonotonicTime At(int64_t nanos) { return MonotonicTime::FromNanos(nanos); }

template <class T>
std::vector<T> PopAll(TimerQueue<T>& queue, MonotonicTime now) {
  std::vector<T> due;
  while (auto next = queue.PopDue(now)) due.push_back(*std::move(next));
  return due;
}

TEST(TimerQueueTest, GivesWhatIsDueByTimeAndThenByInsertion) {
  TimerQueue<int> queue;
  queue.Add(At(20), 1);
  queue.Add(At(10), 2);
  queue.Add(At(20), 3);
  queue.Add(At(30), 4);
  EXPECT_EQ(queue.Next(), At(10));
  EXPECT_THAT(PopAll(queue, At(9)), ElementsAre());
  EXPECT_THAT(PopAll(queue, At(20)), ElementsAre(2, 1, 3));
  EXPECT_EQ(queue.size(), 1U);
}

TEST(TimerQueueTest, AnEmptyQueueIsNeverDue) {
  TimerQueue<int> queue;
  EXPECT_TRUE(queue.Next().is_infinite());
  EXPECT_FALSE(queue.PopDue(MonotonicTime::InfiniteFuture()).has_value());
}

TEST(TimerQueueTest, ARemovedTimerDoesNotComeAndIsRemovedOnce) {
  TimerQueue<int> queue;
  const uint64_t first = queue.Add(At(1), 1);
  const uint64_t second = queue.Add(At(1), 2);
  EXPECT_TRUE(queue.Remove(first));
  EXPECT_FALSE(queue.Remove(first));
  EXPECT_THAT(PopAll(queue, At(1)), ElementsAre(2));
  EXPECT_FALSE(queue.Remove(second));
  EXPECT_FALSE(queue.Remove(0));
}

TEST(TimerQueueTest, TakesMoveOnlyValues) {
  TimerQueue<std::unique_ptr<int>> queue;
  queue.Add(At(1), std::make_unique<int>(5));
  EXPECT_EQ(**queue.PopDue(At(1)), 5);
}

TEST(TimerQueueTest, AgreesWithAModel) {
  TimerQueue<uint64_t> queue;
  std::map<std::pair<int64_t, uint64_t>, uint64_t> model;  // (time, id) to value
  std::map<uint64_t, int64_t> times;
  Random random(7);
  int64_t now = 0;
  for (uint64_t step = 0; step < 20000; ++step) {
    const uint64_t choice = random.Below(3);
    if (choice == 0) {
      const int64_t time = now + static_cast<int64_t>(random.Below(50));
      const uint64_t id = queue.Add(At(time), step);
      model[{time, id}] = step;
      times[id] = time;
    } else if (choice == 1 && !times.empty()) {
      auto it = times.lower_bound(random.Below(times.rbegin()->first + 1));
      ASSERT_TRUE(queue.Remove(it->first));
      model.erase({it->second, it->first});
      times.erase(it);
    } else {
      now += static_cast<int64_t>(random.Below(10));
      while (auto due = queue.PopDue(At(now))) {
        ASSERT_FALSE(model.empty());
        ASSERT_LE(model.begin()->first.first, now);
        ASSERT_EQ(*due, model.begin()->second);
        times.erase(model.begin()->first.second);
        model.erase(model.begin());
      }
      ASSERT_TRUE(model.empty() || model.begin()->first.first > now);
    }
    ASSERT_EQ(queue.size(), model.size());
  }
}

}  // namespace
}  // namespace understudy
