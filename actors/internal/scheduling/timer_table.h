// TimerTable: the timers of one executor, shared without locks by the threads that
// arm and cancel timers and the one thread that fires them.
//
// The life of an entry is: free -> armed -> fired or cancelled -> free. The arming
// thread owns the entry until it has pushed it to the intake; then the firing
// thread owns it, except for `state`. Cancel and Fire each try to swap `state` from
// armed, and the one that succeeds decides. The firing thread destroys the value of
// a cancelled timer when it comes across the entry.
//
// The memory is type-stable, and an id names one arming of an entry: a late Cancel
// finds another generation and does nothing.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_TABLE_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/memory/atomics.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

// kEntriesMax and kFirstChunk are parameters for the model's sake.
template <class Value, class Atomics = StdAtomics, uint32_t kEntriesMax = limits::kTimersPerExecutorMax,
          uint32_t kFirstChunk = 64>
class TimerTable {
  template <class U>
  using Atomic = typename Atomics::template Atomic<U>;
  template <class U>
  using Plain = typename Atomics::template Plain<U>;

 public:
  struct Entry {
    // Owned by the arming thread, then by the firing thread.
    Plain<MonotonicTime> time;
    Plain<Value> value;
    Plain<Entry*> next = nullptr;  // the next older entry in the intake; afterwards for the firing thread's lists
    Plain<uint64_t> order = 0;     // for the firing thread's use

   private:
    friend class TimerTable;
    uint32_t index = 0;         // constant once the chunk has been added
    Atomic<uint64_t> state{0};  // generation << 2 | State
    Atomic<uint32_t> next_free{0};
  };

