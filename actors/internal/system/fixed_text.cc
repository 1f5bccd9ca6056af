#include "understudy/actors/internal/system/fixed_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"

namespace understudy::internal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Removes a decimal number from the front of `text` and returns it. Returns 0 if there is none, or if it is larger than
// the length of the rest of `text`.
size_t TakeLength(absl::string_view& text) {
  size_t length = 0;
  while (!text.empty() && IsDigit(text[0]) && length < FixedText::kBytesMax) {
    length = 10 * length + static_cast<size_t>(text[0] - '0');
    text.remove_prefix(1);
  }
  return length <= text.size() ? length : 0;
}

}  // namespace

FixedText& FixedText::Append(absl::string_view text) {
  const size_t count = std::min(text.size(), kBytesMax - size_);
  for (size_t i = 0; i < count; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_control = (c < ' ' && c != '\n') || c == 0x7f;
    bytes_[size_++] = is_control ? '?' : text[i];
  }
  return *this;
}

FixedText& FixedText::Add(absl::string_view part) { return Append(part.substr(0, kPartBytesMax)); }

FixedText& FixedText::Add(const FixedText& other) { return Append(other.text()); }

FixedText& FixedText::AddDigits(uint64_t number, unsigned base, size_t digits_min) {
  constexpr absl::string_view kDigits = "0123456789abcdef";
  std::array<char, 20> digits;
  size_t first = digits.size();
  do {
    digits[--first] = kDigits[number % base];
    number /= base;
  } while (number != 0 || digits.size() - first < digits_min);
  return Add(absl::string_view(digits.data() + first, digits.size() - first));
}

FixedText& FixedText::AddNumber(uint64_t number) { return AddDigits(number, 10); }

FixedText& FixedText::AddHex(uint64_t number) { return Add("0x").AddDigits(number, 16); }

FixedText& FixedText::AddUtc(const timespec& time) {
  const absl::CivilSecond at = absl::CivilSecond(1970) + time.tv_sec;  // plain arithmetic, as UTC has no rules
  AddDigits(static_cast<uint64_t>(at.year()), 10, 4);
  Add("-")
      .AddDigits(static_cast<uint64_t>(at.month()), 10, 2)
      .Add("-")
      .AddDigits(static_cast<uint64_t>(at.day()), 10, 2);
  Add("T").AddDigits(static_cast<uint64_t>(at.hour()), 10, 2);
  Add(":").AddDigits(static_cast<uint64_t>(at.minute()), 10, 2);
  Add(":").AddDigits(static_cast<uint64_t>(at.second()), 10, 2);
  return Add(".").AddDigits(static_cast<uint64_t>(time.tv_nsec / 1000), 10, 6).Add("Z");
}

FixedText& FixedText::AddType(const char* mangled) {
  const size_t before = size_;
  if (TryAddType(mangled)) return *this;
  size_ = before;
  return Add(mangled);
}

// Parses a plain name as the Itanium C++ ABI writes it: "6Auction", or "N7auction3LotE" for auction::Lot.
bool FixedText::TryAddType(absl::string_view mangled) {
  const bool is_nested = mangled.size() > 2 && mangled[0] == 'N' && mangled[mangled.size() - 1] == 'E';
  if (is_nested) mangled = mangled.substr(1, mangled.size() - 2);
  bool is_first = true;
  while (!mangled.empty()) {
    const size_t length = TakeLength(mangled);
    if (length == 0 || !(is_first || is_nested)) return false;
    if (!is_first) Add("::");
    is_first = false;
    const absl::string_view name = mangled.substr(0, length);
    Add(name == "_GLOBAL__N_1" ? "(anonymous namespace)" : name);
    mangled.remove_prefix(length);
  }
  return !is_first;
}

}  // namespace understudy::internal
