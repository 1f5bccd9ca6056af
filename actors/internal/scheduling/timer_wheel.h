// TimerWheel: entries that fall due at given times, in order of time and, for
// equal times, of insertion. Adding an entry takes constant time, however many
// there are: entries are sorted only when their millisecond begins.
//
// A wheel of 8 levels with 64 places each, after Varghese and Lauck, "Hashed and
// hierarchical timing wheels" (1987). A place of the lowest level spans one tick,
// about a millisecond. The entries of ticks that have begun are in a heap, so that
// the order is exact.
//
// Invariant: an entry lies at the level of the highest group of six bits in which
// its tick and the present tick differ. The first occupied place of the lowest
// occupied level therefore has the earliest entries outside the heap.
//
// Owner only. `Entry` has members `time`, `order` and `next`; the last two are for
// this class's use.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_WHEEL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_WHEEL_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

template <class Entry>
class TimerWheel {
 public:
  void Add(Entry& entry) {
    entry.order = ++last_order_;
    ++size_;
    Place(entry);
  }

  // The first entry whose time is not after `now`, or null.
  Entry* PopDue(MonotonicTime now) {
    TurnTo(TickOf(now));
    if (near_.empty() || near_.front()->time > now) return nullptr;
    std::pop_heap(near_.begin(), near_.end(), &TimerWheel::IsLater);
    Entry* const entry = near_.back();
    near_.pop_back();
    --size_;
    return entry;
  }

  // The time at which to call PopDue next, which is not later than the earliest time of an entry; InfiniteFuture if
  // there are no entries.
  MonotonicTime Next() const {
    if (!near_.empty()) return near_.front()->time;
    const Position next = NextPosition();
    if (next.level == kLevels) return MonotonicTime::InfiniteFuture();
    return MonotonicTime::FromNanos(static_cast<int64_t>(next.tick << kTickBits));
  }

  // Removes every entry for which `is_gone` returns true, and passes it to `drop`.
  void Sweep(absl::FunctionRef<bool(const Entry&)> is_gone, absl::FunctionRef<void(Entry&)> drop) {
    std::vector<Entry*> gone;
    for (Entry* entry : near_) {
      if (is_gone(*entry)) gone.push_back(entry);
    }
    // `is_gone` may become true for further entries meanwhile. It is therefore called once for each entry: those in
    // `gone` are removed and no others.
    std::sort(gone.begin(), gone.end());
    std::erase_if(near_, [&](Entry* entry) { return std::binary_search(gone.begin(), gone.end(), entry); });
    std::make_heap(near_.begin(), near_.end(), &TimerWheel::IsLater);
    for (int level = 0; level < kLevels; ++level) {
      for (int place = 0; place < kPlaces; ++place) SweepPlace(level, place, is_gone, gone);
    }
    size_ -= gone.size();
    for (Entry* entry : gone) drop(*entry);
  }

  size_t size() const { return size_; }

 private:
  static constexpr int kTickBits = 20;  // of nanoseconds
  static constexpr int kLevelBits = 6;
  static constexpr int kPlaces = 1 << kLevelBits;
  static constexpr int kLevels = 8;
  static_assert(kTickBits + kLevels * kLevelBits >= 63);

  struct Position {
    int level = kLevels;
    int place = 0;
    uint64_t tick = 0;  // the first tick of the place
  };

  static uint64_t TickOf(MonotonicTime time) {
    return static_cast<uint64_t>(std::max<int64_t>(time.nanos(), 0)) >> kTickBits;
  }
  static bool IsLater(const Entry* a, const Entry* b) {
    return a->time != b->time ? a->time > b->time : a->order > b->order;
  }

  void Place(Entry& entry) {
    const uint64_t tick = TickOf(entry.time);
    if (tick <= tick_) {
      near_.push_back(&entry);
      std::push_heap(near_.begin(), near_.end(), &TimerWheel::IsLater);
      return;
    }
    const int level = (std::bit_width(tick ^ tick_) - 1) / kLevelBits;
    const auto place = static_cast<int>(tick >> (level * kLevelBits) & (kPlaces - 1));
    Entry*& first = First(level, place);
    entry.next = first;
    first = &entry;
    occupied_[static_cast<size_t>(level)] |= uint64_t{1} << place;
  }

  Position NextPosition() const {
    for (int level = 0; level < kLevels; ++level) {
      const uint64_t occupied = occupied_[static_cast<size_t>(level)];
      if (occupied == 0) continue;
      const int place = std::countr_zero(occupied);
      const int shift = level * kLevelBits;
      const uint64_t above = tick_ >> (shift + kLevelBits) << (shift + kLevelBits);
      return {.level = level, .place = place, .tick = above | static_cast<uint64_t>(place) << shift};
    }
    return {};
  }

  // Makes `tick` the present tick. Moves the entries of each place that begins by then to lower levels or, if their own
  // ticks have begun, to the heap.
  void TurnTo(uint64_t tick) {
    for (;;) {
      const Position next = NextPosition();
      if (next.level == kLevels || next.tick > tick) break;
      tick_ = next.tick;
      Entry* entry = First(next.level, next.place);
      First(next.level, next.place) = nullptr;
      occupied_[static_cast<size_t>(next.level)] &= ~(uint64_t{1} << next.place);
      while (entry != nullptr) {
        Entry* const after = entry->next;
        Place(*entry);
        entry = after;
      }
    }
    tick_ = std::max(tick_, tick);
  }

  void SweepPlace(int level, int place, absl::FunctionRef<bool(const Entry&)> is_gone, std::vector<Entry*>& gone) {
    Entry* entry = First(level, place);
    if (entry == nullptr) return;
    Entry* kept = nullptr;
    while (entry != nullptr) {
      Entry* const after = entry->next;
      if (is_gone(*entry)) {
        gone.push_back(entry);
      } else {
        entry->next = kept;  // reverses the list, whose order has no meaning: `order` decides between equal times
        kept = entry;
      }
      entry = after;
    }
    First(level, place) = kept;
    if (kept == nullptr) occupied_[static_cast<size_t>(level)] &= ~(uint64_t{1} << place);
  }

  Entry*& First(int level, int place) {
    return places_[static_cast<size_t>(level) * kPlaces + static_cast<size_t>(place)];
  }

  uint64_t tick_ = 0;  // the present tick: the last one that has begun
  uint64_t last_order_ = 0;
  size_t size_ = 0;
  std::vector<Entry*> near_;  // a heap of the entries whose ticks have begun; the earliest is on top
  std::array<uint64_t, kLevels> occupied_{};
  std::array<Entry*, static_cast<size_t>(kLevels) * kPlaces> places_{};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_TIMER_WHEEL_H_
