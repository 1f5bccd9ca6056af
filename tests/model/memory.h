// Memory: atomics and plain variables as C++ defines them, one operation at a time.
//
// Each atomic keeps every store since the run began. A load may read any store that the thread's view does not hide;
// the caller of Memory chooses which. A read-modify-write that stores reads the newest. The model is RC11 without its
// axioms for old hardware: release, acquire and relaxed with release sequences through read-modify-writes, fences, and
// seq_cst as one total order, the order of the run.
//
// The model leaves out the following, so bugs that need it are not found:
// - stores become visible in the order of the run: no load reads a store that another thread makes later (load
//   buffering), and no store goes into the modification order before one that the run made earlier;
// - consume; a weak compare-and-swap that fails spuriously.
#ifndef UNDERSTUDY_TESTS_MODEL_MEMORY_H_
#define UNDERSTUDY_TESTS_MODEL_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "understudy/tests/model/view.h"

namespace understudy::model {

// A variable that is not atomic: its last write, and the reads since then.
struct PlainState {
  int8_t writer = 0;
  int16_t written = 0;  // the writer's clock
  std::array<int16_t, kThreadsMax> read = {};
};

class Memory {
 public:
  // Forgets everything.
  void Clear();

  // Adds an atomic that `thread` constructs. Returns its location.
  size_t AddLocation(size_t thread, uint64_t value);
  // Whether the construction of the atomic happens before `thread`'s next operation.
  bool Knows(size_t thread, size_t location) const;
  size_t locations() const { return used_; }

  // The newest value.
  uint64_t Newest(size_t location) const { return histories_[location].stores.back().value; }
  uint64_t ValueAt(size_t location, size_t index) const { return histories_[location].stores[index].value; }
  size_t NewestIndex(size_t location) const { return histories_[location].stores.size() - 1; }
  // The oldest store that a load may read; it may read every newer one too.
  size_t OldestVisible(size_t thread, size_t location, std::memory_order order) const;

  // Reads the store at `index`, which must be visible to `thread`.
  void Load(size_t thread, size_t location, size_t index, std::memory_order order);
  void Store(size_t thread, size_t location, uint64_t value, std::memory_order order);
  // Reads the newest store and adds one that continues its release sequence.
  void Exchange(size_t thread, size_t location, uint64_t value, std::memory_order order);
  void Fence(size_t thread, std::memory_order order);
  // A pair of asymmetric barriers: they are like seq_cst fences, but two light barriers do not order each other.
  void LightBarrier(size_t thread);
  void HeavyBarrier(size_t thread);
  // Everything that happens before `from`'s next operation happens before `thread`'s next operation too. Called where a
  // thread begins and where it ends.
  void Hand(size_t from, size_t thread);

  // Accesses a plain variable. Returns a thread whose earlier access is unordered with this one, or -1.
  int Read(size_t thread, PlainState& plain) const;
  int Write(size_t thread, PlainState& plain) const;
  // Begins the variable's history with a write by `thread`.
  void Create(size_t thread, PlainState& plain) const;

 private:
  struct StoreRecord {
    uint64_t value;
    View released;
  };
  struct History {
    size_t creator = 0;
    int16_t created = 0;  // the creator's clock
    std::vector<StoreRecord> stores;
  };
  struct ThreadState {
    View seen;      // the steps that happen before its next operation, and the stores that it may read
    View acquired;  // what an acquire fence would add
    View released;  // what its relaxed stores carry: its view at its last release fence
  };

  static bool IsAcquire(std::memory_order order);
  static bool IsRelease(std::memory_order order);
  void Append(size_t thread, size_t location, uint64_t value, std::memory_order order, const View* continued);
  void Tick(size_t thread) { ++threads_[thread].seen.clock[thread]; }

  size_t used_ = 0;
  std::array<History, kLocationsMax> histories_;
  std::array<ThreadState, kThreadsMax> threads_;
  View total_order_;  // of seq_cst operations and fences so far
  View light_, heavy_;
};

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_MEMORY_H_
