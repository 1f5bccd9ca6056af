// Every dependency links and runs under the toolchain in use, in each configuration of .bazelrc.

#include <sqlite3.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/build/internal/greeter.h"

namespace understudy::build_test {
namespace {

TEST(DependenciesTest, AGrpcCallOverLoopbackIsAnswered) {
  GreeterServer server;
  absl::StatusOr<std::string> text = Greet(server.address(), "Ludmilla", absl::Seconds(10));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, testing::HasSubstr("Ludmilla"));
}

TEST(DependenciesTest, AMutexOrdersTwoThreads) {
  absl::Mutex mu;
  int turns = 0;
  auto count = [&] {
    for (int i = 0; i < 1000; ++i) {
      absl::MutexLock lock(&mu);
      ++turns;
    }
  };
  std::thread one(count), two(count);
  one.join();
  two.join();
  EXPECT_EQ(turns, 2000);
}

TEST(DependenciesTest, AConditionOrdersWhatItWaitsFor) {
  absl::Mutex mu;
  int stage = 0;
  std::thread other([&] {
    absl::MutexLock lock(&mu);
    mu.Await(absl::Condition(+[](int* stage) { return *stage == 1; }, &stage));
    stage = 2;
  });
  mu.Lock();
  stage = 1;
  mu.Unlock();
  mu.LockWhen(absl::Condition(+[](int* stage) { return *stage == 2; }, &stage));
  EXPECT_EQ(stage, 2);
  mu.Unlock();
  other.join();
}

TEST(DependenciesTest, ANotificationOrdersWhatCameBeforeIt) {
  absl::Notification done;
  int result = 0;
  std::thread other([&] {
    result = 7;
    done.Notify();
  });
  while (!done.HasBeenNotified()) std::this_thread::yield();
  EXPECT_EQ(result, 7);
  done.WaitForNotification();
  other.join();
}

TEST(DependenciesTest, ACounterAndACondVarOrderManyThreads) {
  absl::BlockingCounter all(4);
  absl::Mutex mu;
  absl::CondVar changed;
  int results[4] = {};
  bool go = false;
  std::vector<std::thread> threads;
  for (int& result : results) {
    threads.emplace_back([&] {
      absl::MutexLock lock(&mu);
      while (!go) changed.Wait(&mu);
      result = 1;
      all.DecrementCount();
    });
  }
  {
    absl::MutexLock lock(&mu);
    go = true;
    changed.SignalAll();
  }
  all.Wait();
  EXPECT_THAT(results, testing::Each(1));
  for (std::thread& thread : threads) thread.join();
}

TEST(DependenciesTest, AHashMapHoldsWhatTheRandomSourceGives) {
  absl::BitGen gen;
  absl::flat_hash_map<int, int> map;
  for (int i = 0; i < 100; ++i) map[i] = absl::Uniform(gen, 0, 10);
  EXPECT_EQ(map.size(), 100u);
}

TEST(DependenciesTest, SqliteOpensADatabaseInMemory) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "CREATE TABLE t(a)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace
}  // namespace understudy::build_test
