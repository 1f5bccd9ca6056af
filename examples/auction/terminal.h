// Terminal: standard output as a person sees it during a run.
//
// On a terminal the status is one line that is written over, below the others. Elsewhere it is a line each time, as
// seldom as statuses are told. Threads: any.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace auction {

class Terminal {
 public:
  Terminal();

  bool is_one() const { return is_one_; }
  void Line(absl::string_view text);
  // Cut to the width of a line.
  void Status(absl::string_view text);
  // Takes the status away.
  void Clear();

 private:
  void ClearStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool is_one_;
  absl::Mutex mu_;
  bool has_status_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_TERMINAL_H_
