// CallBudget: the calls, the streams among them, and the bytes of requests that all clients of a gateway may have under
// way. Any thread.
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

class CallBudget {
 public:
  // Streams count as calls too.
  CallBudget(int64_t calls_max, int64_t streams_max, size_t bytes_max)
      : calls_max_(calls_max), streams_max_(streams_max), bytes_max_(static_cast<int64_t>(bytes_max)) {}

  // Admits a call whose request has that many bytes, or returns ResourceExhausted with the bound that is reached, or
  // Unavailable for a stream after RefuseStreams.
  [[nodiscard]] absl::Status Admit(CallKind kind, size_t bytes);
  // An admitted call is over, which counts with that many bytes.
  void Release(CallKind kind, size_t bytes);
  // Adds the bytes of a further message to those of an admitted call, or returns ResourceExhausted with the bound that
  // is reached.
  [[nodiscard]] absl::Status AddBytes(size_t bytes);
  // An admitted call counts with that many bytes less.
  void ReleaseBytes(size_t bytes) { bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }

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
  // `sum` would be the bytes of all calls.
  absl::Status BeyondBytes(size_t bytes, int64_t sum) const;

  const int64_t calls_max_;
  const int64_t streams_max_;
  const int64_t bytes_max_;
  // A call is counted before the bounds are compared, so calls that come at the same time may all be refused although
  // one of them would have had room. relaxed, but for the end of a call: no other data depends on the counts.
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> admitted_{0};
  std::atomic<int64_t> refused_{0};
  mutable absl::Mutex streams_mu_;
  int64_t streams_ ABSL_GUARDED_BY(streams_mu_) = 0;
  bool takes_streams_ ABSL_GUARDED_BY(streams_mu_) = true;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CALL_BUDGET_H_
