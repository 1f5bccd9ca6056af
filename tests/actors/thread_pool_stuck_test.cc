// ThreadPool with handlers that do not return, on real threads. A handler blocks until the test notifies it; the test
// waits for events with a deadline.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

MonotonicTime Deadline() { return Clock::Real().Now() + absl::Seconds(50); }

// A turn whose handler waits for the test.
class Blocked final : public Runnable {
 public:
  void Run() override {
    {
      internal::UserCode user(*internal::ThisWorker());
      running.Notify();
      go_on.WaitForNotification();
    }
    was_fenced = internal::ThisWorker()->rights == internal::Rights::kNone;
    done.Notify();
  }
  std::string Describe() override { return "the blocked one"; }
  absl::Notification running;
  absl::Notification go_on;
  absl::Notification done;
  bool was_fenced = false;
};

// Two of them wake each other until there have been `rounds` turns.
class PingPong final : public Runnable {
 public:
  PingPong(Executor& executor, int rounds) : executor_(executor), left_(rounds) {}
  void Run() override {
    {
      internal::UserCode user(*internal::ThisWorker());
    }
    if (--left_ > 0) {
      executor_.Schedule(peer);
    } else {
      done.Notify();
    }
  }
  Runnable* peer = this;
  absl::Notification done;

 private:
  Executor& executor_;
  int left_;
};

// Runs a ping-pong of 1e4 round trips to its end.
void PlayPingPong(ThreadPool& pool) {
  PingPong a(pool, 10000);
  PingPong b(pool, 20000);
  a.peer = &b;
  b.peer = &a;
  pool.Schedule(&a);
  a.done.WaitForNotification();
}

bool ReachesNoSurplus(ThreadPool& pool) {
  return pool.BlockUntil([&] { return pool.stats().surplus == 0 && pool.stats().stuck == 0; }, Deadline());
}

// EBA 17: the task is queued just before the last worker blocks, and nothing is sent later.
TEST(StuckWorkerTest, ItsSlotAndQueueAreTakenOver) {
  ThreadPool pool({.threads = 1});
  Blocked others[3];
  for (Blocked& other : others) other.go_on.Notify();
  class Waiter final : public Runnable {
   public:
    Waiter(ThreadPool& pool, Blocked (&others)[3]) : pool_(pool), others_(others) {}
    void Run() override {
      for (Blocked& other : others_) pool_.Schedule(&other);
      internal::UserCode user(*internal::ThisWorker());
      for (Blocked& other : others_) other.done.WaitForNotification();
      // This thread's worker has been taken over, so a turn that it schedules runs on another thread.
      Blocked late;
      late.go_on.Notify();
      {
        internal::KernelCode kernel;
        pool_.Schedule(&late);
      }
      late.done.WaitForNotification();
      stats = pool_.stats();
      done.Notify();
    }
    absl::Notification done;
    ThreadPoolStats stats;

   private:
    ThreadPool& pool_;
    Blocked (&others_)[3];
  };
  Waiter waiter(pool, others);
  pool.Schedule(&waiter);
  waiter.done.WaitForNotification();
  EXPECT_GE(waiter.stats.takeovers, 1);
  EXPECT_GE(waiter.stats.stuck, 1);
  EXPECT_GE(waiter.stats.surplus, 1);
  EXPECT_TRUE(ReachesNoSurplus(pool)) << "a surplus thread retires when the handler has returned";
  EXPECT_EQ(pool.stats().workers, 1);
  EXPECT_EQ(pool.stats().handlers_entered, 5U) << "what the surplus thread did counts, although it has ended";
}

TEST(StuckWorkerTest, WhatATurnMadeRunnableDoesNotWaitBehindItWhileAWorkerSleeps) {
  // Handlers that are shorter than take_over_after, in a turn that is much longer.
  ThreadPool pool({.threads = 2, .take_over_after = absl::Hours(1)});
  Blocked next;
  next.go_on.Notify();
  class LongTurn final : public Runnable {
   public:
    LongTurn(ThreadPool& pool, Blocked& next) : pool_(pool), next_(next) {}
    void Run() override {
      pool_.Schedule(&next_);
      while (!is_met && Clock::Real().Now() < deadline_) {
        internal::UserCode user(*internal::ThisWorker());
        is_met = next_.done.WaitForNotificationWithTimeout(absl::Milliseconds(4));
      }
      done.Notify();
    }
    absl::Notification done;
    bool is_met = false;

   private:
    ThreadPool& pool_;
    Blocked& next_;
    const MonotonicTime deadline_ = Deadline();
  };
  LongTurn turn(pool, next);
  pool.Schedule(&turn);
  turn.done.WaitForNotification();
  EXPECT_TRUE(turn.is_met);
  EXPECT_EQ(pool.stats().takeovers, 0);
  next.done.WaitForNotification();
}

