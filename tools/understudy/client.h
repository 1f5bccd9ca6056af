// Client: runs one command of `understudy` against a node's operator's service.
//
// One thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_

#include <iosfwd>

#include "absl/status/status.h"
#include "understudy/tools/understudy/arguments.h"

namespace understudy::tool {

// The streams that a command uses: answers go to `out`, questions to `prompt`.
struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& prompt;
};

// Runs the command of `arguments`, which ParseArguments returned and which asks a node, and writes the node's answer.
// What is written is printable, whatever the node says. Before an action, unless arguments.yes is set, writes a
// question and reads the user's answer. Errors, with printable texts: those of the service; NotFound: there is no
// socket; Unavailable: no node answers on it; Cancelled: the user's answer was not yes.
absl::Status RunCommand(const Arguments& arguments, const Terminal& terminal);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_
