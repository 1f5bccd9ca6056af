// Terminal: standard output as a person sees it during a run.
//
// On a terminal the status is one line that is written over, below the others. Elsewhere it is a line each time, as
// seldom as statuses are told. Threads: any.
//
// Colour is only for a terminal whose user has not set NO_COLOR (no-color.org).
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace auction {

// `no_color` is the value of NO_COLOR, null where it is not set; empty, it says nothing.
bool TakesColour(bool is_terminal, const char* no_color);
// `page` with its headings (the lines after an empty one) bold, "ok" of a check green and "FAILED" red.
std::string Coloured(absl::string_view page);

class Terminal {
 public:
  Terminal();

  bool is_one() const { return is_one_; }
  bool takes_colour() const { return takes_colour_; }
  void Line(absl::string_view text);
  // Cut to the width of a line.
  void Status(absl::string_view text);
  // Takes the status away.
  void Clear();

 private:
  void ClearStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool is_one_;
  const bool takes_colour_;
  absl::Mutex mu_;
  bool has_status_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_
