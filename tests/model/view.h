// View: the steps of all threads that happened before a modelled thread's current step, and which stores the thread may
// still read.
#ifndef UNDERSTUDY_TESTS_MODEL_VIEW_H_
#define UNDERSTUDY_TESTS_MODEL_VIEW_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace understudy::model {

inline constexpr size_t kThreadsMax = 8;  // including the one that sets the run up
inline constexpr size_t kLocationsMax = 56;

// `clock` is, for each thread, the last of its steps that happened before; `front` is, for each atomic, the oldest
// store that may still be read. A store with release order carries its thread's view, and a load with acquire order
// joins that view to its own thread's.
struct View {
  std::array<int16_t, kThreadsMax> clock = {};
  std::array<int16_t, kLocationsMax> front = {};

  void Join(const View& other) {
    for (size_t i = 0; i < kThreadsMax; ++i) clock[i] = std::max(clock[i], other.clock[i]);
    JoinFront(other);
  }
  // Joins only the fronts. A seq_cst fence or a barrier limits which stores may be read; by itself it does not order
  // accesses to plain variables.
  void JoinFront(const View& other) {
    for (size_t i = 0; i < kLocationsMax; ++i) front[i] = std::max(front[i], other.front[i]);
  }
};

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_VIEW_H_
