// BlockPool: a pool of memory blocks for envelopes. Each thread has a free list
// for each size. Threads exchange batches of blocks through one shared list for
// each size, because a sender allocates the blocks that its receiver frees.
//
// A thread that sends and frees nothing is ahead of its receivers: each of its blocks comes
// from the shared list, and is read when its memory has left the caches. Such a thread takes a
// batch for each of its receivers (AllocateSmallBlockFor). Consecutive messages of one receiver
// are then neighbours in memory, which the processor fetches ahead of the receiver that reads
// them one after another.
//
// The address and the size of a block are multiples of kBlockUnit. Pooled blocks
// are never returned to the system. With AddressSanitizer nothing is pooled:
// each block is allocated and freed by itself. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BLOCK_POOL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BLOCK_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "absl/base/optimization.h"
#include "understudy/actors/internal/memory/slow_path.h"

namespace understudy::internal {

inline constexpr size_t kBlockUnit = 64;
// How many units `bytes` bytes need.
constexpr size_t UnitsFor(size_t bytes) { return (bytes + kBlockUnit - 1) / kBlockUnit; }

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kPoolsBlocks = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kPoolsBlocks = false;
#else
inline constexpr bool kPoolsBlocks = true;
#endif
#else
inline constexpr bool kPoolsBlocks = true;
#endif

// Blocks of more units are not pooled: operator new allocates them.
inline constexpr size_t kPooledUnits = 16;
// How many blocks move between a thread's list and the shared one at a time:
// enough that the shared list's lock is taken rarely.
inline constexpr size_t kBatchBlocks = 64;

struct FreeBlockNode {
  FreeBlockNode* next;
};

// A chain of blocks.
struct BlockBatch {
  // Removes the first block and returns it. Requires that there is one.
  FreeBlockNode* Pop() {
    FreeBlockNode* const block = first;
    first = block->next;
    --count;
    return block;
  }

  FreeBlockNode* first = nullptr;
  size_t count = 0;
};

// Memory that was allocated from the system and has not been blocks yet.
struct FreshMemory {
  unsigned char* at = nullptr;
  size_t bytes = 0;
};

// Free blocks of one unit for messages to one receiver.
struct BlocksForReceiver {
  uint64_t receiver = 0;
  BlockBatch blocks;
};
// How many receivers a thread has blocks for, at most; they take 0.5 MiB.
inline constexpr size_t kReceiversWithBlocks = 128;

struct ThreadBlocks {
  std::array<BlockBatch, kPooledUnits + 1> of;     // free blocks, indexed by their units
  std::array<BlockBatch, kPooledUnits + 1> spare;  // for each number of units one full batch, or none
  std::array<FreshMemory, kPooledUnits + 1> fresh;
  // This thread has freed no block since it took a batch of one unit from the shared list.
  bool only_allocates = false;
  std::array<BlocksForReceiver, kReceiversWithBlocks> for_receivers;  // by the receiver's number modulo their number
};
inline constinit thread_local ThreadBlocks thread_blocks __attribute__((tls_model("initial-exec"))) = {};

// Gives this thread's free blocks to the shared lists when the thread ends. A thread that may never call FillBlocks or
// SpareBlocks, which call this too, calls it itself, as one that only frees a few blocks.
void ReturnBlocksAtExit();

// The slow paths of allocating and freeing. FillBlocks refills this thread's empty list, from its spare batch if it has
// one. SpareBlocks makes the full list the spare batch, and gives the earlier spare batch to the shared list.
UNDERSTUDY_SLOW_PATH void FillBlocks(size_t units);
UNDERSTUDY_SLOW_PATH void SpareBlocks(size_t units);
// A block of one unit for a receiver for which `own`, its place, has none: the first of a batch if the last message of
// that place was for the receiver too, else one of this thread's list.
UNDERSTUDY_SLOW_PATH void* FillBlocksFor(uint64_t receiver, BlocksForReceiver& own);

// A block of `units` * kBlockUnit bytes; at most kPooledUnits units.
inline void* AllocateSmallBlock(size_t units) {
  if (!kPoolsBlocks) return ::operator new(units * kBlockUnit, std::align_val_t(kBlockUnit));
  BlockBatch& list = thread_blocks.of[units];
  if (ABSL_PREDICT_FALSE(list.first == nullptr)) FillBlocks(units);
  return list.Pop();
}

// Frees a block that AllocateSmallBlock returned for the same `units`.
inline void FreeSmallBlock(void* block, size_t units) {
  if (!kPoolsBlocks) {
    ::operator delete(block, units * kBlockUnit, std::align_val_t(kBlockUnit));
    return;
  }
  BlockBatch& list = thread_blocks.of[units];
  if (ABSL_PREDICT_FALSE(list.count >= kBatchBlocks)) SpareBlocks(units);
  list.first = new (block) FreeBlockNode{list.first};
  ++list.count;
  thread_blocks.only_allocates = false;
}

// Like AllocateSmallBlock, for a message to `receiver`, a number that differs from the other receivers' and is not 0.
inline void* AllocateSmallBlockFor(uint64_t receiver, size_t units) {
  if (ABSL_PREDICT_TRUE(!thread_blocks.only_allocates) || units != 1) return AllocateSmallBlock(units);
  BlocksForReceiver& own = thread_blocks.for_receivers[receiver % kReceiversWithBlocks];
  if (ABSL_PREDICT_FALSE(own.receiver != receiver || own.blocks.first == nullptr)) return FillBlocksFor(receiver, own);
  return own.blocks.Pop();
}

// Like the two functions above, for any number of units up to 255.
inline void* AllocateBlock(size_t units) {
  if (ABSL_PREDICT_TRUE(units <= kPooledUnits)) return AllocateSmallBlock(units);
  return ::operator new(units * kBlockUnit, std::align_val_t(kBlockUnit));
}
inline void FreeBlock(void* block, size_t units) {
  if (ABSL_PREDICT_TRUE(units <= kPooledUnits)) {
    FreeSmallBlock(block, units);
  } else {
    ::operator delete(block, units * kBlockUnit, std::align_val_t(kBlockUnit));
  }
}

// For std::allocate_shared and the like: each object in a block of its own.
template <class T>
class BlockAllocator {
 public:
  using value_type = T;

  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): as allocators are

  T* allocate(size_t count) { return static_cast<T*>(AllocateBlock(UnitsFor(count * sizeof(T)))); }
  void deallocate(T* block, size_t count) { FreeBlock(block, UnitsFor(count * sizeof(T))); }

  friend bool operator==(const BlockAllocator&, const BlockAllocator&) = default;

 private:
  static_assert(alignof(T) <= kBlockUnit);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BLOCK_POOL_H_
