// NodeTimer: the times at which the cores of a node's peers are to be visited
// (PeerCore::Tick), and at which the node must be woken for that. Any thread. Its lock
// is a leaf; a send takes it only if the peer's next visit becomes earlier.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_TIMER_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_TIMER_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class PeerCore;

class NodeTimer {
 public:
  // Sets the next visit of the core with that number to `to`, in place of the one set
  // before, if any. Returns the time for which the caller must arrange a call of OnTime,
  // or InfiniteFuture if a call that is arranged already comes early enough.
  [[nodiscard]] MonotonicTime Move(uint64_t number, PeerCore* peer, MonotonicTime to) {
    absl::MutexLock lock(&mu_);
    const auto [visit, is_new] = visits_.emplace(number, to);
    if (!is_new) due_.erase({std::exchange(visit->second, to), number});
    due_[{to, number}] = peer;
    return Want(to);
  }

  // The time `scheduled`, which Move or Rearm returned, has come. Returns the cores to
  // visit now, in the order of their times; the caller visits them and then calls Rearm.
  // Returns nothing if an earlier time was returned since, whose call of OnTime takes
  // the place of this one.
  absl::optional<std::vector<PeerCore*>> OnTime(MonotonicTime scheduled, MonotonicTime now) {
    absl::MutexLock lock(&mu_);
    if (scheduled != wake_at_) return absl::nullopt;
    wake_at_ = MonotonicTime::InfiniteFuture();
    std::vector<PeerCore*> due;
    for (; !due_.empty() && due_.begin()->first.first <= now; due_.erase(due_.begin())) {
      due.push_back(due_.begin()->second);
      visits_.erase(due_.begin()->first.second);
    }
    return due;
  }
  // Returns the time for the next call of OnTime, as Move does, for the visits that are left.
  [[nodiscard]] MonotonicTime Rearm() {
    absl::MutexLock lock(&mu_);
    return due_.empty() ? MonotonicTime::InfiniteFuture() : Want(due_.begin()->first.first);
  }

 private:
  MonotonicTime Want(MonotonicTime time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (time >= wake_at_) return MonotonicTime::InfiniteFuture();
    return wake_at_ = time;
  }

  absl::Mutex mu_;
  // Ordered by time and number, so that the order does not depend on addresses.
  std::map<std::pair<MonotonicTime, uint64_t>, PeerCore*> due_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, MonotonicTime> visits_ ABSL_GUARDED_BY(mu_);  // the times in due_, by number
  MonotonicTime wake_at_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_TIMER_H_
