// Planted: a signed overflow. UndefinedBehaviorSanitizer must report it.

#include <limits>

#include "gtest/gtest.h"

TEST(Planted, ASignedNumberOverflows) {
  volatile int most = std::numeric_limits<int>::max();
  volatile int next = most + 1;
  EXPECT_NE(next, most);
}
