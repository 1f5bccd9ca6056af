// Client: runs one command of `understudy` against a node's operator's service.
//
// One thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_

#include <functional>
#include <iosfwd>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/screen.h"

namespace understudy::tool {

// A command's input from and output to its user.
struct Terminal {
  std::istream& in;
  std::ostream& out;     // answers
  std::ostream& prompt;  // questions
  // How long the command waits for an answer of the node.
  absl::Duration answers_within = absl::Seconds(10);
  // The present size of the window in which `out` is shown; empty: it is not a terminal.
  std::function<Window()> window;
  // The time between two looks of `top --watch`.
  absl::Duration watch_period = absl::Seconds(1);
};

// Runs the command of `arguments`, which ParseArguments returned and which asks a node, and writes the node's answer.
// The output is printable even if the node's texts are not. Before an action, unless arguments.yes is set, writes a
// question and reads the user's answer. Errors, with printable texts: the service's own; NotFound: there is no socket;
// Unavailable: no node answers on the socket; DeadlineExceeded: the node has not answered in time; Cancelled: the
// user's answer was not yes.
absl::Status RunCommand(const Arguments& arguments, const Terminal& terminal);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_CLIENT_H_
