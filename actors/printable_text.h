// PrintableText: text of unknown origin in a form that is safe to show: valid UTF-8 that cannot steer a terminal. Any
// thread.
#ifndef UNDERSTUDY_ACTORS_PRINTABLE_TEXT_H_
#define UNDERSTUDY_ACTORS_PRINTABLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace understudy {

struct Utf8Character {
  size_t bytes = 0;
  uint32_t code = 0;  // of Unicode
};

// Returns the character with which a text begins that is not empty; one without bytes if the text does not begin with
// valid UTF-8.
Utf8Character FirstUtf8Character(absl::string_view text);

// kDouble: the result stands for one text only (TextFromPrintable). kKeep: for people, or for text that is escaped
// already.
enum class Backslashes { kDouble, kKeep };

// `text` with these bytes escaped as in C, a newline as \n and each other one as \x1b: bytes that are not valid UTF-8,
// control characters (C0, DEL, C1), line and paragraph separators, and the marks that change the direction of text,
// which make a line read otherwise than its bytes are. At most four times as long as `text`.
std::string PrintableText(absl::string_view text, Backslashes backslashes = Backslashes::kDouble);

// The text for which PrintableText(text) is `printable`. A backslash that begins none of the escapes above stands for
// itself.
std::string TextFromPrintable(absl::string_view printable);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PRINTABLE_TEXT_H_
