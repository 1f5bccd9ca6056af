// SpanQueue: spans on their way from workers to the exporter's thread. The queue is bounded: a span that finds it full
// is counted and dropped.
//
// Its memory is allocated when it is made. Add takes the lock of one shard for the time of one copy. Add never waits:
// if a shard is full, or another thread has its lock, Add goes on to the next shard. Threads: any; one thread calls
// TakeAll. The locks are flags, because a lock and an unlock of Debian's absl::Mutex, which looks for deadlocks, cost
// more than all else that a span costs.
#ifndef UNDERSTUDY_TRANSPORT_TRACING_SPAN_QUEUE_H_
#define UNDERSTUDY_TRANSPORT_TRACING_SPAN_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

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
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Shard {
    bool TryLock() {
      // acquire: pairs with the release of Unlock, so that the spans that the last holder left are seen.
      return !is_locked.exchange(true, std::memory_order_acquire);
    }
    void Unlock() { is_locked.store(false, std::memory_order_release); }

    std::atomic<bool> is_locked{false};
    std::vector<Span> spans;  // of the holder of the lock
  };

  const size_t shard_max_;
  std::vector<Span> spare_;          // TakeAll's: empty, with room for a shard
  std::atomic<int64_t> dropped_{0};  // relaxed: it publishes nothing
  std::array<Shard, limits::kSpanQueueShards> shards_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_TRACING_SPAN_QUEUE_H_
