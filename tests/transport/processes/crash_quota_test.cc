#include "understudy/transport/process/crash_quota.h"

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

TEST(CrashQuotaTest, SoManyAreToldInASecondAndTheNextSaysHowManyWereNot) {
  CrashQuota quota;
  const MonotonicTime begin = MonotonicTime::FromNanos(5);
  for (int i = 0; i < limits::kCrashesToldPerSecond; ++i) {
    EXPECT_EQ(quota.Take(begin + absl::Milliseconds(i)), absl::make_optional(int64_t{0}));
  }
  EXPECT_EQ(quota.Take(begin + absl::Milliseconds(900)), absl::nullopt);
  EXPECT_EQ(quota.Take(begin + absl::Milliseconds(999)), absl::nullopt);
  EXPECT_EQ(quota.Take(begin + absl::Seconds(1)), absl::make_optional(int64_t{2}));
  EXPECT_EQ(quota.Take(begin + absl::Seconds(1)), absl::make_optional(int64_t{0}));
}

}  // namespace
}  // namespace understudy::internal
