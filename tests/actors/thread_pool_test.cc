#include "understudy/actors/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"

namespace understudy {
namespace {

// Runs `runs` times, scheduling itself again. Its count is a plain int: it may
// never run on two threads at once, and what one run wrote the next one sees.
class Runner final : public Runnable {
 public:
  Runner(Executor& executor, int runs, absl::BlockingCounter& done) : executor_(executor), left_(runs), done_(done) {}
  void Run() override {
    if (--left_ > 0) {
      executor_.Schedule(this);
    } else {
      done_.DecrementCount();
    }
  }

 private:
  Executor& executor_;
  int left_;
  absl::BlockingCounter& done_;
};

TEST(ThreadPoolTest, RunsEverythingOncePerSchedule) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool({.threads = threads});
    EXPECT_EQ(pool.thread_count(), threads);
    constexpr int kRunners = 200;
    absl::BlockingCounter done(kRunners);
    std::vector<std::unique_ptr<Runner>> runners;
    for (int i = 0; i < kRunners; ++i) runners.push_back(std::make_unique<Runner>(pool, 100, done));
    for (const auto& runner : runners) pool.Schedule(runner.get());
    done.Wait();
  }
}

TEST(ThreadPoolTest, TakesWorkFromManyThreads) {
  ThreadPool pool({.threads = 3});
  constexpr int kThreads = 4;
  constexpr int kRunners = 100;
  absl::BlockingCounter done(kThreads * kRunners);
  std::vector<std::unique_ptr<Runner>> runners;
  for (int i = 0; i < kThreads * kRunners; ++i) runners.push_back(std::make_unique<Runner>(pool, 3, done));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRunners; ++i) pool.Schedule(runners[static_cast<size_t>(t * kRunners + i)].get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  done.Wait();
}

// Occupies its worker until it is let go.
class Blocker final : public Runnable {
 public:
  void Run() override {
    running.Notify();
    go_on.WaitForNotification();
    done.Notify();
  }
  absl::Notification running;
  absl::Notification go_on;
  absl::Notification done;
};

// Schedules two on its own worker, then waits until the first has been done. The
// second has taken its place, as the one that runs next.
class Spreader final : public Runnable {
 public:
  Spreader(ThreadPool& pool, Blocker& first, Runnable& second) : pool_(pool), first_(first), second_(second) {}
  void Run() override {
    pool_.Schedule(&first_);
    pool_.Schedule(&second_);
    first_.done.WaitForNotification();
  }

 private:
  ThreadPool& pool_;
  Blocker& first_;
  Runnable& second_;
};

TEST(ThreadPoolTest, AnIdleWorkerStealsWhatABusyOneHas) {
  ThreadPool pool({.threads = 2});
  for (int i = 0; i < 100; ++i) {
    Blocker first;
    Blocker second;
    first.go_on.Notify();
    second.go_on.Notify();
    Spreader spreader(pool, first, second);
    pool.Schedule(&spreader);
    second.done.WaitForNotification();
    EXPECT_TRUE(first.done.HasBeenNotified());
  }
}

// Notes its number, and makes others runnable.
class Numbered final : public Runnable {
 public:
  Numbered(Executor& executor, int number, std::vector<int>& order)
      : executor_(executor), number_(number), order_(order) {}
  void Run() override {
    order_.push_back(number_);
    if (over != nullptr && order_.size() >= 100) {
      over->Notify();
      return;
    }
    for (Runnable* runnable : wakes) executor_.Schedule(runnable);
    if (is_last) done.Notify();
  }
  std::vector<Runnable*> wakes;
  bool is_last = false;
  absl::Notification done;
  absl::Notification* over = nullptr;  // notified, instead of waking, by the hundredth run

 private:
  Executor& executor_;
  int number_;
  std::vector<int>& order_;
};

TEST(ThreadPoolTest, TheActorThatATurnMadeRunnableLastRunsNext) {
  ThreadPool pool({.threads = 1});
  std::vector<int> order;
  std::vector<std::unique_ptr<Numbered>> all;
  for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<Numbered>(pool, i, order));
  all[0]->wakes = {all[1].get(), all[2].get(), all[3].get()};
  all[2]->is_last = true;
  pool.Schedule(all[0].get());
  all[2]->done.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{0, 3, 1, 2}));
}

TEST(ThreadPoolTest, TwoThatWakeEachOtherDoNotStarveTheQueue) {
  ThreadPool pool({.threads = 1, .slot_runs_max = 10, .shared_first_every = 1000000});
  std::vector<int> order;
  Numbered first(pool, 0, order);
  Numbered ping(pool, 1, order);
  Numbered pong(pool, 2, order);
  Numbered waiting(pool, 3, order);
  first.wakes = {&waiting, &ping};
  ping.wakes = {&pong};
  pong.wakes = {&ping};
  absl::Notification over;
  ping.over = pong.over = &over;
  pool.Schedule(&first);
  over.WaitForNotification();
  const auto place = std::find(order.begin(), order.end(), 3);
  ASSERT_NE(place, order.end());
  EXPECT_LE(place - order.begin(), 1 + 10);
}

