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
  std::string lots_text;  // the contents of the lots file, which the houses parse again
  std::vector<Lot> lots;
  std::vector<Bid> bids;
  std::vector<InputProblem> problems;
};

// Bad lots and lines are reported in `problems`. Returns an error if a file cannot be read.
absl::StatusOr<RunInput> LoadInput(const std::string& lots_path, const std::string& bids_path);

// The path of a file that the user named on the command line. `bazel run` starts
// programs in another folder and gives the user's folder in $BUILD_WORKING_DIRECTORY, so
// a relative path is resolved against that.
std::string UserPath(const std::string& path);
// The path of a file that ships with the demo. `shipped` is its path in the source tree.
std::string ShippedPath(absl::string_view shipped);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_RUN_INPUT_H_
