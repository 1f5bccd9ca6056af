// Pace: how the files' time passes on this machine.
//
// Both bidders and lots go by it: the first bid of the file is due when the run
// opens, and `rate` seconds of the files pass in one second. At the highest
// speed bidders do not wait at all, and the lots close within about a second.
// It decides when things happen, and never who wins. Any thread; a value.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_PACE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_PACE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {

struct Pace {
  absl::Time opens;  // by the machine's clock
  absl::Time first;  // by the files'
  double rate = 1.0;
  bool bidders_wait = true;

  // When `file_time` comes on this machine.
  absl::Time WallTime(absl::Time file_time) const { return opens + (file_time - first) / rate; }
};

// `speed` is how many seconds of the files pass in one, or "max".
// InvalidArgument when it is neither "max" nor a number above zero.
absl::StatusOr<Pace> MakePace(absl::string_view speed, absl::Time opens, const std::vector<Lot>& lots,
                              const std::vector<Bid>& bids);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_PACE_H_
