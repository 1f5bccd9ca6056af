#include "understudy/actors/printable_text.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace understudy {
Utf8Character FirstUtf8Character(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {1, first};
  if (first < 0xc2 || first > 0xf4) return {};
  const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (bytes > text.size()) return {};
  uint32_t code = first & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte & 0x3fU);
  }
  const uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;  // a smaller code is an overlong form
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least || is_surrogate || code > 0x10ffff) return {};
  return {bytes, code};
}

namespace {

bool IsPrintable(uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool is_separator = code == 0x2028 || code == 0x2029;
  const bool is_direction = code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                            (code >= 0x2066 && code <= 0x2069);
  return !is_control && !is_separator && !is_direction;
}

int HexValue(char digit) {
  return absl::ascii_isdigit(static_cast<unsigned char>(digit)) ? digit - '0' : absl::ascii_tolower(digit) - 'a' + 10;
}

}  // namespace

std::string PrintableText(absl::string_view text, Backslashes backslashes) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character next = FirstUtf8Character(text);
    if (next.bytes != 0 && IsPrintable(next.code)) {
      if (next.code == '\\' && backslashes == Backslashes::kDouble) out += '\\';
      absl::StrAppend(&out, text.substr(0, next.bytes));
      text.remove_prefix(next.bytes);
    } else {
      if (text[0] == '\n') {
        out += "\\n";
      } else {
        absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(text[0]));
      }
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string TextFromPrintable(absl::string_view printable) {
  std::string out;
  while (!printable.empty()) {
    const char second = printable[0] == '\\' && printable.size() > 1 ? printable[1] : '\0';
    size_t bytes = 2;
    if (second == '\\') {
      out += '\\';
    } else if (second == 'n') {
      out += '\n';
    } else if (second == 'x' && printable.size() >= 4 &&
               absl::ascii_isxdigit(static_cast<unsigned char>(printable[2])) &&
               absl::ascii_isxdigit(static_cast<unsigned char>(printable[3]))) {
      out += static_cast<char>(HexValue(printable[2]) * 16 + HexValue(printable[3]));
      bytes = 4;
    } else {
      out += printable[0];
      bytes = 1;
    }
    printable.remove_prefix(bytes);
  }
  return out;
}

}  // namespace understudy
