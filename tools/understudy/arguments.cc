#include "understudy/tools/understudy/arguments.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace understudy::tool {
namespace {

struct Command {
  const char* name;
  const char* operands;  // as the usage line shows them
  size_t operand_count;
  const char* options;  // those that the command takes besides --ops, --json and --help
  const char* summary;
  const char* details;
};

constexpr Command kCommands[] = {
    {"node", "", 0, "", "the node and its counters", ""},
    {"tree", "", 0, "", "the supervisors with their children",
     "A supervisor that has not answered within half a second is shown as such.\n"},
    {"ps", "[TEXT]", 1, "", "the actors, or those whose pid, class, label or name contains TEXT",
     "States: idle; awaiting (a handler awaits something); queued (waits for a worker: only its counters can be "
     "read);\n"
     "running; stuck (in one handler for a second or longer).\n"},
    {"top", "", 0, "--watch", "the actors with the most waiting messages, and those that are stuck",
     "  --watch  shows them again each second, until it is interrupted\n"},
    {"actor", "PID|NAME", 1, "", "one actor with its mailboxes",
     "OPEN says what keeps a mailbox closed: start, behavior, guard, scoped close, or handler (one that awaits).\n"},
    {"names", "[PREFIX]", 1, "", "the names that the node knows, or those that begin with PREFIX", ""},
    {"peers", "", 0, "", "the nodes that this one knows, with their sessions", ""},
    {"workers", "", 0, "", "the threads that run the actors, and what they are at", ""},
    {"dead-letters", "", 0, "--follow", "the messages that reached no handler: the last 1,000",
     "  --follow  goes on with each new one\n"},
    {"events", "", 0, "--follow", "what the supervisors did: the last 1,000 events",
     "  --follow  goes on with each new one\n"},
    {"stop", "PID|NAME", 1, "--yes", "requests an actor to stop, as its parent would", "  --yes  does not ask\n"},
    {"kill", "PID|NAME", 1, "--yes", "kills an actor", "  --yes  does not ask\n"},
    {"restart", "SUPERVISOR CHILD", 2, "--yes", "ends a child and starts it again, without counting it as a restart",
     "SUPERVISOR is a pid or a name, CHILD the child's id. The node's log says how it went.\n  --yes  does not ask\n"},
    {"drain", "", 0, "--yes", "makes the node end its actors in order and leave, as SIGTERM does",
     "  --yes  does not ask\n"},
};

const Command* FindCommand(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                         [&](const Command& command) { return name == command.name; });
  return found == std::end(kCommands) ? nullptr : found;
}

bool TakesNoOperand(const Command& command) { return command.operands[0] == '\0' || command.operands[0] == '['; }

absl::Status Wrong(absl::string_view what, absl::string_view command) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; see understudy ", command, command.empty() ? "" : " ", "--help"));
}

absl::Status ParseOption(absl::string_view word, Arguments& arguments) {
  absl::string_view rest = word;
  if (word == "--help") {
    arguments.help = true;
  } else if (word == "--json") {
    arguments.json = true;
  } else if (word == "--watch") {
    arguments.watch = true;
  } else if (word == "--follow") {
    arguments.follow = true;
  } else if (word == "--yes") {
    arguments.yes = true;
  } else if (absl::ConsumePrefix(&rest, "--ops=")) {
    arguments.ops = std::string(absl::StripPrefix(rest, "unix:"));
  } else {
    return Wrong(absl::StrCat("unknown option ", word), arguments.command);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words, absl::string_view environment) {
  Arguments arguments;
  arguments.ops = std::string(absl::StripPrefix(environment, "unix:"));
  std::vector<std::string> options;
  for (const std::string& word : words) {
    if (absl::StartsWith(word, "--")) {
      options.push_back(word);
      if (absl::Status parsed = ParseOption(word, arguments); !parsed.ok()) return parsed;
    } else if (arguments.command.empty()) {
      arguments.command = word;
    } else {
      arguments.operands.push_back(word);
    }
  }
  if (arguments.help) return arguments;
  if (arguments.command.empty()) return Wrong("no command is given", "");
  const Command* const command = FindCommand(arguments.command);
  if (command == nullptr) return Wrong(absl::StrCat("unknown command '", arguments.command, "'"), "");
  for (const std::string& option : options) {
    const bool is_common = option == "--json" || absl::StartsWith(option, "--ops=");
    if (!is_common && option != command->options) {
      return Wrong(absl::StrCat("'", command->name, "' takes no ", option), command->name);
    }
  }
  const size_t least = TakesNoOperand(*command) ? 0 : command->operand_count;
  if (arguments.operands.size() < least || arguments.operands.size() > command->operand_count) {
    return Wrong(
        absl::StrCat("'", command->name, "' takes ", command->operand_count == 0 ? "no operand" : command->operands,
                     ", got ", arguments.operands.size(), " operands"),
        command->name);
  }
  if (arguments.ops.empty()) {
    return Wrong("no node is named: expected --ops=SOCKET, or the variable UNDERSTUDY_OPS", "");
  }
  return arguments;
}

std::string HelpText(absl::string_view name) {
  const Command* const command = FindCommand(name);
  if (command != nullptr) {
    const auto after_space = [](absl::string_view text) { return text.empty() ? "" : absl::StrCat(" ", text); };
    return absl::StrCat("usage: understudy [--ops=SOCKET] ", command->name, after_space(command->operands),
                        after_space(command->options), " [--json]\n\nShows ", command->summary, ".\n",
                        command->details[0] == '\0' ? "" : "\n", command->details);
  }
  std::string text =
      "usage: understudy [--ops=SOCKET] COMMAND [--json]\n\n"
      "Asks a running node (OpsOptions) what it does, and acts on it.\n\n";
  for (const Command& each : kCommands) {
    absl::StrAppendFormat(&text, "  %-26s %s\n", absl::StrCat(each.name, " ", each.operands), each.summary);
  }
  absl::StrAppend(&text,
                  "\n  --ops=SOCKET  the path of the node's Unix socket; else that in the variable UNDERSTUDY_OPS\n"
                  "  --json        writes JSON, one message of proto/ops.proto a line\n"
                  "  --help        after a command: its own help\n\n"
                  "Exit status: 0, 1 after an error, 2 after a wrong command line.\n");
  return text;
}

}  // namespace understudy::tool
