// DrawRun: draws a run as an SVG picture, with a horizontal lane for each process and each lot, and time from left to
// right.
//
// A lane is filled while its process or lot is up. A cross marks a crash or kill, a triangle a restart, and a diamond
// the time at which bidders found a lot again by its name; each mark has a tooltip. The picture contains its style,
// which follows the viewer's light or dark mode, and refers to no other files. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_PICTURE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_PICTURE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "understudy/examples/auction/chronicle.h"

namespace auction {

struct Lane {
  std::string name;  // as in Happening::who
  std::string host;  // for a lot, the process in which it runs; empty for a process
};

// Draws the time from `start` to `end`. `happenings` may be in any order; happenings of processes and lots without a
// lane are left out.
std::string DrawRun(const std::vector<Lane>& lanes, const Chronicled& happenings, absl::Time start, absl::Time end);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_PICTURE_H_
