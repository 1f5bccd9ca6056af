#include "understudy/transport/tracing/span_queue.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace understudy::internal {
namespace {

// Threads take the shards in turn.
size_t ShardOfThisThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t shard = threads.fetch_add(1, std::memory_order_relaxed) % limits::kSpanQueueShards;
  return shard;
}

}  // namespace

SpanQueue::SpanQueue(size_t spans_max)
    : shard_max_((spans_max + limits::kSpanQueueShards - 1) / limits::kSpanQueueShards) {
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    shard.spans.reserve(shard_max_);
  }
}

bool SpanQueue::Add(const Span& span) {
  Shard& shard = shards_[ShardOfThisThread()];
  absl::MutexLock lock(&shard.mu);
  if (shard.spans.size() >= shard_max_) {
    ++shard.dropped;
    return false;
  }
  shard.spans.push_back(span);
  return shard.spans.size() == (shard_max_ + 1) / 2;
}

void SpanQueue::TakeAll(std::vector<Span>& spans) {
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    spans.insert(spans.end(), shard.spans.begin(), shard.spans.end());
    shard.spans.clear();  // which keeps its memory
  }
}

int64_t SpanQueue::dropped() const {
  int64_t dropped = 0;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    dropped += shard.dropped;
  }
  return dropped;
}

}  // namespace understudy::internal
