#include "understudy/actors/internal/memory/block_pool.h"

#include <array>
#include <cstddef>
#include <new>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {
namespace {

// How much is allocated from the system at a time.
constexpr size_t kChunkBytes = size_t{64} << 10;

struct SharedLists {
  absl::Mutex mu;
  std::array<std::vector<BlockBatch>, kPooledUnits + 1> batches ABSL_GUARDED_BY(mu);
};

SharedLists& Shared() {
  static SharedLists* const lists = new SharedLists;
  return *lists;
}

// Moves a thread's free blocks to the shared lists when the thread ends.
struct Returner {
  ~Returner() {
    SharedLists& shared = Shared();
    absl::MutexLock lock(&shared.mu);
    for (size_t units = 1; units <= kPooledUnits; ++units) {
      for (BlockBatch* batch : {&thread_blocks.of[units], &thread_blocks.spare[units]}) {
        if (batch->count > 0) shared.batches[units].push_back(*batch);
        *batch = {};
      }
    }
  }
  bool is_made = true;
};

// Takes a batch from the shared list. If that is empty, allocates a chunk and returns all its blocks, which may be more
// than kBatchBlocks.
BlockBatch TakeBatch(size_t units) {
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
  const size_t bytes = units * kBlockUnit;
  auto* chunk = static_cast<unsigned char*>(::operator new(kChunkBytes, std::align_val_t(kBlockUnit)));
  BlockBatch batch;
  for (size_t at = 0; at + bytes <= kChunkBytes && batch.count < kBatchBlocks * 16; at += bytes) {
    batch.first = new (chunk + at) FreeBlockNode{batch.first};
    ++batch.count;
  }
  return batch;
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

void FillBlocks(size_t units) {
  BlockBatch& spare = thread_blocks.spare[units];
  thread_blocks.of[units] = spare.count > 0 ? spare : TakeBatch(units);
  spare = {};
}

void SpareBlocks(size_t units) {
  BlockBatch& list = thread_blocks.of[units];
  BlockBatch& spare = thread_blocks.spare[units];
  if (spare.count > 0) GiveBatch(units, spare);
  spare = list;
  list = {};
}

}  // namespace understudy::internal
