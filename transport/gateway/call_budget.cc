#include "understudy/transport/gateway/call_budget.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace understudy::internal {

absl::Status CallBudget::Admit(CallKind kind, size_t bytes) {
  absl::Status admitted = kind == CallKind::kStream ? AddStream() : absl::OkStatus();
  if (admitted.ok()) {
    const auto size = static_cast<int64_t>(bytes);
    const int64_t calls = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    const int64_t sum = bytes_.fetch_add(size, std::memory_order_relaxed) + size;
    if (calls > calls_max_) {
      admitted = absl::ResourceExhaustedError(
          absl::StrCat("the gateway has ", calls_max_, " calls under way, the most that it takes at once"));
    } else if (sum > bytes_max_) {
      admitted = BeyondBytes(bytes, sum);
    }
    if (!admitted.ok()) Release(kind, bytes);
  }
  (admitted.ok() ? admitted_ : refused_).fetch_add(1, std::memory_order_relaxed);
  return admitted;
}

absl::Status CallBudget::AddStream() {
  absl::MutexLock lock(&streams_mu_);
  if (!takes_streams_) return absl::UnavailableError("the gateway is draining");
  if (streams_ >= streams_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the gateway has ", streams_max_, " streams under way, the most that it takes at once"));
  }
  ++streams_;
  return absl::OkStatus();
}

void CallBudget::RefuseStreams(absl::Duration within) {
  absl::MutexLock lock(&streams_mu_);
  takes_streams_ = false;
  (void)streams_mu_.AwaitWithTimeout(absl::Condition(this, &CallBudget::HasNoStreams), within);
}

absl::Status CallBudget::AddBytes(size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  const int64_t sum = bytes_.fetch_add(size, std::memory_order_relaxed) + size;
  if (sum <= bytes_max_) return absl::OkStatus();
  ReleaseBytes(bytes);
  return BeyondBytes(bytes, sum);
}

absl::Status CallBudget::BeyondBytes(size_t bytes, int64_t sum) const {
  return absl::ResourceExhaustedError(absl::StrCat("with this request of ", bytes, " bytes the calls under way would ",
                                                   "have ", sum, " bytes: the gateway takes at most ", bytes_max_));
}

void CallBudget::Release(CallKind kind, size_t bytes) {
  ReleaseBytes(bytes);
  if (kind == CallKind::kUnary) {
    calls_.fetch_sub(1, std::memory_order_release);
    return;
  }
  absl::MutexLock lock(&streams_mu_);
  --streams_;
  calls_.fetch_sub(1, std::memory_order_release);  // last: whoever sees no call finds no stream
}

}  // namespace understudy::internal