// EBA 17
TEST(StuckWorkerTest, TwentyBlockedHandlersOnTwoWorkersHoldUpNobody) {
  ThreadPool pool({.threads = 2});
  std::vector<std::unique_ptr<Blocked>> blocked;
  for (int i = 0; i < 20; ++i) {
    blocked.push_back(std::make_unique<Blocked>());
    pool.Schedule(blocked.back().get());
  }
  PlayPingPong(pool);
  for (const auto& one : blocked) one->running.WaitForNotification();
  PlayPingPong(pool);
  EXPECT_GE(pool.stats().takeovers, 19) << "the last may not have been taken over yet";
  EXPECT_LE(pool.stats().workers, 2 + 20);
  for (const auto& one : blocked) one->go_on.Notify();
  for (const auto& one : blocked) one->done.WaitForNotification();
  EXPECT_TRUE(ReachesNoSurplus(pool));
}

// EBA 18
TEST(StuckWorkerTest, FourEndlessLoopsOnTwoWorkersHoldUpNobody) {
  class Hog final : public Runnable {
   public:
    explicit Hog(std::atomic<bool>& is_over) : is_over_(is_over) {}
    void Run() override {
      {
        internal::UserCode user(*internal::ThisWorker());
        while (!is_over_.load(std::memory_order_relaxed)) {
        }
      }
      done.Notify();
    }
    absl::Notification done;

   private:
    std::atomic<bool>& is_over_;
  };
  ThreadPool pool({.threads = 2});
  std::atomic<bool> is_over{false};
  std::vector<std::unique_ptr<Hog>> hogs;
  for (int i = 0; i < 4; ++i) {
    hogs.push_back(std::make_unique<Hog>(is_over));
    pool.Schedule(hogs.back().get());
  }
  PlayPingPong(pool);
  is_over.store(true);
  for (const auto& hog : hogs) hog->done.WaitForNotification();
  EXPECT_LE(pool.stats().workers, 2 + 4);
  EXPECT_TRUE(ReachesNoSurplus(pool));
}

TEST(StuckWorkerTest, OneThatCallsTheKernelAllTheTimeIsAsStuck) {
  class Busy final : public Runnable {
   public:
    void Run() override {
      {
        internal::UserCode user(*internal::ThisWorker());
        running.Notify();
        while (!is_over.load(std::memory_order_relaxed)) internal::KernelCode kernel;
      }
      done.Notify();
    }
    absl::Notification running;
    absl::Notification done;
    std::atomic<bool> is_over{false};
  };
  ThreadPool pool({.threads = 1});
  Busy busy;
  pool.Schedule(&busy);
  busy.running.WaitForNotification();
  PlayPingPong(pool);
  EXPECT_GE(pool.stats().takeovers, 1);
  busy.is_over.store(true);
  busy.done.WaitForNotification();
}

// EBA 18
// A machine under load may keep a thread from running for so long that it is taken for stuck, so a few more are borne.
TEST(StuckWorkerTest, AHundredThousandThatDoNotBlockNeedNoMoreThreads) {
  ThreadPool pool({.threads = 2});
  constexpr int kActors = 100000;
  std::atomic<int> left{kActors};
  class Short final : public Runnable {
   public:
    explicit Short(std::atomic<int>& left) : left_(left) {}
    void Run() override {
      {
        internal::UserCode user(*internal::ThisWorker());
      }
      left_.fetch_sub(1);
    }

   private:
    std::atomic<int>& left_;
  };
  std::vector<Short> actors(kActors, Short(left));
  int most = 0;
  for (Short& actor : actors) {
    pool.Schedule(&actor);
    if (left.load() % 100 == 0) most = std::max(most, pool.stats().workers);
  }
  while (left.load() > 0) most = std::max(most, pool.stats().workers);
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 2 + 6);
  EXPECT_TRUE(ReachesNoSurplus(pool));
}

