#include "understudy/actors/testing/seeds.h"

#include <cstdint>
#include <cstdlib>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/check.h"

namespace understudy {
namespace {

// False when the body has failed with this seed.
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

void ForEachSeed(int count, absl::FunctionRef<void(uint64_t)> body) {
  if (const absl::optional<uint64_t> only = SeedFromEnvironment()) {
    (void)PassesWith(*only, body);
    return;
  }
  for (int seed = 1; seed <= count; ++seed) {
    if (!PassesWith(static_cast<uint64_t>(seed), body)) return;
  }
}

}  // namespace understudy
