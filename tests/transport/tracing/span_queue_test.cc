#include "understudy/transport/tracing/span_queue.h"

#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/tracing/tracing_limits.h"

namespace understudy::internal {
namespace {

TEST(SpanQueueTest, OneThreadCanFillTheWholeQueue) {
  constexpr int kSpans = 10 * static_cast<int>(limits::kSpanQueueShards);
  SpanQueue queue(kSpans);
  for (int i = 0; i < kSpans; ++i) (void)queue.Add(Span());
  EXPECT_EQ(queue.dropped(), 0);
  (void)queue.Add(Span());
  EXPECT_EQ(queue.dropped(), 1);
  std::vector<Span> spans;
  queue.TakeAll(spans);
  EXPECT_EQ(static_cast<int>(spans.size()), kSpans);
}

}  // namespace
}  // namespace understudy::internal
