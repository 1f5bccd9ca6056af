// CellArena: the memory of one system's cells.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_CELL_ARENA_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_CELL_ARENA_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/memory/free_list.h"
#include "understudy/actors/internal/send/actor_cell.h"

namespace understudy::internal {

// The cells of one system. Their memory comes from a pool of the process and returns
// to the pool when the system is destroyed; it is never unmapped. Any thread.
class CellArena {
 public:
  // An index that no cell has. For the pids of actors whose spawn was refused because the system has no free cell.
  static constexpr uint32_t kNoCell = (uint32_t{1} << 24) - 1;

  CellArena();
  ~CellArena();
  CellArena(const CellArena&) = delete;
  CellArena& operator=(const CellArena&) = delete;

  ActorCell* Allocate();
  void Free(ActorCell* cell);
  // The cell at `index`, or null if there never was one. Any value of `index` is
  // allowed, for example one that a peer sent.
  ActorCell* Find(uint32_t index) const {
    const size_t chunk = index / kChunkCells;
    if (chunk >= kChunksMax) return nullptr;
    // acquire: pairs with the release store in Grow, for the chunk's cells.
    Chunk* found = chunks_[chunk].load(std::memory_order_acquire);
    return found == nullptr ? nullptr : &found->cells[index % kChunkCells];
  }
  // The memory of all cells of the system, in use or free.
  size_t bytes() const {
    absl::MutexLock lock(&mu_);
    return chunk_count_ * sizeof(Chunk);
  }
  // Cells of living actors, in order of index.
  std::vector<ActorCell*> Used() const;

 private:
  static constexpr size_t kChunkCells = 256;
  static constexpr size_t kChunksMax = kNoCell / kChunkCells;
  struct Chunk {
    std::array<ActorCell, kChunkCells> cells;
    std::array<std::atomic<uint32_t>, kChunkCells> next_free;
  };
  // For FreeList.
  std::atomic<uint32_t>& NextFree(uint32_t index) const {
    // relaxed: the thread got the index from free_ or from its own cell, and with it the chunk (FreeList's release and
    // acquire).
    Chunk* chunk = chunks_[index / kChunkCells].load(std::memory_order_relaxed);
    return chunk->next_free[index % kChunkCells];
  }
  // Adds a chunk. Returns the index of its first cell; the others go to free_.
  uint32_t Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  struct Pool;
  static Pool& GetPool();

  const std::unique_ptr<std::atomic<Chunk*>[]> chunks_;
  mutable absl::Mutex mu_;
  size_t chunk_count_ ABSL_GUARDED_BY(mu_) = 0;
  FreeList<> free_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_CELL_ARENA_H_
