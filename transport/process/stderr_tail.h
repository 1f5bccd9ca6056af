// StderrTail: the last lines that a process wrote to its standard error before its end.
//
// Text that is older than limits::kStderrTailWithin at the end of the process is left out, because it is about
// something that the process survived. Bounded by limits::kStderrTailLinesMax and limits::kStderrTailBytesMax. Bytes
// that are not printable ASCII become '?', so that the text can be part of an exit reason. One thread.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_STDERR_TAIL_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_STDERR_TAIL_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class StderrTail {
 public:
  // Adds text that was written at `now`. Requires: `now` never decreases.
  void Add(absl::string_view written, MonotonicTime now);
  // Returns the last lines of the text that was added within kStderrTailWithin before `end`, separated by newlines and
  // without empty lines. A line longer than kStderrTailBytesMax has lost its beginning.
  std::string Text(MonotonicTime end) const;

 private:
  struct Piece {
    MonotonicTime at;
    std::string text;
  };
  std::deque<Piece> pieces_;
  size_t bytes_ = 0;  // the sum of the texts' sizes
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_STDERR_TAIL_H_
