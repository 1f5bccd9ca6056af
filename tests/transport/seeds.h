// The seeds of a property test: 1 to `count` times UNDERSTUDY_ROUNDS_FACTOR, or the one that failed:
//
//   bazel test //tests/transport:peer_session_property_test --test_env=UNDERSTUDY_SEED=7
#ifndef UNDERSTUDY_TESTS_TRANSPORT_SEEDS_H_
#define UNDERSTUDY_TESTS_TRANSPORT_SEEDS_H_

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/numbers.h"

namespace understudy {

inline std::vector<uint64_t> SeedsOf(uint64_t count) {
  uint64_t given = 0;
  const char* text = std::getenv("UNDERSTUDY_SEED");
  if (text != nullptr && absl::SimpleAtoi(text, &given)) return {given};
  uint64_t factor = 1;
  text = std::getenv("UNDERSTUDY_ROUNDS_FACTOR");
  if (text != nullptr && !absl::SimpleAtoi(text, &factor)) std::abort();
  std::vector<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= count * factor; ++seed) seeds.push_back(seed);
  return seeds;
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_SEEDS_H_