  TimerTable() = default;
  ~TimerTable() {
    for (Atomic<Entry*>& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }
  TimerTable(const TimerTable&) = delete;
  TimerTable& operator=(const TimerTable&) = delete;

  // Any thread. Returns the timer's id, never 0. CHECKs that there are at most kEntriesMax timers.
  uint64_t Arm(MonotonicTime time, Value value) {
    Entry& entry = NewEntry();
    entry.time = time;
    entry.value = std::move(value);
    const uint64_t generation = (entry.state.load(std::memory_order_relaxed) >> 2) + 1;
    // relaxed: the swap of intake_ below publishes the state to the firing thread; a canceller gets the id, and with it
    // the state, from the caller.
    entry.state.store(generation << 2 | kArmed, std::memory_order_relaxed);
    const uint64_t id = IdOf(entry, generation);
    Entry* newest = intake_.load(std::memory_order_relaxed);
    do {
      entry.next = newest;
      // seq_cst: pairs with HasArmed. This thread swaps intake_, then loads TimerThread::sleeps_until_; the firing
      // thread stores sleeps_until_, then loads intake_. At least one sees the other's write. Also a release, for
      // TakeArmed.
    } while (!intake_.compare_exchange_weak(newest, &entry, std::memory_order_seq_cst, std::memory_order_relaxed));
    return id;
  }

  // Any thread. Returns true if the timer will not fire; false if it has fired, is firing or was cancelled.
  bool Cancel(uint64_t id) {
    const uint64_t index = (id & kIndexMask) - 1;
    if ((id & kIndexMask) == 0 || index >= used_.load(std::memory_order_acquire)) return false;
    Entry* const entry = At(static_cast<uint32_t>(index));
    if (entry == nullptr) return false;  // an id that Arm has not returned: the entry's chunk is still being added
    uint64_t armed = (id >> kIndexBits) << 2 | kArmed;
    const uint64_t cancelled = (id >> kIndexBits) << 2 | kCancelled;
    // relaxed: the swap publishes no data; the rest of the entry is the firing thread's.
    if (!entry->state.compare_exchange_strong(armed, cancelled, std::memory_order_relaxed, std::memory_order_relaxed)) {
      return false;
    }
    cancelled_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // Any thread. Number of cancelled timers whose entries are not free yet.
  uint64_t cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  bool HasArmed() const { return intake_.load(std::memory_order_seq_cst) != nullptr; }

  // Firing thread. Returns the entries armed since the last call, oldest first, linked by `next`.
  Entry* TakeArmed() {
    // acquire: pairs with Arm's compare-and-swap of intake_; each later one continues the release sequence.
    Entry* newest = intake_.exchange(nullptr, std::memory_order_acquire);
    Entry* oldest = nullptr;
    while (newest != nullptr) {
      Entry* const before = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = before;
    }
    return oldest;
  }

  // Firing thread, when the entry is due. Returns true if the caller must use its value; false if it was cancelled.
  // relaxed: the swap only decides between Fire and Cancel; TakeArmed has acquired the value.
  bool Fire(Entry& entry) {
    uint64_t armed = (entry.state.load(std::memory_order_relaxed) & ~kStateMask) | kArmed;
    return entry.state.compare_exchange_strong(armed, (armed & ~kStateMask) | kFired, std::memory_order_relaxed,
                                               std::memory_order_relaxed);
  }
  bool IsCancelled(const Entry& entry) const {
    return (entry.state.load(std::memory_order_relaxed) & kStateMask) == kCancelled;
  }
  // Firing thread. Frees an entry that has fired or was cancelled. Requires that the caller has removed it from its
  // lists.
  void Free(Entry& entry) {
    if (IsCancelled(entry)) cancelled_.fetch_sub(1, std::memory_order_relaxed);
    entry.value = Value();
    uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      entry.next_free.store(static_cast<uint32_t>(head & kIndexMask), std::memory_order_relaxed);
      // release: pairs with NewEntry's acquire of free_, so the thread that arms the entry next sees it as left here.
    } while (!free_.compare_exchange_weak(head, NextTag(head) | (entry.index + 1), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

 private:
  enum State : uint64_t { kFree = 0, kArmed = 1, kFired = 2, kCancelled = 3 };
  static constexpr uint64_t kStateMask = 3;
  static constexpr int kIndexBits = 27;  // of index + 1
  static constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
  static_assert(kEntriesMax < kIndexMask);
  // Chunk k holds kFirstChunk << k entries.
  static constexpr size_t kChunks = std::bit_width(kEntriesMax / kFirstChunk);
  static_assert((uint64_t{kFirstChunk} << kChunks) - kFirstChunk >= kEntriesMax);

  static uint64_t IdOf(const Entry& entry, uint64_t generation) { return generation << kIndexBits | (entry.index + 1); }
  // The upper bits are a tag that each swap of free_ increments, so a swap from a stale head fails (ABA).
  static uint64_t NextTag(uint64_t head) { return (head & ~kIndexMask) + kIndexMask + 1; }
  static size_t ChunkOf(uint32_t index) { return static_cast<size_t>(std::bit_width(index / kFirstChunk + 1)) - 1; }
  static uint32_t FirstOf(size_t chunk) { return kFirstChunk * ((uint32_t{1} << chunk) - 1); }

  Entry* At(uint32_t index) {
    const size_t chunk = ChunkOf(index);
    // acquire: pairs with AddChunk's compare-and-swap, so this thread sees the entries as constructed.
    Entry* const first = chunks_[chunk].load(std::memory_order_acquire);
    return first == nullptr ? nullptr : first + (index - FirstOf(chunk));
  }

  Entry& NewEntry() {
    // acquire: pairs with Free's release swap of free_.
    uint64_t head = free_.load(std::memory_order_acquire);
    while ((head & kIndexMask) != 0) {
      Entry& entry = *At(static_cast<uint32_t>(head & kIndexMask) - 1);
      const uint64_t next = entry.next_free.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(head, NextTag(head) | next, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return entry;
      }
    }
    const uint32_t index = used_.fetch_add(1, std::memory_order_acq_rel);
    UNDERSTUDY_CHECK(index < kEntriesMax, "an executor has at most ", kEntriesMax, " timers");
    const size_t chunk = ChunkOf(index);
    if (chunks_[chunk].load(std::memory_order_acquire) == nullptr) AddChunk(chunk);
    return *At(index);
  }

  void AddChunk(size_t chunk) {
    const uint32_t size = kFirstChunk << chunk;
    auto* const entries = new Entry[size];
    for (uint32_t i = 0; i < size; ++i) entries[i].index = FirstOf(chunk) + i;
    Entry* none = nullptr;
    // release: pairs with At's acquire. Fails if another thread has added the chunk meanwhile.
    if (!chunks_[chunk].compare_exchange_strong(none, entries, std::memory_order_release, std::memory_order_relaxed)) {
      delete[] entries;
    }
  }

  Atomic<Entry*> intake_{nullptr};  // newest first
  Atomic<uint64_t> free_{0};        // tag << kIndexBits | index + 1
  Atomic<uint64_t> cancelled_{0};
  Atomic<uint32_t> used_{0};
  std::array<Atomic<Entry*>, kChunks> chunks_{};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_TABLE_H_
