// SpanQueue: spans on their way from workers to the exporter's thread. Bounded: beyond the bound a span is counted, and
// gone.
//
// Its memory is allocated when it is made. Add takes the lock of one shard for the time of one copy, and never waits
// for the exporter. Spans of one thread stay in order within their shard. Threads: any; one thread calls TakeAll.
#ifndef UNDERSTUDY_TRANSPORT_TRACING_SPAN_QUEUE_H_
#define UNDERSTUDY_TRANSPORT_TRACING_SPAN_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/tracing/tracing_limits.h"

namespace understudy::internal {

class SpanQueue {
 public:
  // `spans_max` is rounded up to a multiple of the number of shards.
  explicit SpanQueue(size_t spans_max = limits::kSpansWaitingMax);
  SpanQueue(const SpanQueue&) = delete;
  SpanQueue& operator=(const SpanQueue&) = delete;

  // Returns true if the shard is half full now, so that the exporter should come.
  bool Add(const Span& span);
  // Appends all spans to `spans`.
  void TakeAll(std::vector<Span>& spans);
  // Spans that found no room.
  int64_t dropped() const;

 private:
  struct Shard {
    mutable absl::Mutex mu;
    std::vector<Span> spans ABSL_GUARDED_BY(mu);
    int64_t dropped ABSL_GUARDED_BY(mu) = 0;
  };

  const size_t shard_max_;
  std::array<Shard, limits::kSpanQueueShards> shards_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_TRACING_SPAN_QUEUE_H_
