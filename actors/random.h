// Random: a small seeded generator (xoshiro256**, Blackman and Vigna 2018).
//
// Every random decision of a system comes from one injected Random, so that a seed
// replays a run. Not for secrets. Threads: one at a time, which is not checked; Fork
// makes a separate generator for another thread or actor.
#ifndef UNDERSTUDY_ACTORS_RANDOM_H_
#define UNDERSTUDY_ACTORS_RANDOM_H_

#include <array>
#include <cstdint>

namespace understudy {

class Random {
 public:
  // Satisfies std::uniform_random_bit_generator.
  using result_type = uint64_t;

  explicit Random(uint64_t seed);

  // A seed from the operating system.
  static uint64_t RandomSeed();

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT64_MAX; }
  result_type operator()() { return Next(); }

  // Uniform over all 64 bits.
  uint64_t Next();
  // Uniform in [0, bound). Requires bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1).
  double Fraction();
  // A generator whose sequence is independent of this one's.
  Random Fork();

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_RANDOM_H_
