// Tracing: decides which traces are sampled, gives ids, and passes spans on. SendSpan: the span of one send.
//
// Ids and decisions come from the system's seed, so that equal seeds give equal traces. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_TRACING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_TRACING_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/trace.h"

namespace understudy::internal {

class Tracing {
 public:
  // Requires options.spans.
  Tracing(const TracingOptions& options, Clock& clock, uint64_t seed);
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  // Begins a trace: a context with the id of its first span. Nothing if the trace is not sampled.
  absl::optional<TraceContext> Begin();
  // Continues a trace that comes from outside this system: returns whether its sampled flag counts. Takes one of
  // TracingOptions::foreign_per_second.
  bool AdmitsForeign();
  // Not 0, and not given before.
  uint64_t NewSpanId();
  MonotonicTime Now() { return clock_.Now(); }
  void Take(const Span& span) { spans_.Take(span); }
  SpanCounts span_counts() const { return spans_.counts(); }
  // Contexts from outside that AdmitsForeign refused.
  int64_t foreign_refused() const { return foreign_refused_.load(std::memory_order_relaxed); }

 private:
  uint64_t Next();

  SpanSink& spans_;
  Clock& clock_;
  const uint64_t seed_;
  const uint64_t sampled_below_;  // a trace is sampled if its random number is below this
  const bool samples_all_;
  const int64_t foreign_interval_nanos_;  // 0: none is admitted
  // relaxed, all: counters that publish nothing.
  std::atomic<uint64_t> drawn_{0};
  // When the contexts from outside that were admitted would have come at an even rate (GCRA, ITU-T I.371).
  std::atomic<int64_t> foreign_due_nanos_{0};
  std::atomic<int64_t> foreign_refused_{0};
};

// The span of a send, and the context that the message carries. Requires this_trace.
class SendSpan {
 public:
  SendSpan(Tracing& tracing, Pid from, uint32_t mailbox);

  // The trace that the message carries; null if the trace has used up its hops.
  const TracePart* part() const { return carries_ ? &part_ : nullptr; }
  // A tell was accepted or refused.
  void End(absl::StatusCode status);
  // A call was sent: the span is to end with the answer.
  const Span& OfCall();

 private:
  Tracing& tracing_;
  Span span_;
  TracePart part_;
  bool carries_ = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_TRACING_H_
