// Terminal: writes the progress of a run to standard output.
//
// On a terminal the status is the last line, and each new status overwrites it. Otherwise each status is a line of its
// own. Threads: any.
//
// Colour is used only on a terminal, and only if the user has not set NO_COLOR (no-color.org).
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace auction {

// `no_color` is the value of the environment variable NO_COLOR, or null if it is not set. An empty value counts as not
// set.
bool TakesColour(bool is_terminal, const char* no_color);
// Returns `page` with headings (lines after an empty one) in bold, the "ok" of a check in green and "FAILED" in red.
std::string Coloured(absl::string_view page);

class Terminal {
 public:
  Terminal();

  bool is_one() const { return is_one_; }
  bool takes_colour() const { return takes_colour_; }
  void Line(absl::string_view text);
  // Shows a status, on a terminal cut to the width of a line.
  void Status(absl::string_view text);
  // Removes the status from the terminal.
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
