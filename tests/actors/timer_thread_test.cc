#include "understudy/actors/internal/scheduling/timer_thread.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/scheduling/timer_table.h"
#include "understudy/actors/testing/manual_clock.h"

namespace understudy::internal {
namespace {

TEST(TimerTableTest, AnEntryGoesRound) {
  TimerTable<int> table;
  const uint64_t first = table.Arm(MonotonicTime::FromNanos(1), 10);
  const uint64_t second = table.Arm(MonotonicTime::FromNanos(2), 20);
  EXPECT_TRUE(table.HasArmed());
  TimerTable<int>::Entry* const oldest = table.TakeArmed();
  ASSERT_NE(oldest, nullptr);
  TimerTable<int>::Entry* const newest = oldest->next;
  EXPECT_EQ(oldest->value, 10);
  EXPECT_EQ(newest->value, 20);
  EXPECT_EQ(newest->next, nullptr);
  EXPECT_FALSE(table.HasArmed());

  EXPECT_TRUE(table.Cancel(first));
  EXPECT_FALSE(table.Cancel(first));
  EXPECT_EQ(table.cancelled(), 1U);
  EXPECT_FALSE(table.Fire(*oldest)) << "it was cancelled";
  EXPECT_TRUE(table.Fire(*newest));
  EXPECT_FALSE(table.Cancel(second)) << "it has fired";
  table.Free(*oldest);
  EXPECT_EQ(table.cancelled(), 0U);

  const uint64_t again = table.Arm(MonotonicTime::FromNanos(3), 30);
  EXPECT_EQ(table.TakeArmed(), oldest) << "its memory is used again";
  EXPECT_FALSE(table.Cancel(first)) << "another generation";
  EXPECT_TRUE(table.Cancel(again));
  EXPECT_FALSE(table.Cancel(0));
  EXPECT_FALSE(table.Cancel(77));
}

TEST(TimerThreadTest, HowMuchLaterThanTheirTimesTimersWereCalledIsCounted) {
  TimerThread timers(Clock::Real());
  EXPECT_EQ(timers.lateness().samples, 0);
  absl::Notification first;
  absl::Notification second;
  timers.RunAt(Clock::Real().Now() + absl::Seconds(-7), [&first] { first.Notify(); });
  first.WaitForNotification();
  timers.RunAt(Clock::Real().Now(), [&second] { second.Notify(); });
  second.WaitForNotification();  // a pass counts its timers before the next one begins
  EXPECT_GE(timers.lateness().samples, 1);
  EXPECT_GE(timers.lateness().longest, absl::Seconds(7));
}

TEST(TimerThreadTest, WhatEarlierCallbacksTookMakesATimerOfTheSamePassLate) {
  ManualClock clock;
  TimerThread timers(clock);
  const MonotonicTime start = clock.Now();
  absl::Notification pass_is_held;
  absl::Notification all_are_armed;
  absl::Notification last;
  timers.RunAt(start, [&] {
    pass_is_held.Notify();
    all_are_armed.WaitForNotification();
  });
  pass_is_held.WaitForNotification();
  timers.RunAt(start, [&] { clock.Advance(absl::Seconds(3)); });
  timers.RunAt(start, [] {});
  all_are_armed.Notify();
  timers.RunAt(start + absl::Seconds(3), [&] { last.Notify(); });
  last.WaitForNotification();  // a pass counts its timers before the next one begins
  EXPECT_GE(timers.lateness().longest, absl::Seconds(3));
}

TEST(TimerThreadTest, EachTimerFiresOnceOrIsCancelled) {
  TimerThread timers(Clock::Real());
  constexpr int kThreads = 3;
  constexpr int kTimers = 3000;
  std::atomic<int> fired{0};
  std::atomic<int> cancelled{0};
  absl::BlockingCounter over(kThreads * kTimers);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<uint64_t> ids;
      for (int i = 0; i < kTimers; ++i) {
        ids.push_back(timers.RunAt(Clock::Real().Now() + absl::Microseconds(i % 700), [&] {
          fired.fetch_add(1);
          over.DecrementCount();
        }));
        if (i % 2 == 1 && timers.Cancel(ids[static_cast<size_t>(i) / 2])) {
          cancelled.fetch_add(1);
          over.DecrementCount();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  over.Wait();
  EXPECT_EQ(fired + cancelled, kThreads * kTimers);
  EXPECT_GT(fired, 0);
}

TEST(TimerThreadTest, TimersCancelledLongBeforeTheirTimeLeaveNoMemoryBehind) {
  TimerThread timers(Clock::Real());
  const MonotonicTime late = Clock::Real().Now() + absl::Hours(24);
  size_t largest = 0;
  auto held = std::make_shared<int>(7);
  for (int i = 0; i < 200000; ++i) {
    ASSERT_TRUE(timers.Cancel(timers.RunAt(late, [held] {})));
    if (i % 1024 == 1023) {
      // The thread has been here, and swept before.
      absl::Notification here;
      timers.RunAt(MonotonicTime(), [&] { here.Notify(); });
      here.WaitForNotification();
      largest = std::max(largest, timers.size());
    }
  }
  EXPECT_LE(largest, 10000U);
  EXPECT_LE(held.use_count(), 10000);
}

TEST(TimerThreadTest, AnEarlierTimerWakesTheThread) {
  TimerThread timers(Clock::Real());
  bool late_ran = false;
  timers.RunAt(Clock::Real().Now() + absl::Hours(1), [&] { late_ran = true; });
  for (int i = 0; i < 100; ++i) {
    absl::Notification fired;
    timers.RunAt(Clock::Real().Now(), [&] { fired.Notify(); });
    fired.WaitForNotification();
  }
  EXPECT_FALSE(late_ran);
}

}  // namespace
}  // namespace understudy::internal