TEST(ThreadPoolTest, ActorsThatPlainThreadsScheduleGetTheirShareBesideThoseThatAreNeverDone) {
  constexpr int kOthers = 1000;
  ThreadPool pool({.threads = 1});
  std::atomic<bool> is_over{false};
  std::atomic<int64_t> endless_turns{0};
  class Endless final : public Runnable {
   public:
    Endless(Executor& executor, std::atomic<bool>& is_over, std::atomic<int64_t>& turns)
        : executor_(executor), is_over_(is_over), turns_(turns) {}
    void Run() override {
      ++turns_;
      if (is_over_.load()) {
        done.Notify();
      } else {
        executor_.Schedule(this);
      }
    }
    absl::Notification done;

   private:
    Executor& executor_;
    std::atomic<bool>& is_over_;
    std::atomic<int64_t>& turns_;
  };
  // The last of them notes how many turns the endless ones have had.
  class Other final : public Runnable {
   public:
    Other(int& left, std::atomic<int64_t>& turns, int64_t& turns_at_end, absl::Notification& done)
        : left_(left), turns_(turns), turns_at_end_(turns_at_end), done_(done) {}
    void Run() override {
      if (--left_ > 0) return;
      turns_at_end_ = turns_.load();
      done_.Notify();
    }

   private:
    int& left_;
    std::atomic<int64_t>& turns_;
    int64_t& turns_at_end_;
    absl::Notification& done_;
  };
  int left = kOthers;
  int64_t turns_at_end = 0;
  absl::Notification done;
  std::vector<std::unique_ptr<Endless>> endless;
  std::vector<std::unique_ptr<Other>> others;
  Blocker blocker;
  pool.Schedule(&blocker);
  for (int i = 0; i < 3; ++i) {
    endless.push_back(std::make_unique<Endless>(pool, is_over, endless_turns));
    pool.Schedule(endless.back().get());
  }
  for (int i = 0; i < kOthers; ++i) {
    others.push_back(std::make_unique<Other>(left, endless_turns, turns_at_end, done));
    pool.Schedule(others.back().get());
  }
  blocker.go_on.Notify();
  done.WaitForNotification();
  EXPECT_LT(turns_at_end, 10 * kOthers);
  is_over.store(true);
  for (const auto& one : endless) one->done.WaitForNotification();
  EXPECT_EQ(pool.stats().workers, 1);
}

TEST(ThreadPoolTest, ATurnMayMakeMoreRunnableThanAQueueHolds) {
  for (const int threads : {1, 2}) {
    ThreadPool pool({.threads = threads});
    constexpr int kRunners = 5000;
    absl::BlockingCounter done(kRunners);
    std::vector<std::unique_ptr<Runner>> runners;
    for (int i = 0; i < kRunners; ++i) runners.push_back(std::make_unique<Runner>(pool, 2, done));
    std::vector<int> order;
    Numbered first(pool, 0, order);
    for (const auto& runner : runners) first.wakes.push_back(runner.get());
    pool.Schedule(&first);
    done.Wait();
    EXPECT_EQ(order.size(), 1U);
  }
}

TEST(ThreadPoolTest, AnIdlePoolDoesNothing) {
  ThreadPool pool({.threads = 2});
  Blocker one;
  one.go_on.Notify();
  pool.Schedule(&one);
  one.done.WaitForNotification();
  while (pool.stats().parked < 2) std::this_thread::yield();
  const int64_t before = pool.stats().rounds;
  absl::Notification later;
  pool.RunAt(pool.clock().Now() + absl::Milliseconds(100), [&] { later.Notify(); });
  later.WaitForNotification();
  EXPECT_EQ(pool.stats().parked, 2);
  // The worker may have been in the middle of a round and have gone to sleep after it. Without sleep it would make
  // fifty rounds.
  EXPECT_LE(pool.stats().rounds - before, 2);
}

TEST(ThreadPoolTest, TimersRunAtTheirTimeInOrder) {
  ThreadPool pool({.threads = 1});
  std::vector<int> order;
  absl::Notification done;
  const MonotonicTime begin = pool.clock().Now();
  pool.RunAt(begin + absl::Milliseconds(20), [&] {
    order.push_back(2);
    EXPECT_GE(pool.clock().Now(), begin + absl::Milliseconds(20));
    done.Notify();
  });
  pool.RunAt(begin + absl::Milliseconds(10), [&] { order.push_back(1); });
  const uint64_t cancelled = pool.RunAt(begin + absl::Milliseconds(15), [&] { order.push_back(3); });
  EXPECT_TRUE(pool.Cancel(cancelled));
  done.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(ThreadPoolTest, TimersThatAreNotDueNeverRunAfterItsEnd) {
  bool ran = false;
  {
    ThreadPool pool({.threads = 1});
    pool.RunAt(pool.clock().Now() + absl::Hours(1), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(ThreadPoolTest, BlockUntilWakesOnNotifyAndStopsAtItsDeadline) {
  ThreadPool pool({.threads = 1});
  EXPECT_FALSE(pool.BlockUntil([] { return false; }, pool.clock().Now() + absl::Milliseconds(5)));
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> is_done{false};
    std::thread other([&] {
      is_done.store(true);
      pool.Notify();
    });
    EXPECT_TRUE(pool.BlockUntil([&] { return is_done.load(); }, MonotonicTime::InfiniteFuture()));
    other.join();
  }
}

// Blocks on the pool from one of its own workers.
class SelfWaiter final : public Runnable {
 public:
  explicit SelfWaiter(ThreadPool& pool) : pool_(pool) {}
  void Run() override {
    (void)pool_.BlockUntil([] { return true; }, MonotonicTime::InfiniteFuture());
  }

 private:
  ThreadPool& pool_;
};

TEST(ThreadPoolDeathTest, AWorkerThatWaitsForThePoolIsACheck) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadPool pool({.threads = 1});
        SelfWaiter waiter(pool);
        pool.Schedule(&waiter);
        absl::Notification().WaitForNotificationWithTimeout(absl::Seconds(60));
      },
      "a worker of the pool would wait for the pool");
}

}  // namespace
}  // namespace understudy
