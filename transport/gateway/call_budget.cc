#include "understudy/transport/gateway/call_budget.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace understudy::internal {

absl::Status CallBudget::Admit(size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  const int64_t calls = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  const int64_t sum = bytes_.fetch_add(size, std::memory_order_relaxed) + size;
  if (calls <= calls_max_ && sum <= bytes_max_) {
    admitted_.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  Release(bytes);
  refused_.fetch_add(1, std::memory_order_relaxed);
  if (calls > calls_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the gateway has ", calls_max_, " calls under way, the most that it takes at once"));
  }
  return absl::ResourceExhaustedError(absl::StrCat("with this request of ", bytes, " bytes the calls under way would ",
                                                   "have ", sum, " bytes: the gateway takes at most ", bytes_max_));
}

void CallBudget::Release(size_t bytes) {
  calls_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace understudy::internal
