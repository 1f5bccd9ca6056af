#include "understudy/examples/auction/pace.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {
namespace {

// The length of a run at the highest speed, from the first to the last event of the files.
constexpr absl::Duration kShortestRun = absl::Seconds(1);

}  // namespace

absl::StatusOr<Pace> MakePace(absl::string_view speed, absl::Time opens, const std::vector<Lot>& lots,
                              const std::vector<Bid>& bids) {
  absl::Time first = absl::InfiniteFuture();
  absl::Time last = absl::InfinitePast();
  for (const Bid& bid : bids) {
    first = std::min(first, bid.time);
    last = std::max(last, bid.time);
  }
  for (const Lot& lot : lots) {
    first = std::min(first, lot.closes);
    last = std::max(last, lot.closes);
  }
  Pace pace{.opens = opens, .first = first > last ? opens : first};
  if (speed == "max") {
    pace.bidders_wait = false;
    pace.rate = std::max(1.0, absl::FDivDuration(last - pace.first, kShortestRun));
    return pace;
  }
  if (!absl::SimpleAtod(speed, &pace.rate) || !std::isfinite(pace.rate) || pace.rate <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("--speed=", speed, " is neither 'max' nor a number above zero"));
  }
  return pace;
}

}  // namespace auction
