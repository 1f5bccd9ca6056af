#include "understudy/actors/thread_pool.h"

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

// Schedules other work on its own worker, then waits until it has been done.
class Spreader final : public Runnable {
 public:
  Spreader(ThreadPool& pool, Runnable& other, absl::Notification& other_done)
      : pool_(pool), other_(other), other_done_(other_done) {}
  void Run() override {
    pool_.Schedule(&other_);
    other_done_.WaitForNotification();
    done.Notify();
  }
  absl::Notification done;

 private:
  ThreadPool& pool_;
  Runnable& other_;
  absl::Notification& other_done_;
};

TEST(ThreadPoolTest, AnIdleWorkerStealsWhatABusyOneHas) {
  ThreadPool pool({.threads = 2});
  for (int i = 0; i < 100; ++i) {
    Blocker other;
    other.go_on.Notify();
    Spreader spreader(pool, other, other.done);
    pool.Schedule(&spreader);
    spreader.done.WaitForNotification();
  }
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
