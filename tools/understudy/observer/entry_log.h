// EntryLog: the last entries of one stream of a node, as JSON, and which of them the pages have not got yet.
//
// Threads: Begin and Add by the follower, the rest by the watch.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_ENTRY_LOG_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_ENTRY_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "understudy/tools/understudy/observer/observer_limits.h"

namespace understudy::tool {

class EntryLog {
 public:
  // A stream begins: it tells all entries again.
  void Begin() {
    absl::MutexLock lock(&mu_);
    kept_.clear();
    bytes_ = 0;
    fresh_ = 0;
    is_whole_ = true;
  }
  void Add(std::string entry) {
    absl::MutexLock lock(&mu_);
    bytes_ += entry.size();
    kept_.push_back(std::move(entry));
    ++fresh_;
    while (kept_.size() > limits::kObserverEntriesMax || bytes_ > limits::kObserverEntriesBytesMax) {
      bytes_ -= kept_.front().size();
      kept_.pop_front();
    }
  }

  // Returns the entries that pages have not got yet, as {"whole":…,"lost":…,"entries":[…]}, or an empty text if there
  // are none. If `whole` is true, pages drop the entries that they show. `lost` counts the entries that were added and
  // overwritten since the last call.
  std::string TakeFresh() {
    absl::MutexLock lock(&mu_);
    if (fresh_ == 0 && !is_whole_) return "";
    const size_t count = fresh_ < kept_.size() ? static_cast<size_t>(fresh_) : kept_.size();
    std::string text = Text(std::exchange(is_whole_, false), fresh_ - count, count);
    fresh_ = 0;
    return text;
  }
  // Returns all entries that are kept, for a page that was just opened. Call after TakeFresh.
  std::string All() const {
    absl::MutexLock lock(&mu_);
    return Text(/*is_whole=*/true, /*lost=*/0, kept_.size());
  }

 private:
  std::string Text(bool is_whole, uint64_t lost, size_t count) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return absl::StrCat("{\"whole\":", is_whole ? "true" : "false", ",\"lost\":", lost, ",\"entries\":[",
                        absl::StrJoin(kept_.end() - static_cast<std::ptrdiff_t>(count), kept_.end(), ","), "]}");
  }

  mutable absl::Mutex mu_;
  std::deque<std::string> kept_ ABSL_GUARDED_BY(mu_);  // JSON
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;              // of kept_
  uint64_t fresh_ ABSL_GUARDED_BY(mu_) = 0;            // came since the last TakeFresh
  bool is_whole_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_ENTRY_LOG_H_
