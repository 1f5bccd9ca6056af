// SplitMix64 (Steele, Lea, Flood 2014): spreads few or similar bits over 64.
//
// Pure function; any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SPLIT_MIX_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SPLIT_MIX_H_

#include <cstdint>

namespace understudy::internal {

// Returns the output number `n`, from 1, of the generator with that seed. With n = 0 it mixes the bits of `seed` alone.
// For each `n` different seeds have different outputs, and the other way round.
constexpr uint64_t SplitMix64(uint64_t seed, uint64_t n) {
  uint64_t z = seed + n * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SPLIT_MIX_H_
