// FixedText: a line of text in a buffer of a fixed size, for signal handlers. Nothing here allocates, locks or uses a
// locale.
//
//   static FixedText line;
//   line.Add("SIGSEGV at address ").AddHex(address).Add("\n");
//
// Each part that is added is cut to kPartBytesMax bytes, so that a long name leaves room for the parts after it. Text
// that does not fit into the buffer is left out. Thread-compatible.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FIXED_TEXT_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FIXED_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "absl/strings/string_view.h"

namespace understudy::internal {

class FixedText {
 public:
  static constexpr size_t kBytesMax = 2048;
  static constexpr size_t kPartBytesMax = 200;

  // Control characters other than a line break are shown as '?'.
  FixedText& Add(absl::string_view part);
  // Adds as much of `other` as fits.
  FixedText& Add(const FixedText& other);
  FixedText& AddNumber(uint64_t number);
  // In hexadecimal: "0x1f".
  FixedText& AddHex(uint64_t number);
  // The time, given as the time since 1970, in UTC as log lines have it: "2026-03-01T09:30:00.123456Z".
  FixedText& AddUtc(const timespec& time);
  // The name of the type whose std::type_info::name() is `mangled`: "auction::Lot". Only names without template
  // arguments are demangled; others are added as they are.
  FixedText& AddType(const char* mangled);

  absl::string_view text() const { return {bytes_.data(), size_}; }

 private:
  // Padded with leading zeros to `digits_min` digits.
  FixedText& AddDigits(uint64_t number, unsigned base, size_t digits_min = 1);
  FixedText& Append(absl::string_view text);
  bool TryAddType(absl::string_view mangled);

  std::array<char, kBytesMax> bytes_{};
  size_t size_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FIXED_TEXT_H_
