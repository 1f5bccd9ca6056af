#include "understudy/actors/random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/internal/system/split_mix.h"

namespace understudy {
namespace {

TEST(SplitMix64, GivesThePublishedSequence) {
  EXPECT_EQ(internal::SplitMix64(0, 1), 0xe220a8397b1dcdafU);
  EXPECT_EQ(internal::SplitMix64(0, 2), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(internal::SplitMix64(0, 3), 0x06c45d188009454fU);
}

TEST(RandomTest, EqualSeedsGiveEqualSequencesAndOthersDiffer) {
  Random a(1);
  Random b(1);
  Random c(2);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = a.Next();
    ASSERT_EQ(value, b.Next());
    if (value == c.Next()) ++equal;
  }
  EXPECT_EQ(equal, 0);
}

TEST(RandomTest, BelowIsUniform) {
  Random random(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[random.Below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.Below(1), 0U);
}

TEST(RandomTest, AForkDoesNotRepeatItsParent) {
  Random parent(4);
  Random fork = parent.Fork();
  std::vector<uint64_t> values(100);
  std::generate(values.begin(), values.end(), [&] { return parent.Next(); });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(std::count(values.begin(), values.end(), fork.Next()), 0);
}

TEST(RandomTest, FractionIsBelowOne) {
  Random random(5);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double fraction = random.Fraction();
    ASSERT_GE(fraction, 0.0);
    ASSERT_LT(fraction, 1.0);
    sum += fraction;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(RandomDeathTest, BelowZeroIsACheck) { EXPECT_DEATH((void)Random(1).Below(0), "Below\\(0\\)"); }

}  // namespace
}  // namespace understudy
