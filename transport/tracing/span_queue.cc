#include "understudy/transport/tracing/span_queue.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

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
  spare_.reserve(shard_max_);
  for (Shard& shard : shards_) shard.spans.reserve(shard_max_);
}

bool SpanQueue::Add(const Span& span) {
  const size_t own = ShardOfThisThread();
  for (size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[(own + i) % shards_.size()];
    if (!shard.TryLock()) continue;
    const bool has_room = shard.spans.size() < shard_max_;
    if (has_room) shard.spans.push_back(span);  // within its capacity
    const bool is_half_full = has_room && shard.spans.size() == (shard_max_ + 1) / 2;
    shard.Unlock();
    if (has_room) return is_half_full;
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void SpanQueue::TakeAll(std::vector<Span>& spans) {
  for (Shard& shard : shards_) {
    while (!shard.TryLock()) std::this_thread::yield();
    shard.spans.swap(spare_);
    shard.Unlock();
    spans.insert(spans.end(), spare_.begin(), spare_.end());
    spare_.clear();  // which keeps its memory
  }
}

}  // namespace understudy::internal
