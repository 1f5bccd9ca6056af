// RunInput: both input files, read and checked.
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_RUN_INPUT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_RUN_INPUT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {

struct RunInput {
  std::string lots_text;  // as it was read, for the houses
  std::vector<Lot> lots;
  std::vector<Bid> bids;
  std::vector<InputProblem> problems;
};

// Bad lots and lines are among `problems`. Error: a file that cannot be read.
absl::StatusOr<RunInput> LoadInput(const std::string& lots_path, const std::string& bids_path);

// Where a file that was named on the command line is. `bazel run` starts
// programs elsewhere, and says in $BUILD_WORKING_DIRECTORY where the user is:
// a relative path is taken from there. The shipped files are found in
// any case: `shipped` is their path in the source tree.
std::string UserPath(const std::string& path);
std::string ShippedPath(absl::string_view shipped);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_INPUT_H_
