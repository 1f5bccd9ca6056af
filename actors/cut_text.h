// CutText: a text within a bound, with a mark where it was cut. Any thread.
#ifndef UNDERSTUDY_ACTORS_CUT_TEXT_H_
#define UNDERSTUDY_ACTORS_CUT_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace understudy {

// `text` if it has at most `bytes_max` bytes, else its beginning and "… (cut: it had 1048576 bytes)", together at most
// `bytes_max`. Does not end within a UTF-8 character. A bound too small for the mark leaves the beginning without it.
inline std::string CutText(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const std::string mark = absl::StrCat("… (cut: it had ", text.size(), " bytes)");
  const size_t mark_bytes = mark.size() < bytes_max ? mark.size() : 0;
  size_t kept = bytes_max - mark_bytes;
  constexpr size_t kCharacterBytesMax = 4;
  for (size_t i = 1; i < kCharacterBytesMax && kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80;
       ++i) {
    --kept;
  }
  return absl::StrCat(text.substr(0, kept), mark_bytes == 0 ? "" : mark);
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CUT_TEXT_H_
