// The command line of `understudy`: its parser and its help. Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_ARGUMENTS_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/transport/credentials.h"

namespace understudy::tool {

struct Arguments {
  std::string command;
  // The command's operands, as many as the command takes. For observe they are the nodes' addresses; for cluster the
  // view to show (such as "tree" or "top") and then the addresses.
  std::vector<std::string> operands;
  // The node's address (ops_channel.h); empty for observe, cluster and a command that asks no node.
  std::string ops;
  TlsFiles tls;          // for tls:// addresses; empty where not given
  int port = 0;          // observe; 0: a free one
  absl::Duration time;   // suspend, trace; zero: not given
  int64_t messages = 0;  // trace; 0: not given
  int64_t every = 0;     // trace; 0: not given
  bool help = false;
  bool json = false;
  bool dot = false;       // tree, waits, peers, cluster
  bool watch = false;     // top
  std::string by;         // top: one of kTopOrders (options.h); empty: "waiting"
  bool follow = false;    // dead-letters, events, crashes
  bool yes = false;       // stop, kill, restart, drain, log-level, suspend, resume, trace --contents
  bool contents = false;  // trace
};

// Parses `words`, the command line without the program's name. `environment` is the value of UNDERSTUDY_OPS, which
// names the node if --ops does not; observe takes it if it has no operand. Words after "--" are operands, even if they
// begin with a dash. InvalidArgument says which word is wrong and which would be right. If help is asked for, only the
// command's name is checked, and `command` is empty for the program's own help.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words, absl::string_view environment);

// The help of that command, or of the program if `command` is empty or unknown.
std::string HelpText(absl::string_view command);

// A script that completes command lines of understudy in bash.
std::string BashCompletion();

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_ARGUMENTS_H_
