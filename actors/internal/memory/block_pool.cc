#include "understudy/actors/internal/memory/block_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/memory/block_pool_bytes.h"

namespace understudy::internal {
namespace {

// How much is allocated from the system at a time.
constexpr size_t kChunkBytes = size_t{64} << 10;

struct SharedLists {
  absl::Mutex mu;
  std::array<std::vector<BlockBatch>, kPooledUnits + 1> batches ABSL_GUARDED_BY(mu);
};

// The chunks that were allocated. relaxed: a count for people.
std::atomic<size_t> chunks{0};

SharedLists& Shared() {
  static SharedLists* const lists = new SharedLists;
  return *lists;
}

// The next batch of this thread's chunk, or of a new one, which has no other blocks then.
BlockBatch CarveBatch(size_t units) {
  const size_t bytes = units * kBlockUnit;
  FreshMemory& fresh = thread_blocks.fresh[units];
  if (fresh.bytes < bytes) {
    chunks.fetch_add(1, std::memory_order_relaxed);
    fresh = {static_cast<unsigned char*>(::operator new(kChunkBytes, std::align_val_t(kBlockUnit))), kChunkBytes};
  }
  // From the end of the chunk on: a receiver walks its list from the newest message to the oldest, so upwards in memory
  // and into the next page, which is what processors fetch ahead.
  BlockBatch batch{.count = std::min(fresh.bytes / bytes, kBatchBlocks)};
  fresh.bytes -= batch.count * bytes;
  for (size_t i = 0; i < batch.count; ++i) {
    batch.first = new (fresh.at + fresh.bytes + i * bytes) FreeBlockNode{batch.first};
  }
  return batch;
}

// Moves a thread's free blocks to the shared lists when the thread ends.
struct Returner {
  ~Returner() {
    SharedLists& shared = Shared();
    absl::MutexLock lock(&shared.mu);
    for (size_t units = 1; units <= kPooledUnits; ++units) {
      while (thread_blocks.fresh[units].bytes >= units * kBlockUnit) {
        shared.batches[units].push_back(CarveBatch(units));
      }
      for (BlockBatch* batch : {&thread_blocks.of[units], &thread_blocks.spare[units]}) {
        if (batch->count > 0) shared.batches[units].push_back(*batch);
        *batch = {};
      }
    }
    for (BlocksForReceiver& own : thread_blocks.for_receivers) {
      if (own.blocks.count > 0) shared.batches[1].push_back(own.blocks);
      own = {};
    }
  }
  bool is_made = true;
};

// A batch of what is left of this thread's chunk, which needs no lock; else of the shared list; else of a new chunk.
BlockBatch TakeBatch(size_t units) {
  if (thread_blocks.fresh[units].bytes >= units * kBlockUnit) return CarveBatch(units);
  ReturnBlocksAtExit();
  SharedLists& shared = Shared();
  {
    absl::MutexLock lock(&shared.mu);
    std::vector<BlockBatch>& batches = shared.batches[units];
    if (!batches.empty()) {
      const BlockBatch batch = batches.back();
      batches.pop_back();
      return batch;
    }
  }
  return CarveBatch(units);
}

void GiveBatch(size_t units, BlockBatch batch) {
  ReturnBlocksAtExit();
  SharedLists& shared = Shared();
  absl::MutexLock lock(&shared.mu);
  shared.batches[units].push_back(batch);
}

}  // namespace

void ReturnBlocksAtExit() {
  static thread_local Returner returner;
  (void)returner.is_made;
}

BlockPoolBytes ReadBlockPool() {
  BlockPoolBytes read{.taken = chunks.load(std::memory_order_relaxed) * kChunkBytes};
  SharedLists& shared = Shared();
  absl::MutexLock lock(&shared.mu);
  for (size_t units = 1; units <= kPooledUnits; ++units) {
    for (const BlockBatch& batch : shared.batches[units]) read.free += batch.count * units * kBlockUnit;
  }
  return read;
}

void FillBlocks(size_t units) {
  BlockBatch& list = thread_blocks.of[units];
  list = std::exchange(thread_blocks.spare[units], {});
  if (list.count > 0) return;
  list = TakeBatch(units);
  if (units == 1) thread_blocks.only_allocates = true;
}

void* FillBlocksFor(uint64_t receiver, BlocksForReceiver& own) {
  if (own.receiver != receiver) {
    if (own.blocks.count > 0) GiveBatch(1, std::exchange(own.blocks, {}));
    own.receiver = receiver;
    return AllocateSmallBlock(1);
  }
  own.blocks = TakeBatch(1);
  return own.blocks.Pop();
}

void SpareBlocks(size_t units) {
  BlockBatch& list = thread_blocks.of[units];
  BlockBatch& spare = thread_blocks.spare[units];
  if (spare.count > 0) GiveBatch(units, spare);
  spare = list;
  list = {};
}

}  // namespace understudy::internal
