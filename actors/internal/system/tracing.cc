#include "understudy/actors/internal/system/tracing.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/system/split_mix.h"

namespace understudy::internal {
namespace {

constexpr int64_t kSecondNanos = 1'000'000'000;

uint64_t Threshold(double ratio) {
  if (!(ratio > 0)) return 0;
  return static_cast<uint64_t>(std::ldexp(std::min(ratio, 0.5), 64) * (ratio > 0.5 ? ratio / 0.5 : 1));
}

}  // namespace

Tracing::Tracing(const TracingOptions& options, Clock& clock, uint64_t seed)
    : spans_(*options.spans),
      clock_(clock),
      seed_(SplitMix64(seed, 0)),
      sampled_below_(options.sampled_ratio < 1 ? Threshold(options.sampled_ratio) : 0),
      samples_all_(options.sampled_ratio >= 1),
      foreign_interval_nanos_(
          options.foreign_per_second <= 0 ? 0 : std::max<int64_t>(1, kSecondNanos / options.foreign_per_second)) {}

uint64_t Tracing::Next() { return SplitMix64(seed_, drawn_.fetch_add(1, std::memory_order_relaxed) + 1); }

uint64_t Tracing::NewSpanId() {
  const uint64_t id = Next();
  return id != 0 ? id : Next();
}

absl::optional<TraceContext> Tracing::Begin() {
  if (!samples_all_ && Next() >= sampled_below_) return absl::nullopt;
  return TraceContext{.trace = {.high = NewSpanId(), .low = NewSpanId()}, .span = NewSpanId()};
}

bool Tracing::AdmitsForeign() {
  if (foreign_interval_nanos_ > 0) {
    const int64_t now = clock_.Now().nanos();
    int64_t due = foreign_due_nanos_.load(std::memory_order_relaxed);
    // A burst may use the allowance of one second at once.
    while (due - now < kSecondNanos - foreign_interval_nanos_ + 1) {
      const int64_t next = std::max(due, now) + foreign_interval_nanos_;
      if (foreign_due_nanos_.compare_exchange_weak(due, next, std::memory_order_relaxed)) return true;
    }
  }
  foreign_refused_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

SendSpan::SendSpan(Tracing& tracing, Pid from, uint32_t mailbox)
    : tracing_(tracing),
      span_{.trace = this_trace->trace,
            .id = tracing.NewSpanId(),
            .parent = this_trace->span,
            .kind = SpanKind::kSend,
            .begin = tracing.Now(),
            .actor = from,
            .mailbox = mailbox} {
  const absl::optional<TraceContext> next = TraceOfNextMessage();
  if (!next.has_value()) return;
  carries_ = true;
  part_ = {.context = *next, .accepted = span_.begin};
  part_.context.span = span_.id;
}

void SendSpan::End(absl::StatusCode status) {
  span_.status = status;
  span_.end = tracing_.Now();
  tracing_.Take(span_);
}

const Span& SendSpan::OfCall() {
  span_.kind = SpanKind::kCall;
  span_.is_call = true;
  return span_;
}

}  // namespace understudy::internal
