// TimerQueue: values that fall due at given times, in order of time and, for
// equal times, of insertion. A plain data structure: no clock, no thread.
//
//   TimerQueue<int> queue;
//   const uint64_t id = queue.Add(now + absl::Seconds(1), 7);
//   while (auto due = queue.PopDue(now)) Fire(*due);
//
// Owner only.
#ifndef UNDERSTUDY_ACTORS_TIMER_QUEUE_H_
#define UNDERSTUDY_ACTORS_TIMER_QUEUE_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/types/optional.h"
#include "understudy/actors/clock.h"

namespace understudy {

template <class T>
class TimerQueue {
 public:
  // The id is never 0 and never reused.
  uint64_t Add(MonotonicTime time, T value) {
    const uint64_t id = ++last_id_;
    due_.emplace(std::pair(time, id), std::move(value));
    times_.emplace(id, time);
    return id;
  }

  // False when it is not there any more.
  bool Remove(uint64_t id) {
    const auto it = times_.find(id);
    if (it == times_.end()) return false;
    due_.erase(std::pair(it->second, id));
    times_.erase(it);
    return true;
  }

  // The earliest time, or InfiniteFuture when there is none.
  MonotonicTime Next() const { return due_.empty() ? MonotonicTime::InfiniteFuture() : due_.begin()->first.first; }

  // The first value whose time is not after `now`.
  absl::optional<T> PopDue(MonotonicTime now) {
    if (due_.empty() || due_.begin()->first.first > now) return absl::nullopt;
    auto node = due_.extract(due_.begin());
    times_.erase(node.key().second);
    return std::move(node.mapped());
  }

  size_t size() const { return due_.size(); }
  bool empty() const { return due_.empty(); }

 private:
  std::map<std::pair<MonotonicTime, uint64_t>, T> due_;
  std::map<uint64_t, MonotonicTime> times_;
  uint64_t last_id_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TIMER_QUEUE_H_
