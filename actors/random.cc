#include "understudy/actors/random.h"

#include <bit>
#include <cstdint>
#include <random>

#include "understudy/actors/check.h"
#include "understudy/actors/internal/system/split_mix.h"

namespace understudy {

Random::Random(uint64_t seed) {
  for (uint64_t n = 0; n < state_.size(); ++n) state_[n] = internal::SplitMix64(seed, n + 1);
}

uint64_t Random::RandomSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {
  UNDERSTUDY_CHECK(bound > 0, "Below(0) has no value to give");
  // Lemire 2019: multiply, and reject the few values that would bias.
  const uint64_t threshold = -bound % bound;
  while (true) {
    const auto product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) >= threshold) {
      return static_cast<uint64_t>(product >> 64);
    }
  }
}

double Random::Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

Random Random::Fork() { return Random(Next()); }

}  // namespace understudy
