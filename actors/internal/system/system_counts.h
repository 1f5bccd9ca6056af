// SystemCounts: what happened in a system, in numbers that only tell an operator something. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_COUNTS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_COUNTS_H_

#include <atomic>
#include <cstdint>

namespace understudy::internal {

// A number on which no other data depends, so all accesses are relaxed.
class Counter {
 public:
  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

struct SystemCounts {
  Counter fenced;        // actors that are fenced now: their handlers have not returned
  Counter refused;       // sends that no mailbox accepted
  Counter late_replies;  // replies that came after the end of their asks, and were dropped
  Counter merged_exits;  // exits and requests to stop that were merged with others that wait
  Counter overdue_ends;  // actors that were killed after their parents had told them to end
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_COUNTS_H_
