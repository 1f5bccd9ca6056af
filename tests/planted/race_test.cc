// Planted: two threads write one int. ThreadSanitizer must report it.

#include <thread>

#include "gtest/gtest.h"

TEST(Planted, TwoThreadsWriteWithoutALock) {
  int turns = 0;
  auto count = [&] {
    for (int i = 0; i < 1000; ++i) turns = turns + 1;
  };
  std::thread one(count), two(count);
  one.join();
  two.join();
  EXPECT_GT(turns, 0);
}
