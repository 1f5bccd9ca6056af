// CallBudget: the calls, the streams among them, and the bytes of requests and of replies that all clients of a gateway
// may have under way. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace understudy::internal {

enum class CallKind { kUnary, kStream };

// Unavailable: the error of calls that a drain refuses or ends.
absl::Status DrainingError();

class CallBudget {
 public:
  struct Bounds {
    int64_t calls_max = 0;
    int64_t streams_max = 0;  // streams count as calls too
    size_t requests_bytes_max = 0;
    size_t replies_bytes_max = 0;
  };
  explicit CallBudget(const Bounds& bounds) : bounds_(bounds) {}

  // Admits a call whose request has not been read yet, or returns ResourceExhausted with the bound that is reached, or
  // Unavailable for a stream after RefuseStreams.
  [[nodiscard]] absl::Status Admit(CallKind kind);
  // An admitted call is over, which counts with these bytes.
  void Release(CallKind kind, size_t request_bytes, size_t reply_bytes = 0);
  // These add the bytes of a message to those of an admitted call, or return ResourceExhausted with the bound that is
  // reached.
  [[nodiscard]] absl::Status AddRequest(size_t bytes);
  [[nodiscard]] absl::Status AddReply(size_t bytes);
  // An admitted call counts with that many bytes of requests less.
  void ReleaseRequest(size_t bytes) { Subtract(request_bytes_, bytes); }

  // Admits no stream from here on, and returns when none is left, or after `within`.
  void RefuseStreams(absl::Duration within);

  // A thread that sees here that a call is over sees all that the call did. A stream leaves streams() before
  // under_way().
  int64_t under_way() const { return calls_.load(std::memory_order_acquire); }
  int64_t streams() const {
    absl::MutexLock lock(&streams_mu_);
    return streams_;
  }
  int64_t admitted() const { return admitted_.load(std::memory_order_relaxed); }
  int64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] absl::Status AddStream();
  bool HasNoStreams() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(streams_mu_) { return streams_ == 0; }
  // Adds to `sum` and returns true, unless the sum would be beyond `at_most`: then counts a refusal.
  [[nodiscard]] bool Add(std::atomic<int64_t>& sum, size_t bytes, size_t at_most);
  static void Subtract(std::atomic<int64_t>& sum, size_t bytes) {
    sum.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }

  const Bounds bounds_;
  // A call is counted before the bounds are compared, so calls that come at the same time may all be refused although
  // one of them would have had room. relaxed, but for the end of a call: no other data depends on the counts.
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> request_bytes_{0};
  std::atomic<int64_t> reply_bytes_{0};
  std::atomic<int64_t> admitted_{0};
  std::atomic<int64_t> refused_{0};
  mutable absl::Mutex streams_mu_;
  int64_t streams_ ABSL_GUARDED_BY(streams_mu_) = 0;
  bool takes_streams_ ABSL_GUARDED_BY(streams_mu_) = true;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_
