// BlockPoolBytes: how much memory the process' pool of blocks has (block_pool.h), for people. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BLOCK_POOL_BYTES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BLOCK_POOL_BYTES_H_

#include <cstddef>

namespace understudy::internal {

struct BlockPoolBytes {
  size_t taken = 0;  // from the operating system, and never given back
  size_t free = 0;   // of these, in the lists that threads share; free blocks that a thread keeps do not count
};

// Waits for the lock of the shared lists, which threads hold for some nanoseconds. With AddressSanitizer nothing is
// pooled, and both are 0.
BlockPoolBytes ReadBlockPool();

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_BLOCK_POOL_BYTES_H_
