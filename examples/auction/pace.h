// Pace: converts times in the input files to times on this machine.
//
// Bidders and lots use it: the earliest event of the files is due when the run opens,
// and `rate` seconds of the files pass in one second. At the highest speed bidders do
// not wait at all, and the lots close within about a second. The pace decides when
// things happen, and never who wins. A value; any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_PACE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_PACE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {

struct Pace {
  absl::Time opens;  // when the run opens, by the machine's clock
  absl::Time first;  // the earliest bid or closing time in the files
  double rate = 1.0;
  bool bidders_wait = true;

  // The time on this machine that corresponds to `file_time`.
  absl::Time WallTime(absl::Time file_time) const { return opens + (file_time - first) / rate; }
};

// `speed` is the number of seconds of the files that pass in one second, or "max".
// InvalidArgument if it is neither "max" nor a number above zero.
absl::StatusOr<Pace> MakePace(absl::string_view speed, absl::Time opens, const std::vector<Lot>& lots,
                              const std::vector<Bid>& bids);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_PACE_H_
