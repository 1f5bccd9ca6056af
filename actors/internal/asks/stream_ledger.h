// StreamLedger: the items of one stream that count against the asker's credit. Both ends of a stream have one: the
// writer's adds an item when it is written, the asker's when it comes. An item leaves the ledger when the asker returns
// its credit, which the asker does in groups, after its program has taken the items.
//
// Credit is counted in items, because both ends see the same items in the same order; so each end knows by itself how
// many bytes a return frees. The next item may be written if fewer than limits::kStreamItemsMax items with fewer than
// limits::kStreamBytesMax bytes count, whatever its own size. A stream therefore holds at most those bytes and one
// item, and an item of any size can be written once enough before it was returned.
//
// Invariant: taken_ <= sizes_.size() <= limits::kStreamItemsMax. The asker returns credit as soon as half of the items
// or of the bytes are taken. So when all items that came are taken, less than half of either bound counts, and the
// writer can go on: a stream whose two ends both wait for each other does not exist.
//
// A plain state machine, for the turn of the actor that has it.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_STREAM_LEDGER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_STREAM_LEDGER_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

class StreamLedger {
 public:
  // True if one more item may be written.
  bool HasRoom() const { return items() < limits::kStreamItemsMax && bytes_ < limits::kStreamBytesMax; }
  // An item of `bytes` was written, or came. Returns false, and counts nothing, if there is no room for it.
  [[nodiscard]] bool Add(size_t bytes) {
    if (!HasRoom()) return false;
    sizes_.push_back(bytes);
    bytes_ += bytes;
    return true;
  }
  // At the asker: its program has taken the oldest item that was not taken yet. Requires that there is one.
  void Take() { taken_bytes_ += sizes_[taken_++]; }
  // At the asker: the number of items whose credit is to be returned now, which may be 0. They leave the ledger.
  size_t TakeReturn() {
    if (2 * taken_ < limits::kStreamItemsMax && 2 * taken_bytes_ < limits::kStreamBytesMax) return 0;
    const size_t items = taken_;
    taken_ = 0;
    taken_bytes_ = 0;
    Remove(items);
    return items;
  }
  // At the writer: the asker has returned the credit of `items`. Returns false, and changes nothing, if there are not
  // as many.
  [[nodiscard]] bool Return(uint64_t items) {
    if (items > sizes_.size()) return false;
    Remove(static_cast<size_t>(items));
    return true;
  }

  size_t items() const { return sizes_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  void Remove(size_t items) {
    for (size_t i = 0; i < items; ++i) bytes_ -= sizes_[i];
    sizes_.erase(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(items));
  }

  absl::InlinedVector<size_t, 4> sizes_;  // of the items that count, oldest first
  size_t bytes_ = 0;                      // their sum
  size_t taken_ = 0;                      // the first so many of them were taken, and are not returned yet
  size_t taken_bytes_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_STREAM_LEDGER_H_
