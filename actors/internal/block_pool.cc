// Lists of free blocks: one of each size for each thread, and one that all
// share, to and from which threads move batches: a sender's blocks end up with
// its receiver, and must come back. Blocks of the lists are never given back
// to the system. With AddressSanitizer every block is one of its own.
#include <array>
#include <cstddef>
#include <new>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/envelope.h"

namespace understudy::internal {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPools = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPools = false;
#else
constexpr bool kPools = true;
#endif
#else
constexpr bool kPools = true;
#endif

constexpr size_t kPooledUnits = 16;
// Moved between a thread's list and the shared one at once: rare enough that
// the lock costs nothing.
constexpr size_t kBatchBlocks = 64;
// Taken from the system at once.
constexpr size_t kChunkBytes = size_t{64} << 10;

struct FreeBlockNode {
  FreeBlockNode* next;
};

// A chain of blocks.
struct Batch {
  FreeBlockNode* first = nullptr;
  size_t count = 0;
};

struct SharedLists {
  absl::Mutex mu;
  std::array<std::vector<Batch>, kPooledUnits + 1> batches ABSL_GUARDED_BY(mu);
};

SharedLists& Shared() {
  static SharedLists* const lists = new SharedLists;
  return *lists;
}

struct ThreadLists {
  std::array<Batch, kPooledUnits + 1> of;     // by units
  std::array<Batch, kPooledUnits + 1> spare;  // a whole batch, or nothing
};

__attribute__((tls_model("initial-exec"))) thread_local ThreadLists lists;

// Gives a thread's blocks back when it ends.
struct Returner {
  ~Returner() {
    SharedLists& shared = Shared();
    absl::MutexLock lock(&shared.mu);
    for (size_t units = 1; units <= kPooledUnits; ++units) {
      for (Batch* batch : {&lists.of[units], &lists.spare[units]}) {
        if (batch->count > 0) shared.batches[units].push_back(*batch);
        *batch = {};
      }
    }
  }
  bool is_made = true;
};

void ReturnAtExit() {
  static thread_local Returner returner;
  (void)returner.is_made;
}

// A batch from the shared list, or new memory.
Batch TakeBatch(size_t units) {
  ReturnAtExit();
  SharedLists& shared = Shared();
  {
    absl::MutexLock lock(&shared.mu);
    std::vector<Batch>& batches = shared.batches[units];
    if (!batches.empty()) {
      const Batch batch = batches.back();
      batches.pop_back();
      return batch;
    }
  }
  const size_t bytes = units * kBlockUnit;
  auto* chunk = static_cast<unsigned char*>(::operator new(kChunkBytes, std::align_val_t(kBlockUnit)));
  Batch batch;
  for (size_t at = 0; at + bytes <= kChunkBytes && batch.count < kBatchBlocks * 16; at += bytes) {
    batch.first = new (chunk + at) FreeBlockNode{batch.first};
    ++batch.count;
  }
  return batch;
}

void GiveBatch(size_t units, Batch batch) {
  ReturnAtExit();
  SharedLists& shared = Shared();
  absl::MutexLock lock(&shared.mu);
  shared.batches[units].push_back(batch);
}

}  // namespace

void* AllocateBlock(size_t units) {
  if (!kPools || units > kPooledUnits) return ::operator new(units * kBlockUnit, std::align_val_t(kBlockUnit));
  Batch& list = lists.of[units];
  if (list.count == 0) {
    list = lists.spare[units].count > 0 ? lists.spare[units] : TakeBatch(units);
    lists.spare[units] = {};
  }
  FreeBlockNode* const block = list.first;
  list.first = block->next;
  --list.count;
  return block;
}

void FreeBlock(void* block, size_t units) {
  if (!kPools || units > kPooledUnits) {
    ::operator delete(block, units * kBlockUnit, std::align_val_t(kBlockUnit));
    return;
  }
  Batch& list = lists.of[units];
  if (list.count >= kBatchBlocks) {
    if (lists.spare[units].count > 0) GiveBatch(units, lists.spare[units]);
    lists.spare[units] = list;
    list = {};
  }
  list.first = new (block) FreeBlockNode{list.first};
  ++list.count;
}

}  // namespace understudy::internal
