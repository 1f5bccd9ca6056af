// StderrTail: what a process has written to its standard error just before its end.
//
// Text that is older than limits::kStderrTailWithin at the end is left out: it tells of something that the process has
// survived. Bounded by limits::kStderrTailLinesMax and limits::kStderrTailBytesMax. Bytes that are not printable ASCII
// become '?', so that the text can go wherever an exit reason goes. One thread.
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
  // Requires that `now` never decreases.
  void Add(absl::string_view written, MonotonicTime now);
  // The last lines of what was added within kStderrTailWithin before `end`, without empty ones, a newline between two.
  // A line that is longer than all of them may be has lost its beginning.
  std::string Text(MonotonicTime end) const;

 private:
  struct Piece {
    MonotonicTime at;
    std::string text;
  };
  std::deque<Piece> pieces_;
  size_t bytes_ = 0;  // of their texts
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_STDERR_TAIL_H_