// EBA 18: the pool does not grow without bound.
TEST(StuckWorkerTest, ThereAreNoMoreWorkersThanTheBound) {
  ThreadPool pool({.threads = 1, .surplus_threads_max = 2});
  Blocked blocked[5];
  for (Blocked& one : blocked) pool.Schedule(&one);
  EXPECT_TRUE(pool.BlockUntil([&] { return pool.stats().workers_refused == 1; }, Deadline()))
      << pool.stats().workers_refused << " refused";
  EXPECT_EQ(pool.stats().workers, 3);
  EXPECT_EQ(pool.stats().stuck, 3);
  for (Blocked& one : blocked) one.go_on.Notify();
  for (Blocked& one : blocked) one.done.WaitForNotification();
  EXPECT_TRUE(ReachesNoSurplus(pool));
}

TEST(StuckWorkerTest, EachWorkerThatIsMissingIsCountedOnce) {
  ThreadPool pool({.threads = 2, .surplus_threads_max = 0});
  Blocked blocked[3];
  const auto reaches = [&](int64_t refused) {
    return pool.BlockUntil([&] { return pool.stats().workers_refused == refused; }, Deadline());
  };
  pool.Schedule(&blocked[0]);
  EXPECT_TRUE(reaches(1)) << pool.stats().workers_refused << " refused";
  const int64_t rounds = pool.stats().rounds;
  while (pool.stats().rounds < rounds + 10) std::this_thread::yield();
  EXPECT_EQ(pool.stats().workers_refused, 1) << "the same one, missing for several rounds";
  pool.Schedule(&blocked[1]);
  EXPECT_TRUE(reaches(2)) << pool.stats().workers_refused << " refused";
  blocked[0].go_on.Notify();
  blocked[1].go_on.Notify();
  EXPECT_TRUE(ReachesNoSurplus(pool));
  pool.Schedule(&blocked[2]);
  EXPECT_TRUE(reaches(3)) << pool.stats().workers_refused << " refused";
  blocked[2].go_on.Notify();
  blocked[2].done.WaitForNotification();
}

