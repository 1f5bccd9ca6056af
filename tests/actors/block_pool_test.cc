// BlockPool gives blocks that one thread has freed to other threads.
#include "understudy/actors/internal/memory/block_pool.h"

#include <cstddef>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/internal/scheduling/os_thread.h"

namespace understudy::internal {
namespace {

// Fewer than a thread gives back before it ends.
TEST(BlockPoolTest, WhatAThreadHasFreedIsOthersWhenItEnds) {
  if (!kPoolsBlocks) GTEST_SKIP() << "sanitizers see each block by itself";
  constexpr size_t kUnits = kPooledUnits;
  constexpr int kEach = 60;
  static_assert(kEach < static_cast<int>(kBatchBlocks));
  std::set<void*> seen;
  for (int round = 0; round < 300; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < kEach; ++i) blocks.push_back(AllocateBlock(kUnits));
    seen.insert(blocks.begin(), blocks.end());
    OsThread thread;
    ASSERT_TRUE(thread.Start("frees", [&blocks] {
      for (void* block : blocks) FreeBlock(block, kUnits);
    }));
    thread.Join();
  }
  EXPECT_LE(seen.size(), size_t{1200}) << "of 18,000 that were allocated";
}

}  // namespace
}  // namespace understudy::internal
