// Planted: a block that is never freed. LeakSanitizer, a part of AddressSanitizer, must report it.

#include <cstdlib>

#include "gtest/gtest.h"

TEST(Planted, ABlockIsLost) {
  void* volatile block = std::malloc(1000);
  EXPECT_NE(block, nullptr);
  block = nullptr;
}
