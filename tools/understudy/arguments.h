// The command line of `understudy`: its parser and its help. Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_ARGUMENTS_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace understudy::tool {

struct Arguments {
  std::string command;
  std::vector<std::string> operands;  // as many as the command takes; for observe, the sockets' paths
  std::string ops;                    // the socket's path; empty for observe and a command that asks no node
  int port = 0;                       // observe; 0: a free one
  bool help = false;
  bool json = false;
  bool watch = false;   // top
  std::string by;       // top: "waiting", "age" or "handler-time"; empty: "waiting"
  bool follow = false;  // dead-letters, events
  bool yes = false;     // stop, kill, restart, drain, log-level
};

// Parses `words`, the command line without the program's name. `environment` is the value of UNDERSTUDY_OPS, which
// names the socket if --ops does not; observe takes it if it has no operand. Words after "--" are operands, whatever
// they begin with. InvalidArgument says which word is wrong and which would be right. If help is asked for, only the
// command's name is checked, and `command` is empty for the program's own help.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words, absl::string_view environment);

// The help of that command, or of the program if `command` is empty or unknown.
std::string HelpText(absl::string_view command);

// A script that completes command lines of understudy in bash.
std::string BashCompletion();

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_ARGUMENTS_H_
