// DrawRun: the picture of a run, as SVG: a lane for each process and each lot, along which time passes.
//
// A lane is filled while its process or lot is up. A cross is a crash or a kill, a triangle that it runs again, and a
// diamond that bidders, who had lost a lot, have found it again under its name; what a mark means is its tooltip too.
// The picture has its own style, light or dark as the viewer is, and refers to nothing outside. Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_PICTURE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_PICTURE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "understudy/examples/auction/chronicle.h"

namespace auction {

struct Lane {
  std::string name;  // as Happening::who has it
  std::string host;  // the process that it lives in, whose lane is above; empty for a process
};

// `happenings` in any order; those of nobody's lane are left out. From `start` to `end`.
std::string DrawRun(const std::vector<Lane>& lanes, const Chronicled& happenings, absl::Time start, absl::Time end);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_PICTURE_H_
