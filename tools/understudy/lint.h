// Lint: checks the file of a supervision tree, without a node and without the tree's program. One thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_LINT_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_LINT_H_

#include <iosfwd>

#include "absl/status/status.h"
#include "understudy/tools/understudy/arguments.h"

namespace understudy::tool {

// Runs `understudy lint`: writes each error of the file to `out`, as "house.textproto:3:7: …" or as JSON.
// InvalidArgument: the file has errors. Other errors: the file cannot be read.
absl::Status RunLint(const Arguments& arguments, std::ostream& out);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_LINT_H_
