// TimerQueue: values that fall due at given times, in order of time and, for
// equal times, of insertion. A plain data structure: no clock, no thread.
//
//   TimerQueue<int> queue;
//   const uint64_t id = queue.Add(now + absl::Seconds(1), 7);
//   while (auto due = queue.PopDue(now)) Fire(*due);
//
// A heap in which each node has four children. `places_` records where in the heap
// each value is, so that Add and Remove take logarithmic time. Memory is kept, so
// nothing is allocated up to the largest size that the queue has had. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_QUEUE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"

namespace understudy {

// T must be default-constructible: unused places hold T().
template <class T>
class TimerQueue {
 public:
  // The id is never 0 and never reused. CHECKs beyond 2^24 values at a time.
  uint64_t Add(MonotonicTime time, T value) {
    const uint32_t place = NewPlace();
    places_[place].value = std::move(value);
    const uint64_t id = ++last_ << kPlaceBits | place;
    heap_.emplace_back();
    SiftUp(heap_.size() - 1, {.time = time, .id = id});
    return id;
  }

  // Returns false if the value is not in the queue any more.
  bool Remove(uint64_t id) {
    const size_t place = id & kPlaceMask;
    if (place >= places_.size()) return false;
    const size_t position = places_[place].position;
    if (position >= heap_.size() || heap_[position].id != id) return false;
    // Destroyed on return, when the queue is consistent again, because the destructor of a T may use the queue.
    [[maybe_unused]] const T removed = std::exchange(places_[place].value, T());
    Erase(position);
    return true;
  }

  // The earliest time, or InfiniteFuture when there is none.
  MonotonicTime Next() const { return heap_.empty() ? MonotonicTime::InfiniteFuture() : heap_[0].time; }

  // Removes and returns the first value whose time is not after `now`; nullopt if there is none.
  absl::optional<T> PopDue(MonotonicTime now) {
    if (heap_.empty() || heap_[0].time > now) return absl::nullopt;
    const size_t place = heap_[0].id & kPlaceMask;
    absl::optional<T> due(std::exchange(places_[place].value, T()));
    Erase(0);
    return due;
  }

  size_t size() const { return heap_.size(); }
  bool empty() const { return heap_.empty(); }

 private:
  static constexpr int kPlaceBits = 24;
  static constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  static constexpr size_t kChildren = 4;

  struct Node {
    MonotonicTime time;
    uint64_t id = 0;  // grows with each insertion

    bool IsBefore(const Node& other) const { return time != other.time ? time < other.time : id < other.id; }
  };
  struct Place {
    T value{};
    uint32_t position = 0;  // where the value is in the heap; in a free place, the number of the next free place
  };

  uint32_t NewPlace() {
    if (free_ == kNone) {
      UNDERSTUDY_CHECK(places_.size() < kPlaceMask, "too many timers");
      places_.emplace_back();
      return static_cast<uint32_t>(places_.size() - 1);
    }
    return std::exchange(free_, places_[free_].position);
  }

  // Takes a node out of the heap and frees its place.
  void Erase(size_t position) {
    const auto place = static_cast<uint32_t>(heap_[position].id & kPlaceMask);
    const Node last = heap_.back();
    heap_.pop_back();
    if (position < heap_.size()) {
      if (position != 0 && last.IsBefore(heap_[(position - 1) / kChildren])) {
        SiftUp(position, last);
      } else {
        SiftDown(position, last);
      }
    }
    places_[place].position = std::exchange(free_, place);
  }

  void Put(size_t position, const Node& node) {
    heap_[position] = node;
    places_[node.id & kPlaceMask].position = static_cast<uint32_t>(position);
  }

  // SiftUp and SiftDown put `node` into the heap. `position` is free at first; the nodes on the path from there to the
  // final position of `node` move by one level each.
  void SiftUp(size_t position, const Node& node) {
    while (position != 0) {
      const size_t parent = (position - 1) / kChildren;
      if (!node.IsBefore(heap_[parent])) break;
      Put(position, heap_[parent]);
      position = parent;
    }
    Put(position, node);
  }
  void SiftDown(size_t position, const Node& node) {
    for (;;) {
      const size_t begin = position * kChildren + 1;
      const size_t end = std::min(begin + kChildren, heap_.size());
      size_t first = begin;
      for (size_t child = begin + 1; child < end; ++child) {
        if (heap_[child].IsBefore(heap_[first])) first = child;
      }
      if (begin >= end || !heap_[first].IsBefore(node)) break;
      Put(position, heap_[first]);
      position = first;
    }
    Put(position, node);
  }

  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<Node> heap_;
  std::vector<Place> places_;
  uint64_t last_ = 0;
  uint32_t free_ = kNone;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_QUEUE_H_
