// Client: runs one command of `understudy` against a node's operator's service.
//
// One thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_

#include <iosfwd>

#include "absl/status/status.h"
#include "understudy/tools/understudy/arguments.h"

namespace understudy::tool {

// Runs the command of `arguments`, which ParseArguments returned, and writes the node's answer to `out`. Before an
// action, unless arguments.yes is set, writes a question to `out` and reads the user's answer from `in`. Errors: those
// of the service; Unavailable: no node listens on the socket; Cancelled: the user's answer was not yes.
absl::Status RunCommand(const Arguments& arguments, std::istream& in, std::ostream& out);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_
