#include "understudy/actors/address_key.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/random.h"

namespace understudy {
namespace {

constexpr AddressKey kKey(0x0706050403020100U, 0x0f0e0d0c0b0a0908U);

// How many of the 72 bits of two addresses differ.
int Distance(ActorAddress a, ActorAddress b) {
  return std::popcount(uint64_t{a.cell ^ b.cell}) + std::popcount(a.serial ^ b.serial);
}

TEST(AddressKeyTest, EveryAddressComesBackAndIsAnActors) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const AddressKey key(random.Next(), random.Next());
    const ActorAddress inside{.cell = static_cast<uint32_t>(random.Below(ActorAddress::kCellEnd)),
                              .serial = 1 + random.Below(ActorAddress::kSerialEnd - 1)};
    const ActorAddress outside = key.Permuted(inside);
    ASSERT_LT(outside.cell, ActorAddress::kCellEnd);
    ASSERT_LT(outside.serial, ActorAddress::kSerialEnd);
    ASSERT_NE(outside.serial, 0U);
    ASSERT_EQ(key.Restored(outside), inside);
    ASSERT_EQ(key.Permuted(key.Restored(inside)), inside);
  }
}

TEST(AddressKeyTest, TheLowestAndTheHighestAddressComeBack) {
  for (const ActorAddress inside :
       {ActorAddress{.cell = 0, .serial = 1},
        ActorAddress{.cell = ActorAddress::kCellEnd - 1, .serial = ActorAddress::kSerialEnd - 1}}) {
    EXPECT_EQ(kKey.Restored(kKey.Permuted(inside)), inside);
  }
}

TEST(AddressKeyTest, APlainThreadsAddressIsUnchanged) {
  EXPECT_EQ(kKey.Permuted({.cell = 0, .serial = 0}), (ActorAddress{.cell = 0, .serial = 0}));
  EXPECT_EQ(kKey.Restored({.cell = 0, .serial = 0}), (ActorAddress{.cell = 0, .serial = 0}));
}

TEST(AddressKeyTest, NeighboursOutsideAreNoNeighboursInside) {
  const ActorAddress known = kKey.Permuted({.cell = 5, .serial = 1000});
  for (const uint64_t serial : {known.serial + 1, known.serial - 1}) {
    const ActorAddress guessed = kKey.Restored({.cell = known.cell, .serial = serial});
    EXPECT_GT(guessed.serial, 1000000U);  // of the 1,000 lives that there were, none
  }
  for (const uint32_t cell : {known.cell ^ 1, known.cell ^ 2}) {
    EXPECT_GT(kKey.Restored({.cell = cell, .serial = known.serial}).serial, 1000000U);
  }
}

TEST(AddressKeyTest, AChangeOfOneBitInsideOrOfTheKeyChangesHalfOfTheBitsOutside) {
  std::vector<double> by_serial_bit(48);
  for (uint64_t serial = 1; serial <= 1000; ++serial) {
    const ActorAddress one = kKey.Permuted({.cell = 7, .serial = serial << 4});
    for (int bit = 0; bit < 48; ++bit) {
      const ActorAddress other = kKey.Permuted({.cell = 7, .serial = (serial << 4) ^ (uint64_t{1} << bit)});
      by_serial_bit[static_cast<size_t>(bit)] += Distance(one, other) / 1000.0;
    }
  }
  const auto [low, high] = std::minmax_element(by_serial_bit.begin(), by_serial_bit.end());
  EXPECT_GT(*low, 35);
  EXPECT_LT(*high, 37);
  const AddressKey other_key(0x0706050403020101U, 0x0f0e0d0c0b0a0908U);
  double by_key = 0;
  for (uint64_t serial = 1; serial <= 1000; ++serial) {
    by_key +=
        Distance(kKey.Permuted({.cell = 7, .serial = serial}), other_key.Permuted({.cell = 7, .serial = serial})) /
        1000.0;
  }
  EXPECT_GT(by_key, 35);
  EXPECT_LT(by_key, 37);
}

TEST(AddressKeyTest, KeysOfTheOperatingSystemDiffer) { EXPECT_FALSE(AddressKey::Random() == AddressKey::Random()); }

}  // namespace
}  // namespace understudy
