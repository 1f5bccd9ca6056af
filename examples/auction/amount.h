// Amounts of money: whole cents in an int64_t, decimal numbers in files.
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_AMOUNT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_AMOUNT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace auction {

// More than any lot is worth, and small enough that sums cannot overflow.
inline constexpr int64_t kAmountCentsMax = int64_t{100'000'000'000'000};

// Converts "120", "119.5" or "119.50" to cents. InvalidArgument if `text` is not a
// decimal number with at most two places, is not above zero, or is above
// kAmountCentsMax.
absl::StatusOr<int64_t> ParseAmount(absl::string_view text);

// "119.50". Requires cents >= 0.
std::string FormatAmount(int64_t cents);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_AMOUNT_H_
