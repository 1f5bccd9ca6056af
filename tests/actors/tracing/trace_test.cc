// Tests of TraceContext as the header traceparent, and of Tracing: which traces are sampled, and when a client's choice
// is followed.
#include "understudy/actors/trace.h"

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/testing/kept_spans.h"

namespace understudy {
namespace {

constexpr char kHeader[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class HandClock final : public Clock {
 public:
  MonotonicTime Now() override { return now; }
  absl::Time WallNow() override { return absl::UnixEpoch(); }
  MonotonicTime now;
};

TEST(TraceParentTest, IsReadAndWritten) {
  const absl::optional<TraceContext> context = TraceContext::FromTraceParent(kHeader);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->trace, (TraceId{.high = 0x4bf92f3577b34da6, .low = 0xa3ce929d0e0e4736}));
  EXPECT_EQ(context->span, 0x00f067aa0ba902b7U);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(context->ToTraceParent(), kHeader);
}

TEST(TraceParentTest, TheSampledFlagIsTheLowestBit) {
  const std::string head(kHeader, 53);
  EXPECT_FALSE(TraceContext::FromTraceParent(absl::StrCat(head, "00"))->is_sampled);
  EXPECT_FALSE(TraceContext::FromTraceParent(absl::StrCat(head, "fe"))->is_sampled);
  EXPECT_TRUE(TraceContext::FromTraceParent(absl::StrCat(head, "ff"))->is_sampled);
  EXPECT_EQ(TraceContext::FromTraceParent(absl::StrCat(head, "02"))->ToTraceParent(), absl::StrCat(head, "00"));
}

TEST(TraceParentTest, ALaterVersionMayBeLonger) {
  const std::string rest(kHeader + 2);
  EXPECT_TRUE(TraceContext::FromTraceParent(absl::StrCat("cc", rest, "-more")).has_value());
  EXPECT_TRUE(TraceContext::FromTraceParent(absl::StrCat("cc", rest)).has_value());
  EXPECT_FALSE(TraceContext::FromTraceParent(absl::StrCat("cc", rest, ".more")).has_value());
  EXPECT_FALSE(TraceContext::FromTraceParent(absl::StrCat("ff", rest)).has_value());
}

TEST(TraceParentTest, MalformedTextIsNothing) {
  const std::string good(kHeader);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(TraceContext::FromTraceParent(good.substr(0, i)).has_value()) << i;
    std::string bad = good;
    bad[i] = 'G';
    EXPECT_FALSE(TraceContext::FromTraceParent(bad).has_value()) << bad;
  }
  EXPECT_FALSE(TraceContext::FromTraceParent(absl::StrCat(good, "-")).has_value());
  EXPECT_FALSE(TraceContext::FromTraceParent("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01").has_value());
  EXPECT_FALSE(TraceContext::FromTraceParent("00-00000000000000000000000000000000-00f067aa0ba902b7-01").has_value());
  EXPECT_FALSE(TraceContext::FromTraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01").has_value());
}

class TracingTest : public ::testing::Test {
 protected:
  int Sampled(double ratio, int of) {
    internal::Tracing tracing({.spans = &spans_, .sampled_ratio = ratio}, clock_, /*seed=*/7);
    int sampled = 0;
    for (int i = 0; i < of; ++i) sampled += tracing.Begin().has_value() ? 1 : 0;
    return sampled;
  }

  KeptSpans spans_;
  HandClock clock_;
};

TEST_F(TracingTest, AsManyTracesAreSampledAsTheRatioSays) {
  EXPECT_EQ(Sampled(0, 1000), 0);
  EXPECT_EQ(Sampled(-1, 1000), 0);
  EXPECT_EQ(Sampled(1, 1000), 1000);
  EXPECT_EQ(Sampled(2, 1000), 1000);
  EXPECT_NEAR(Sampled(0.01, 100'000), 1000, 150);
  EXPECT_NEAR(Sampled(0.75, 10'000), 7500, 300);
}

TEST_F(TracingTest, IdsDifferAndComeFromTheSeed) {
  internal::Tracing one({.spans = &spans_, .sampled_ratio = 1}, clock_, /*seed=*/7);
  internal::Tracing same({.spans = &spans_, .sampled_ratio = 1}, clock_, /*seed=*/7);
  internal::Tracing other({.spans = &spans_, .sampled_ratio = 1}, clock_, /*seed=*/8);
  std::set<uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    const TraceContext context = *one.Begin();
    EXPECT_EQ(context, *same.Begin());
    ids.insert({context.trace.high, context.trace.low, context.span, other.Begin()->span});
  }
  EXPECT_EQ(ids.size(), 400U);
}

TEST_F(TracingTest, AdmitsAsManyForeignTracesInASecondAsTheOptionsSay) {
  internal::Tracing tracing({.spans = &spans_, .foreign_per_second = 100}, clock_, /*seed=*/7);
  const auto admitted = [&](int of) {
    int count = 0;
    for (int i = 0; i < of; ++i) count += tracing.AdmitsForeign() ? 1 : 0;
    return count;
  };
  clock_.now = MonotonicTime::FromNanos(5'000'000'000);
  EXPECT_EQ(admitted(1000), 100);
  EXPECT_EQ(tracing.foreign_refused(), 900);
  clock_.now = clock_.now + absl::Milliseconds(100);
  EXPECT_EQ(admitted(1000), 10);
  clock_.now = clock_.now + absl::Hours(1);
  EXPECT_EQ(admitted(1000), 100);
}

TEST_F(TracingTest, AdmitsNoForeignTraceIfTheOptionsSaySo) {
  internal::Tracing tracing({.spans = &spans_, .foreign_per_second = 0}, clock_, /*seed=*/7);
  EXPECT_FALSE(tracing.AdmitsForeign());
}

}  // namespace
}  // namespace understudy
