// `understudy observe`: serves the observer page until the program is told to end.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVE_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVE_H_

#include <iosfwd>

#include "absl/status/status.h"
#include "understudy/tools/understudy/arguments.h"

namespace understudy::tool {

// Serves the page for the nodes of arguments.operands, and writes its address to `out`. Returns when SIGINT, SIGTERM or
// SIGHUP comes. Call while the program has no other thread. Errors: the errors of Observer::Start; if no node can be
// asked, the first node's error; InvalidArgument if the files for tls:// addresses are wrong.
absl::Status RunObserve(const Arguments& arguments, std::ostream& out);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVE_H_
