#include "understudy/examples/auction/input_text.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace auction {
namespace {

// The number of bytes of the character at the beginning of `text`, which must not be empty; 0 if it is not plain text.
size_t PlainCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  uint32_t code = first & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool is_shortest = size == 2 || (size == 3 && code >= 0x800) || (size == 4 && code >= 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool is_control = code < 0xa0;
  return is_shortest && !is_surrogate && !is_control && code <= 0x10ffff ? size : 0;
}

}  // namespace

bool IsPlainText(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = PlainCharacter(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t size = PlainCharacter(text);
    absl::StrAppend(&printable, size == 0 ? "?" : text.substr(0, size));
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return printable;
}

absl::StatusOr<absl::Time> ParseInputTime(absl::string_view text) {
  absl::Time time;
  std::string why;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &why)) {
    return absl::InvalidArgumentError(
        absl::StrCat("time '", text, "' is not a time such as 2024-05-04T14:10:00Z: ", why));
  }
  // Also refuses "infinite-future" and "infinite-past", which absl::ParseTime accepts.
  if (time < absl::UnixEpoch() || time >= absl::FromCivil(absl::CivilYear(10000), absl::UTCTimeZone())) {
    return absl::InvalidArgumentError(absl::StrCat("time '", text, "' is not in the years 1970 to 9999"));
  }
  return absl::FromUnixMillis(absl::ToUnixMillis(time));
}

absl::string_view WithoutByteOrderMark(absl::string_view text) { return absl::StripPrefix(text, "\xef\xbb\xbf"); }

}  // namespace auction
