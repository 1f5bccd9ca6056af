#include "understudy/transport/gateway/call_budget.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace understudy::internal {

absl::Status CallBudget::Admit(CallKind kind, size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  const int64_t one_stream = kind == CallKind::kStream ? 1 : 0;
  const int64_t calls = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  const int64_t streams = streams_.fetch_add(one_stream, std::memory_order_relaxed) + one_stream;
  const int64_t sum = bytes_.fetch_add(size, std::memory_order_relaxed) + size;
  const bool has_stream = one_stream == 0 || streams <= streams_max_;
  if (calls <= calls_max_ && has_stream && sum <= bytes_max_) {
    admitted_.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  Release(kind, bytes);
  refused_.fetch_add(1, std::memory_order_relaxed);
  if (calls > calls_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the gateway has ", calls_max_, " calls under way, the most that it takes at once"));
  }
  if (!has_stream) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the gateway has ", streams_max_, " streams under way, the most that it takes at once"));
  }
  return absl::ResourceExhaustedError(absl::StrCat("with this request of ", bytes, " bytes the calls under way would ",
                                                   "have ", sum, " bytes: the gateway takes at most ", bytes_max_));
}

void CallBudget::Release(CallKind kind, size_t bytes) {
  calls_.fetch_sub(1, std::memory_order_relaxed);
  if (kind == CallKind::kStream) streams_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace understudy::internal
