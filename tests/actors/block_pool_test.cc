// BlockPool gives blocks that one thread has freed to other threads.
#include "understudy/actors/internal/memory/block_pool.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/block_pool_bytes.h"
#include "understudy/actors/internal/scheduling/os_thread.h"

namespace understudy::internal {
namespace {

// Fewer than a thread gives back before it ends.
TEST(BlockPoolTest, BlocksThatAThreadFreedServeOthersAfterItsEnd) {
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

TEST(BlockPoolTest, TheBytesOfThePoolAreTold) {
  if (!kPoolsBlocks) GTEST_SKIP() << "sanitizers see each block by itself";
  constexpr size_t kBytes = kPooledUnits * kBlockUnit;
  constexpr size_t kMany = 4 * kBatchBlocks;
  std::vector<void*> blocks;
  const BlockPoolBytes before = ReadBlockPool();
  for (size_t i = 0; i < kMany; ++i) blocks.push_back(AllocateBlock(kPooledUnits));
  const BlockPoolBytes full = ReadBlockPool();
  EXPECT_GE(full.taken - full.free, kMany * kBytes);
  for (void* block : blocks) FreeBlock(block, kPooledUnits);
  const BlockPoolBytes freed = ReadBlockPool();
  EXPECT_EQ(freed.taken, full.taken);
  EXPECT_GE(freed.free, full.free + (kMany - 2 * kBatchBlocks) * kBytes) << "the thread keeps two batches";
  EXPECT_GE(freed.taken, before.taken);
}

// Runs `body` on a thread of its own, which has no blocks yet.
void OnNewThread(const std::function<void()>& body) {
  OsThread thread;
  ASSERT_TRUE(thread.Start("sends", body));
  thread.Join();
}

// No receiver frees a block, so each block that the thread allocates is a new one.
TEST(BlockPoolTest, MessagesOfAThreadThatOnlySendsLieBesideTheOthersOfTheirReceiver) {
  if (!kPoolsBlocks) GTEST_SKIP() << "sanitizers see each block by itself";
  OnNewThread([] {
    constexpr size_t kReceivers = 60;
    constexpr size_t kRounds = 256;
    std::vector<std::vector<uintptr_t>> sent(kReceivers);
    for (size_t round = 0; round < kRounds; ++round) {
      for (size_t receiver = 0; receiver < kReceivers; ++receiver) {
        sent[receiver].push_back(reinterpret_cast<uintptr_t>(AllocateSmallBlockFor(1000 + receiver, 1)));
      }
    }
    size_t neighbours = 0;
    for (const std::vector<uintptr_t>& blocks : sent) {
      for (size_t i = 1; i < blocks.size(); ++i) neighbours += blocks[i - 1] - blocks[i] == kBlockUnit ? 1 : 0;
    }
    EXPECT_GE(neighbours, kReceivers * kRounds * 9 / 10);
    for (const std::vector<uintptr_t>& blocks : sent) {
      for (const uintptr_t block : blocks) FreeSmallBlock(reinterpret_cast<void*>(block), 1);
    }
  });
}

TEST(BlockPoolTest, AThreadThatFreesUsesTheBlockThatItFreedLast) {
  if (!kPoolsBlocks) GTEST_SKIP() << "sanitizers see each block by itself";
  OnNewThread([] {
    for (uint64_t receiver = 1; receiver < 100; ++receiver) {
      void* const block = AllocateSmallBlockFor(receiver, 1);
      FreeSmallBlock(block, 1);
      EXPECT_EQ(AllocateSmallBlockFor(receiver + 1, 1), block);
      FreeSmallBlock(block, 1);
    }
  });
}

// More receivers than there are places: each message takes the place of another receiver.
TEST(BlockPoolTest, BlocksForReceiversThatWereReplacedAreNotLost) {
  if (!kPoolsBlocks) GTEST_SKIP() << "sanitizers see each block by itself";
  std::set<void*> seen;
  for (int round = 0; round < 50; ++round) {
    OnNewThread([&seen] {
      std::vector<void*> blocks;
      for (uint64_t turn = 0; turn < 1000; ++turn) {
        const uint64_t receiver = 1 + (turn / 3) * kReceiversWithBlocks;
        blocks.push_back(AllocateSmallBlockFor(receiver, 1));
      }
      seen.insert(blocks.begin(), blocks.end());
      for (void* block : blocks) FreeSmallBlock(block, 1);
    });
  }
  EXPECT_LE(seen.size(), size_t{5000}) << "of 50,000 that were allocated";
}

}  // namespace
}  // namespace understudy::internal
