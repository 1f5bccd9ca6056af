#include "understudy/actors/internal/scheduling/timer_wheel.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;

struct Entry {
  MonotonicTime time;
  uint64_t order = 0;
  Entry* next = nullptr;
  int name = 0;
  bool is_gone = false;
};

class TimerWheelTest : public ::testing::Test {
 protected:
  static MonotonicTime At(int64_t nanos) { return MonotonicTime::FromNanos(nanos); }
  Entry& Add(int64_t nanos, int name) {
    entries_.push_back({.time = At(nanos), .name = name});
    wheel_.Add(entries_.back());
    return entries_.back();
  }
  std::vector<int> PopAll(int64_t now) {
    std::vector<int> names;
    while (const Entry* entry = wheel_.PopDue(At(now))) names.push_back(entry->name);
    return names;
  }

  std::deque<Entry> entries_;
  TimerWheel<Entry> wheel_;
};

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kHour = 3600 * 1000 * kMilli;

TEST_F(TimerWheelTest, GivesWhatIsDueByTimeAndThenByInsertion) {
  Add(20, 1);
  Add(10, 2);
  Add(5 * kMilli, 3);
  Add(20, 4);
  Add(5 * kMilli - 1, 5);
  EXPECT_THAT(PopAll(9), ElementsAre());
  EXPECT_THAT(PopAll(20), ElementsAre(2, 1, 4));
  EXPECT_THAT(PopAll(5 * kMilli - 2), ElementsAre());
  EXPECT_THAT(PopAll(5 * kMilli - 1), ElementsAre(5));
  EXPECT_THAT(PopAll(kHour), ElementsAre(3));
  EXPECT_EQ(wheel_.size(), 0U);
}

TEST_F(TimerWheelTest, AnEntryFarAheadComesAtItsTime) {
  for (const int64_t hours : {1000000, 24, 1}) Add(hours * kHour + 7, static_cast<int>(hours));
  EXPECT_THAT(PopAll(kHour + 6), ElementsAre());
  EXPECT_THAT(PopAll(kHour + 7), ElementsAre(1));
  EXPECT_THAT(PopAll(24 * kHour + 6), ElementsAre());
  EXPECT_THAT(PopAll(24 * kHour + 7), ElementsAre(24));
  EXPECT_THAT(PopAll(1000000 * kHour + 6), ElementsAre());
  EXPECT_THAT(PopAll(INT64_MAX - 1), ElementsAre(1000000));
}

TEST_F(TimerWheelTest, NextIsNeverLateAndAFewStepsLeadToTheTime) {
  EXPECT_TRUE(wheel_.Next().is_infinite());
  for (const int64_t nanos : {kHour, 3 * kHour + 5, 100 * kMilli, kMilli / 2}) {
    Add(nanos, 1);
    int steps = 0;
    while (wheel_.size() != 0) {
      const MonotonicTime next = wheel_.Next();
      ASSERT_LE(next, At(nanos));
      ASSERT_LE(++steps, 9);
      (void)wheel_.PopDue(next);
    }
    EXPECT_TRUE(wheel_.Next().is_infinite());
    wheel_ = TimerWheel<Entry>();
  }
}

TEST_F(TimerWheelTest, SweepTakesOutWhatIsGoneAndNothingElse) {
  for (int i = 0; i < 1000; ++i) Add((i % 3 == 0 ? 1 : i * i) * kMilli, i).is_gone = i % 4 != 0;
  EXPECT_THAT(PopAll(0), ElementsAre());
  std::vector<int> dropped;
  wheel_.Sweep([](const Entry& entry) { return entry.is_gone; }, [&](Entry& entry) { dropped.push_back(entry.name); });
  EXPECT_EQ(dropped.size(), 750U);
  EXPECT_EQ(wheel_.size(), 250U);
  const std::vector<int> left = PopAll(kHour);
  EXPECT_EQ(left.size(), 250U);
  for (const int name : left) EXPECT_EQ(name % 4, 0);
}

TEST_F(TimerWheelTest, AgreesWithAModel) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    wheel_ = TimerWheel<Entry>();
    std::map<std::pair<int64_t, int>, bool> model;  // (time, name); names go up as they are added
    Random random(seed);
    int64_t now = 0;
    for (int step = 0; step < 3000; ++step) {
      if (random.Below(2) == 0) {
        const int64_t ahead = static_cast<int64_t>(random.Next() >> (8 + random.Below(56)));
        const int64_t time = now > INT64_MAX / 2 ? now : now + std::min(ahead, INT64_MAX / 4);
        Add(time, step);
        model[{time, step}] = true;
        continue;
      }
      now += static_cast<int64_t>(random.Next() >> (20 + random.Below(44))) % (INT64_MAX / 20000);
      while (const Entry* entry = wheel_.PopDue(At(now))) {
        ASSERT_FALSE(model.empty());
        ASSERT_EQ(entry->name, model.begin()->first.second) << "seed " << seed << " step " << step;
        model.erase(model.begin());
      }
      ASSERT_TRUE(model.empty() || model.begin()->first.first > now) << "seed " << seed << " step " << step;
      ASSERT_EQ(wheel_.size(), model.size());
      const int64_t earliest = model.empty() ? INT64_MAX : model.begin()->first.first;
      ASSERT_LE(wheel_.Next(), At(earliest));
    }
  }
}

}  // namespace
}  // namespace understudy::internal
