// Planted: a string is used after it was moved from. clang-tidy must report it.

#include <string>
#include <utility>

#include "gtest/gtest.h"

TEST(Planted, AStringIsUsedAfterItWasMovedFrom) {
  std::string text = "planted";
  const std::string taken = std::move(text);
  EXPECT_EQ(taken.size(), 7U + text.size());
}
