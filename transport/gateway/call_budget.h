// CallBudget: the calls, the streams among them, and the bytes of requests that all clients of a gateway may have under
// way. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace understudy::internal {

enum class CallKind { kUnary, kStream };

class CallBudget {
 public:
  // Streams count as calls too.
  CallBudget(int64_t calls_max, int64_t streams_max, size_t bytes_max)
      : calls_max_(calls_max), streams_max_(streams_max), bytes_max_(static_cast<int64_t>(bytes_max)) {}

  // Admits a call whose request has that many bytes, or returns ResourceExhausted with the bound that is reached.
  [[nodiscard]] absl::Status Admit(CallKind kind, size_t bytes);
  // An admitted call is over.
  void Release(CallKind kind, size_t bytes);

  int64_t under_way() const { return calls_.load(std::memory_order_relaxed); }
  int64_t streams() const { return streams_.load(std::memory_order_relaxed); }
  int64_t admitted() const { return admitted_.load(std::memory_order_relaxed); }
  int64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  const int64_t calls_max_;
  const int64_t streams_max_;
  const int64_t bytes_max_;
  // relaxed throughout: no other data depends on the counts. A call is counted before the bounds are compared, so calls
  // that come at the same time may all be refused although one of them would have had room.
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> streams_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> admitted_{0};
  std::atomic<int64_t> refused_{0};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_
