// TimeSketch: a histogram of durations in a fixed number of buckets, with their sum and the longest.
//
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_TIME_SKETCH_H_
#define UNDERSTUDY_ACTORS_TIME_SKETCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy {

// The upper bounds of the buckets of TimeSketch, besides the last one, which has none.
inline constexpr std::array<int64_t, 12> kTimeSketchBoundsNanos = {
    1'000,      10'000,      100'000,     1'000'000,     5'000'000,     10'000'000,
    50'000'000, 100'000'000, 500'000'000, 1'000'000'000, 5'000'000'000, 10'000'000'000};

struct TimeSketch {
  std::array<int64_t, kTimeSketchBoundsNanos.size() + 1> buckets{};  // samples at most as long as the bound, not summed
  int64_t samples = 0;
  absl::Duration sum;
  absl::Duration longest;

  void Add(absl::Duration time) {
    size_t bucket = 0;
    const int64_t nanos = absl::ToInt64Nanoseconds(time);
    while (bucket < kTimeSketchBoundsNanos.size() && nanos > kTimeSketchBoundsNanos[bucket]) ++bucket;
    ++buckets[bucket];
    ++samples;
    sum += time;
    if (time > longest) longest = time;
  }
  TimeSketch& operator+=(const TimeSketch& other) {
    for (size_t i = 0; i < buckets.size(); ++i) buckets[i] += other.buckets[i];
    samples += other.samples;
    sum += other.sum;
    if (other.longest > longest) longest = other.longest;
    return *this;
  }
  // The bound of the bucket below which at least `share` (0 to 1) of the samples lie; `longest` if it is smaller.
  absl::Duration AtMost(double share) const {
    int64_t below = 0;
    for (size_t i = 0; i < kTimeSketchBoundsNanos.size(); ++i) {
      below += buckets[i];
      if (static_cast<double>(below) < share * static_cast<double>(samples)) continue;
      const absl::Duration bound = absl::Nanoseconds(kTimeSketchBoundsNanos[i]);
      return bound < longest ? bound : longest;
    }
    return longest;
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TIME_SKETCH_H_
