// KeptEntries: the last entries of one stream for readers, bounded in number and in bytes. A reader has no queue of its
// own: it asks for the first entry after the one that it had last, so a slow reader costs nothing and loses the oldest.
//
// `Entry` is a protobuf message with the fields `number` and `lost`. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_OPS_KEPT_ENTRIES_H_
#define UNDERSTUDY_TRANSPORT_OPS_KEPT_ENTRIES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"

namespace understudy::internal {

template <class Entry>
class KeptEntries {
 public:
  KeptEntries(size_t entries_max, size_t bytes_max) : entries_max_(entries_max), bytes_max_(bytes_max) {}

  // Numbers the entry, from 1, and keeps it. The oldest ones go when a bound is exceeded; an entry that is larger than
  // the bound in bytes goes at once.
  void Add(Entry entry) {
    absl::MutexLock lock(&mu_);
    entry.set_number(++last_);
    bytes_ += entry.ByteSizeLong();
    kept_.push_back(std::move(entry));
    while (!kept_.empty() && (kept_.size() > entries_max_ || bytes_ > bytes_max_)) {
      bytes_ -= kept_.front().ByteSizeLong();
      kept_.pop_front();
    }
  }

  // The first entry that is kept with a number above `after`, with the number of entries between in `lost`; nullopt if
  // there is none yet.
  absl::optional<Entry> After(uint64_t after) const {
    absl::MutexLock lock(&mu_);
    if (kept_.empty() || after >= last_) return absl::nullopt;
    const uint64_t first = kept_.front().number();
    const uint64_t next = after + 1 < first ? first : after + 1;
    Entry entry = kept_[static_cast<size_t>(next - first)];
    entry.set_lost(next - after - 1);
    return entry;
  }

 private:
  const size_t entries_max_;
  const size_t bytes_max_;
  mutable absl::Mutex mu_;
  std::deque<Entry> kept_ ABSL_GUARDED_BY(mu_);  // with consecutive numbers
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_KEPT_ENTRIES_H_
