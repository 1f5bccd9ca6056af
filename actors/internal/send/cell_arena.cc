// CellArena takes its chunks of cells from a pool of the process and returns them there, because senders of another
// system may still read a cell after its system was destroyed.
#include "understudy/actors/internal/send/cell_arena.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/actor_cell.h"

namespace understudy::internal {

struct CellArena::Pool {
  absl::Mutex mu;
  std::vector<Chunk*> chunks ABSL_GUARDED_BY(mu);
};

CellArena::Pool& CellArena::GetPool() {
  static Pool* const pool = new Pool;
  return *pool;
}

CellArena::CellArena() : chunks_(new std::atomic<Chunk*>[kChunksMax]()) {}

CellArena::~CellArena() {
  Pool& pool = GetPool();
  absl::MutexLock lock(&mu_);
  absl::MutexLock pool_lock(&pool.mu);
  for (size_t i = 0; i < chunk_count_; ++i) pool.chunks.push_back(chunks_[i].load(std::memory_order_relaxed));
}

ActorCell* CellArena::Allocate() {
  const auto next_of = [this](uint32_t index) -> std::atomic<uint32_t>& { return NextFree(index); };
  uint32_t index = free_.Pop(next_of);
  if (ABSL_PREDICT_FALSE(index == FreeList<>::kNone)) {
    absl::MutexLock lock(&mu_);
    index = free_.Pop(next_of);  // another thread may have grown the arena meanwhile
    if (index == FreeList<>::kNone) index = Grow();
  }
  return Find(index);
}

uint32_t CellArena::Grow() {
  UNDERSTUDY_CHECK(chunk_count_ < kChunksMax, "a system has at most ", kChunksMax * kChunkCells,
                   " actors at once, those included that wait in place of plain threads");
  Pool& pool = GetPool();
  Chunk* chunk = nullptr;
  {
    absl::MutexLock pool_lock(&pool.mu);
    if (!pool.chunks.empty()) {
      chunk = pool.chunks.back();
      pool.chunks.pop_back();
    }
  }
  if (chunk == nullptr) chunk = new Chunk;
  const size_t first = chunk_count_ * kChunkCells;
  for (size_t i = 0; i < kChunkCells; ++i) chunk->cells[i].index_ = static_cast<uint32_t>(first + i);
  // release: pairs with Find's acquire load of the same element, so a thread that finds the chunk sees its cells.
  chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  for (size_t i = kChunkCells; i-- > 1;) Free(&chunk->cells[i]);
  return chunk->cells[0].index_;
}

void CellArena::Free(ActorCell* cell) {
  free_.Push(cell->index_, [this](uint32_t index) -> std::atomic<uint32_t>& { return NextFree(index); });
}

std::vector<ActorCell*> CellArena::Used() const {
  absl::MutexLock lock(&mu_);
  std::vector<ActorCell*> cells;
  for (uint32_t i = 0; i < chunk_count_ * kChunkCells; ++i) {
    ActorCell* cell = Find(i);
    if (cell->inbound_.IsLive()) cells.push_back(cell);
  }
  return cells;
}

}  // namespace understudy::internal
