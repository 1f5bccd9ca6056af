#include "understudy/actors/testing/seeds.h"

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/check.h"

namespace understudy {
namespace {

// Returns false if the test has failed with this seed.
bool PassesWith(uint64_t seed, absl::FunctionRef<void(uint64_t)> body) {
  SCOPED_TRACE(absl::StrCat("seed ", seed, "; UNDERSTUDY_SEED=", seed, " runs it alone"));
  body(seed);
  if (!testing::Test::HasFailure()) return true;
  ADD_FAILURE() << "the test failed with seed " << seed;
  return false;
}

}  // namespace

absl::optional<uint64_t> SeedFromEnvironment() {
  const char* text = std::getenv("UNDERSTUDY_SEED");
  if (text == nullptr || *text == '\0') return absl::nullopt;
  uint64_t seed = 0;
  UNDERSTUDY_CHECK(absl::SimpleAtoi(text, &seed), "UNDERSTUDY_SEED is \"", text, "\", not a number");
  return seed;
}

int RoundsOf(int count) {
  const char* text = std::getenv("UNDERSTUDY_ROUNDS_FACTOR");
  if (text == nullptr || *text == '\0') return count;
  int factor = 0;
  UNDERSTUDY_CHECK(absl::SimpleAtoi(text, &factor) && factor > 0, "UNDERSTUDY_ROUNDS_FACTOR is \"", text,
                   "\": expected a positive number");
  UNDERSTUDY_CHECK(count <= std::numeric_limits<int>::max() / factor, "UNDERSTUDY_ROUNDS_FACTOR ", factor, " times ",
                   count, " rounds is too many");
  return count * factor;
}

void ForEachSeed(int count, absl::FunctionRef<void(uint64_t)> body) {
  if (const absl::optional<uint64_t> only = SeedFromEnvironment()) {
    (void)PassesWith(*only, body);
    return;
  }
  const int rounds = RoundsOf(count);
  for (int seed = 1; seed <= rounds; ++seed) {
    if (!PassesWith(static_cast<uint64_t>(seed), body)) return;
  }
}

}  // namespace understudy
