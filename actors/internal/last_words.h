// LastWords: the last lines of what a process has written.
//
// Bounded by limits::kLastWordsLinesMax and limits::kLastWordsBytesMax. Bytes
// that are not printable ASCII become '?', so that the text can go wherever an
// exit reason goes. One thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_LAST_WORDS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_LAST_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace understudy::internal {

class LastWords {
 public:
  void Add(absl::string_view written);
  // The last lines, without empty ones, a newline between two. A line that is
  // longer than all may be has lost its beginning.
  std::string Text() const;

 private:
  std::string tail_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_LAST_WORDS_H_
