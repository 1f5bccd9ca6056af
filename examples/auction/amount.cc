#include "understudy/examples/auction/amount.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace auction {
namespace {

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

absl::Status BadAmount(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("amount '", text, "' ", why));
}

}  // namespace

absl::StatusOr<int64_t> ParseAmount(absl::string_view text) {
  const size_t point = text.find('.');
  const absl::string_view whole = text.substr(0, point);
  const absl::string_view places = point == absl::string_view::npos ? "0" : text.substr(point + 1);
  if (!IsDigits(whole) || !IsDigits(places) || places.size() > 2) {
    return BadAmount(text, "is not a number such as 120 or 119.50");
  }
  int64_t cents = 0;
  for (char digit : whole) {
    cents = cents * 10 + int64_t{digit - '0'} * 100;
    if (cents > kAmountCentsMax) return BadAmount(text, absl::StrCat("is above ", FormatAmount(kAmountCentsMax)));
  }
  cents += int64_t{places[0] - '0'} * 10 + (places.size() == 2 ? places[1] - '0' : 0);
  if (cents == 0) return BadAmount(text, "is not above zero");
  if (cents > kAmountCentsMax) return BadAmount(text, absl::StrCat("is above ", FormatAmount(kAmountCentsMax)));
  return cents;
}

std::string FormatAmount(int64_t cents) { return absl::StrFormat("%d.%02d", cents / 100, cents % 100); }

}  // namespace auction
