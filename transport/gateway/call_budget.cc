#include "understudy/transport/gateway/call_budget.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace understudy::internal {

absl::Status DrainingError() { return absl::UnavailableError("the gateway is draining"); }

absl::Status CallBudget::Admit(CallKind kind) {
  absl::Status admitted = kind == CallKind::kStream ? AddStream() : absl::OkStatus();
  if (admitted.ok() && calls_.fetch_add(1, std::memory_order_relaxed) >= bounds_.calls_max) {
    admitted = absl::ResourceExhaustedError(
        absl::StrCat("the gateway has ", bounds_.calls_max, " calls under way, the most that it takes at once"));
    Release(kind, 0);
  }
  (admitted.ok() ? admitted_ : refused_).fetch_add(1, std::memory_order_relaxed);
  return admitted;
}

absl::Status CallBudget::AddStream() {
  absl::MutexLock lock(&streams_mu_);
  if (!takes_streams_) return DrainingError();
  if (streams_ >= bounds_.streams_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the gateway has ", bounds_.streams_max, " streams under way, the most that it takes at once"));
  }
  ++streams_;
  return absl::OkStatus();
}

void CallBudget::RefuseStreams(absl::Duration within) {
  absl::MutexLock lock(&streams_mu_);
  takes_streams_ = false;
  (void)streams_mu_.AwaitWithTimeout(absl::Condition(this, &CallBudget::HasNoStreams), within);
}

bool CallBudget::Add(std::atomic<int64_t>& sum, size_t bytes, size_t at_most) {
  const auto size = static_cast<int64_t>(bytes);
  if (sum.fetch_add(size, std::memory_order_relaxed) + size <= static_cast<int64_t>(at_most)) return true;
  Subtract(sum, bytes);
  refused_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

absl::Status CallBudget::AddRequest(size_t bytes) {
  if (Add(request_bytes_, bytes, bounds_.requests_bytes_max)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("with this request of ", bytes, " bytes the calls under way would ",
                                                   "have more than ", bounds_.requests_bytes_max,
                                                   " bytes of requests, the most that the gateway takes at once"));
}

absl::Status CallBudget::AddReply(size_t bytes) {
  if (Add(reply_bytes_, bytes, bounds_.replies_bytes_max)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the actor has handled the call, but with its reply of ", bytes, " bytes the clients would have ", "more than ",
      bounds_.replies_bytes_max, " bytes of replies to take, the most that the gateway keeps"));
}

void CallBudget::Release(CallKind kind, size_t request_bytes, size_t reply_bytes) {
  Subtract(request_bytes_, request_bytes);
  Subtract(reply_bytes_, reply_bytes);
  if (kind == CallKind::kUnary) {
    calls_.fetch_sub(1, std::memory_order_release);
    return;
  }
  absl::MutexLock lock(&streams_mu_);
  --streams_;
  calls_.fetch_sub(1, std::memory_order_release);  // last: whoever sees no call finds no stream
}

}  // namespace understudy::internal
