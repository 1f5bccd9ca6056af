// Actors with a thread of their own.
#include <sys/mman.h>

#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

// Runs `runs` times and notes where.
class Noter final : public Runnable {
 public:
  Noter(Executor& executor, int runs) : executor_(executor), left_(runs) {}
  void Run() override {
    {
      internal::UserCode user(*internal::ThisWorker());
      threads.insert(std::this_thread::get_id());
    }
    if (--left_ > 0) {
      executor_.Schedule(this);
    } else {
      done.Notify();
    }
  }
  std::set<std::thread::id> threads;
  absl::Notification done;

 private:
  Executor& executor_;
  int left_;
};

TEST(OwnThreadsTest, AllTurnsOfOneRunOnItsThreadAndNobodyElses) {
  ThreadPool pool({.threads = 1});
  const absl::StatusOr<uint32_t> id = pool.NewOwnThread();
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_NE(*id, 0U);
  Noter own(pool, 100);
  own.set_own_thread(*id);
  Noter other(pool, 100);
  pool.Schedule(&own);
  pool.Schedule(&other);
  own.done.WaitForNotification();
  other.done.WaitForNotification();
  EXPECT_EQ(own.threads.size(), 1U);
  EXPECT_EQ(other.threads.size(), 1U);
  EXPECT_NE(*own.threads.begin(), *other.threads.begin());
  EXPECT_EQ(pool.stats().own_threads, 1);
  pool.EndOwnThread(*id);
  EXPECT_EQ(pool.stats().own_threads, 0);
}

// Waits for the test, and then wakes another.
class Waiter final : public Runnable {
 public:
  Waiter(Executor& executor, Runnable& wakes) : executor_(executor), wakes_(wakes) {}
  void Run() override {
    {
      internal::UserCode user(*internal::ThisWorker());
      running.Notify();
      go_on.WaitForNotification();
    }
    was_fenced = internal::ThisWorker()->rights == internal::Rights::kNone;
    executor_.Schedule(&wakes_);
  }
  absl::Notification running;
  absl::Notification go_on;
  bool was_fenced = false;

 private:
  Executor& executor_;
  Runnable& wakes_;
};

// EBA 17
TEST(OwnThreadsTest, OneMayBlockAndNoWorkerIsTakenOver) {
  ThreadPool pool({.threads = 1});
  constexpr int kWaiters = 20;
  std::vector<std::unique_ptr<Noter>> woken;
  std::vector<std::unique_ptr<Waiter>> waiters;
  std::vector<uint32_t> ids;
  for (int i = 0; i < kWaiters; ++i) {
    ids.push_back(*pool.NewOwnThread());
    woken.push_back(std::make_unique<Noter>(pool, 1));
    waiters.push_back(std::make_unique<Waiter>(pool, *woken.back()));
    waiters.back()->set_own_thread(ids.back());
    pool.Schedule(waiters.back().get());
  }
  for (const auto& waiter : waiters) waiter->running.WaitForNotification();
  Noter other(pool, 10000);
  pool.Schedule(&other);
  other.done.WaitForNotification();
  EXPECT_EQ(pool.stats().surplus, 0);
  for (const auto& waiter : waiters) waiter->go_on.Notify();
  for (const auto& one : woken) {
    one->done.WaitForNotification();
    EXPECT_EQ(one->threads, other.threads) << "what it wakes runs on the pool";
  }
  for (const uint32_t id : ids) pool.EndOwnThread(id);
}

TEST(OwnThreadsTest, OneIsHeldInItsUserCodeAndMayBeEndedMeanwhile) {
  ThreadPool pool({.threads = 1});
  Noter woken(pool, 1);
  Waiter waiter(pool, woken);
  waiter.set_own_thread(*pool.NewOwnThread());
  EXPECT_FALSE(pool.WhileInUserCode(&waiter, [] { return true; }, [] {}));
  pool.Schedule(&waiter);
  waiter.running.WaitForNotification();
  int calls = 0;
  EXPECT_TRUE(pool.WhileInUserCode(
      &waiter, [] { return true; },
      [&] {
        ++calls;
        pool.EndOwnThread(waiter.own_thread());
      }));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(pool.stats().own_threads, 0);
  waiter.go_on.Notify();
  woken.done.WaitForNotification();
  EXPECT_TRUE(waiter.was_fenced);
}

TEST(OwnThreadsTest, TheSeededExecutorHasOneThreadForAll) {
  SeededExecutor executor(1);
  EXPECT_EQ(*executor.NewOwnThread(), 0U);
  executor.EndOwnThread(0);
}

// The next actor may be made in its place meanwhile.
TEST(OwnThreadsTest, AFenceLooksAtNothingOfATurnThatMayHaveEnded) {
  void* const nothing = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  {
    ThreadPool pool({.threads = 1});
    ASSERT_TRUE(pool.NewOwnThread().ok());
    EXPECT_FALSE(pool.WhileInUserCode(static_cast<Runnable*>(nothing), [] { return true; }, [] {}));
  }
  ASSERT_EQ(munmap(nothing, 4096), 0);
}

}  // namespace
}  // namespace understudy