// While it lives the operating system gives no threads: they would have stacks larger than its addresses.
class NoThreads {
 public:
  NoThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    EXPECT_EQ(pthread_getattr_default_np(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 48), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(StuckWorkerTest, AThreadThatTheOperatingSystemRefusesIsCountedAndMadeWhenItGivesOne) {
  ThreadPool pool({.threads = 1});
  Blocked blocked;
  Blocked other;
  other.go_on.Notify();
  {
    const NoThreads no_threads;
    pool.Schedule(&blocked);
    EXPECT_TRUE(pool.BlockUntil([&] { return pool.stats().workers_refused == 1; }, Deadline()))
        << pool.stats().workers_refused << " refused";
    EXPECT_EQ(pool.stats().workers, 1);
  }
  pool.Schedule(&other);
  other.done.WaitForNotification();
  EXPECT_EQ(pool.stats().workers_refused, 1);
  blocked.go_on.Notify();
  blocked.done.WaitForNotification();
}

TEST(StuckWorkerTest, TimersDoNotWaitForIt) {
  ThreadPool pool({.threads = 1, .surplus_threads_max = 0});
  Blocked blocked;
  pool.Schedule(&blocked);
  blocked.running.WaitForNotification();
  absl::Notification fired;
  pool.RunAt(pool.clock().Now() + absl::Milliseconds(1), [&] { fired.Notify(); });
  fired.WaitForNotification();
  EXPECT_FALSE(blocked.done.HasBeenNotified());
  blocked.go_on.Notify();
  blocked.done.WaitForNotification();
}

TEST(StuckWorkerTest, IsHeldInItsUserCodeAndNotElsewhere) {
  ThreadPool pool({.threads = 2});
  Blocked blocked;
  Blocked other;
  pool.Schedule(&blocked);
  blocked.running.WaitForNotification();
  int calls = 0;
  EXPECT_FALSE(pool.WhileInUserCode(&other, [] { return true; }, [&] { ++calls; })) << "it does not run";
  EXPECT_EQ(calls, 0);
  // The watchdog may hold it just now.
  while (!pool.WhileInUserCode(&blocked, [] { return true; }, [&] { ++calls; })) {
  }
  EXPECT_EQ(calls, 1);
  blocked.go_on.Notify();
  blocked.done.WaitForNotification();
  EXPECT_TRUE(blocked.was_fenced);
  EXPECT_FALSE(pool.WhileInUserCode(&blocked, [] { return true; }, [&] { ++calls; })) << "it has returned";
  pool.Schedule(&other);
  other.go_on.Notify();
  other.done.WaitForNotification();
  EXPECT_FALSE(other.was_fenced) << "the mark belongs to a turn";
}

TEST(StuckWorkerTest, KernelCodeOfAHandlerIsHeldOffMeanwhile) {
  ThreadPool pool({.threads = 1});
  class Caller final : public Runnable {
   public:
    void Run() override {
      CallTheKernel();
      done.Notify();
    }
    absl::Notification running;
    absl::Notification done;
    std::atomic<bool> is_held{false};
    std::atomic<int> overlaps{0};

   private:
    void CallTheKernel() {
      internal::UserCode user(*internal::ThisWorker());
      running.Notify();
      for (;;) {
        internal::KernelCode kernel;
        if (is_held.load()) overlaps.fetch_add(1);
        if (kernel.is_fenced()) break;
      }
    }
  };
  for (int i = 0; i < 20; ++i) {
    Caller caller;
    pool.Schedule(&caller);
    caller.running.WaitForNotification();
    while (!pool.WhileInUserCode(
        &caller, [] { return true; },
        [&] {
          caller.is_held.store(true);
          for (int k = 0; k < 1000; ++k) (void)caller.overlaps.load();
          caller.is_held.store(false);
        })) {
    }
    caller.done.WaitForNotification();
    EXPECT_EQ(caller.overlaps.load(), 0);
    EXPECT_FALSE(pool.WhileInUserCode(&caller, [] { return true; }, [] {})) << "it has been fenced already";
  }
}

class NotingSink final : public LogSink {
 public:
  void Put(const LogLine& line) override {
    absl::MutexLock lock(&mu_);
    lines_.emplace_back(line.text);
    if (lines_.size() == 2) twice.Notify();
  }
  std::vector<std::string> lines() {
    absl::MutexLock lock(&mu_);
    return lines_;
  }
  absl::Notification twice;

 private:
  absl::Mutex mu_;
  std::vector<std::string> lines_;
};

TEST(StuckWorkerTest, AHandlerThatGoesOnIsNamedInTheLog) {
  NotingSink sink;
  ThreadPool pool({.threads = 1, .name_after = absl::Milliseconds(20), .log = &sink});
  Blocked blocked;
  pool.Schedule(&blocked);
  sink.twice.WaitForNotification();
  EXPECT_THAT(sink.lines()[0], HasSubstr("a handler has been running for "));
  EXPECT_THAT(sink.lines()[0], HasSubstr("the blocked one"));
  EXPECT_THAT(sink.lines()[1], HasSubstr("the blocked one"));
  EXPECT_GE(pool.stats().long_handlers, 2);
  blocked.go_on.Notify();
  blocked.done.WaitForNotification();
}

TEST(StuckWorkerTest, AtTheBoundOfThreadsTheLogNamesTheHandlersThatHoldThem) {
  NotingSink sink;
  ThreadPool pool({.threads = 1, .surplus_threads_max = 1, .name_after = absl::Milliseconds(100), .log = &sink});
  Blocked blocked[3];
  for (Blocked& one : blocked) pool.Schedule(&one);
  sink.twice.WaitForNotification();
  EXPECT_THAT(sink.lines()[0], HasSubstr("handlers that do not return hold 2 of 2 workers, and no more can be added"));
  EXPECT_THAT(sink.lines()[0],
              testing::ContainsRegex("the blocked one for .*, the blocked one for .*; let them await"));
  for (Blocked& one : blocked) one.go_on.Notify();
  for (Blocked& one : blocked) one.done.WaitForNotification();
}

TEST(StuckWorkerTest, ThePoolsEndWaitsForItWhileItIsNamedInTheLog) {
  NotingSink sink;
  Blocked blocked;
  std::atomic<bool> has_ended{false};
  auto pool =
      std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = 1, .name_after = absl::Milliseconds(20), .log = &sink});
  pool->Schedule(&blocked);
  blocked.running.WaitForNotification();
  std::thread destroyer([&] {
    pool.reset();
    has_ended.store(true);
  });
  sink.twice.WaitForNotification();
  EXPECT_FALSE(has_ended.load());
  blocked.go_on.Notify();
  destroyer.join();
  EXPECT_TRUE(blocked.done.HasBeenNotified());
}

}  // namespace
}  // namespace understudy
