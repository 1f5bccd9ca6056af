#include "understudy/tools/understudy/arguments.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "understudy/actors/printable_text.h"
#include "understudy/tools/understudy/observer/observer_limits.h"

namespace understudy::tool {
namespace {

constexpr int kPortMax = 65535;

struct Command {
  const char* name;
  const char* operands;  // as the usage line shows them
  size_t operand_count;
  const char* options;  // those that the command takes besides --ops, --json and --help, with spaces between
  const char* summary;  // begins with a verb in the infinitive
  const char* details;
  bool asks_node = true;
};

constexpr Command kCommands[] = {
    {"node", "", 0, "", "show the node and its counters", ""},
    {"tree", "", 0, "", "show the supervisors with their children",
     "A supervisor that has not answered within half a second is shown as such.\n"},
    {"ps", "[TEXT]", 1, "", "show the actors, or those whose pid, class, label or name contains TEXT",
     "States: idle; awaiting (a handler awaits something); queued (waits for a worker: only its counters can be "
     "read);\n"
     "running; stuck (in one handler for a second or longer).\n"},
    {"top", "", 0, "--watch --by=KEY", "show the actors that are stuck, and those with the most waiting messages",
     "  --watch            shows them again each second, until it is interrupted\n"
     "  --by=age           shows those whose oldest message has waited longest\n"
     "  --by=handler-time  shows how long handlers run, by class and mailbox, those that took the most time first: "
     "the\n"
     "                     number of runs that were timed, their mean, the time within which half and 99 of 100 "
     "ended,\n"
     "                     and the longest\n"},
    {"actor", "PID|NAME", 1, "", "show one actor with its mailboxes, links and monitors",
     "OPEN says what keeps a mailbox closed: start, behavior, guard, scoped close, or handler (one that awaits).\n"},
    {"names", "[PREFIX]", 1, "", "show the names that the node knows, or those that begin with PREFIX", ""},
    {"peers", "", 0, "", "show the nodes that this one knows, with their sessions", ""},
    {"workers", "", 0, "", "show the threads that run the actors, and what they are at", ""},
    {"dead-letters", "", 0, "--follow", "show the last 1,000 messages that reached no handler",
     "  --follow  goes on with each new one\n"},
    {"events", "", 0, "--follow", "show the last 1,000 things that supervisors did",
     "  --follow  goes on with each new one\n"},
    {"stop", "PID|NAME", 1, "--yes", "request an actor to stop, as its parent would", "  --yes  does not ask\n"},
    {"kill", "PID|NAME", 1, "--yes", "kill an actor", "  --yes  does not ask\n"},
    {"restart", "SUPERVISOR CHILD", 2, "--yes", "end a child and start it again, without counting it as a restart",
     "SUPERVISOR is a pid or a name, CHILD the child's id, as `understudy tree` shows them. The node's log says how\n"
     "it went.\n"
     "  --yes  does not ask\n"},
    {"drain", "", 0, "--yes", "make the node end its actors in order and leave, as SIGTERM does",
     "  --yes  does not ask\n"},
    {"log-level", "LEVEL", 1, "--yes", "change which lines the node's log has",
     "LEVEL is debug, info, warning or error: the log has these lines and more severe ones.\n"
     "  --yes  does not ask\n"},
    {"observe", "[SOCKET...]", limits::kObservedNodesMax, "--port=N",
     "serve a page that shows nodes live, and print its address for a browser",
     "Each SOCKET is what --ops names: the path of a node's Unix socket. The page shows the supervision tree, stuck\n"
     "and busy actors, what supervisors did and dead letters as they come, and offers the actions that the node\n"
     "allows. It is served on 127.0.0.1 until the command is interrupted. Who has the printed address can do what\n"
     "you can, so keep it to yourself.\n"
     "  --port=N  the port; 0, a free one, unless it is given\n"},
    {"lint", "FILE", 1, "", "check the file of a supervision tree, without a node",
     "Finds errors of syntax, unknown fields, and what the tree's program would refuse when it starts. Only that\n"
     "program knows its factories: an understudy_tree_test (bazel/understudy.bzl) checks their names and arguments.\n"
     "Exit status: 1 if the file has an error.\n",
     /*asks_node=*/false},
    {"completion", "bash", 1, "", "print a script that completes command lines: source <(understudy completion bash)",
     "", /*asks_node=*/false},
};

const Command* FindCommand(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                         [&](const Command& command) { return name == command.name; });
  return found == std::end(kCommands) ? nullptr : found;
}

bool TakesNoOperand(const Command& command) { return command.operands[0] == '\0' || command.operands[0] == '['; }

// A formatter of absl::StrJoin.
void Quoted(std::string* out, const std::string& word) { absl::StrAppend(out, "'", PrintableText(word), "'"); }

absl::Status Wrong(absl::string_view what, absl::string_view command) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; see understudy ", command, command.empty() ? "" : " ", "--help"));
}

// The least number of characters to change, add or leave out to make `a` of `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t i = 0; i <= b.size(); ++i) row[i] = i;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// ": did you mean 'peers'?", or nothing if no command is like `name`.
std::string Suggestion(absl::string_view name) {
  constexpr size_t kNearMax = 2;
  constexpr size_t kNameMax = 20;
  if (name.size() > kNameMax) return "";
  const Command* nearest = nullptr;
  size_t least = std::min(kNearMax, name.size() / 2) + 1;
  for (const Command& command : kCommands) {
    const size_t distance = absl::StartsWith(command.name, name) ? 0 : EditDistance(command.name, name);
    if (distance >= least) continue;
    nearest = &command;
    least = distance;
  }
  return nearest == nullptr ? "" : absl::StrCat(": did you mean '", nearest->name, "'?");
}

absl::Status UnknownCommand(absl::string_view name) {
  return Wrong(absl::StrCat("unknown command '", PrintableText(name), "'", Suggestion(name)), "");
}

// Words, of which the first has not been read yet.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool AreOver() const { return next_ == words_.size(); }
  const std::string& Next() { return words_[next_++]; }

 private:
  const std::vector<std::string>& words_;
  size_t next_ = 0;
};

// Reads the option `word`; its value, if it is not in the word itself, is the next of `words`.
absl::Status ParseOption(absl::string_view word, Words& words, Arguments& arguments) {
  absl::string_view rest = word;
  if (word == "--help" || word == "-h") {
    arguments.help = true;
  } else if (word == "--json") {
    arguments.json = true;
  } else if (word == "--watch") {
    arguments.watch = true;
  } else if (word == "--follow") {
    arguments.follow = true;
  } else if (word == "--yes") {
    arguments.yes = true;
  } else if (absl::ConsumePrefix(&rest, "--by=") || word == "--by") {
    if (word == "--by") rest = words.AreOver() ? "" : absl::string_view(words.Next());
    if (rest != "waiting" && rest != "age" && rest != "handler-time") {
      return Wrong(absl::StrCat("'", PrintableText(rest), "' is no order: expected waiting, age or handler-time"),
                   arguments.command);
    }
    arguments.by = std::string(rest);
  } else if (absl::ConsumePrefix(&rest, "--port=") || word == "--port") {
    if (word == "--port") rest = words.AreOver() ? "" : absl::string_view(words.Next());
    if (!absl::SimpleAtoi(rest, &arguments.port) || arguments.port < 0 || arguments.port > kPortMax) {
      return Wrong(absl::StrCat("'", PrintableText(rest), "' is not a port: expected --port=N, from 0 to ", kPortMax),
                   arguments.command);
    }
  } else if (absl::ConsumePrefix(&rest, "--ops=") || word == "--ops") {
    if (word == "--ops") rest = words.AreOver() ? "" : absl::string_view(words.Next());
    arguments.ops = std::string(absl::StripPrefix(rest, "unix:"));
    if (arguments.ops.empty()) return Wrong("--ops names no socket: expected --ops=SOCKET", arguments.command);
  } else {
    return Wrong(absl::StrCat("unknown option ", PrintableText(word)), arguments.command);
  }
  return absl::OkStatus();
}

// The options of `command`, such as "--watch" and "--by=KEY".
std::vector<std::string> OptionsOf(const Command& command) {
  return absl::StrSplit(command.options, ' ', absl::SkipEmpty());
}

// True if `command` takes the option that is in `word`.
bool Takes(const Command& command, absl::string_view word) {
  const absl::string_view name = command.name;
  if (word == "--json") return name != "completion" && name != "observe";
  if (word == "--ops" || absl::StartsWith(word, "--ops=")) return command.asks_node;
  const std::vector<std::string> options = OptionsOf(command);
  const absl::string_view key = word.substr(0, word.find('='));
  return std::any_of(options.begin(), options.end(),
                     [key](const std::string& option) { return key == option.substr(0, option.find('=')); });
}

// "kill PID|NAME --yes"
std::string Usage(const Command& command) {
  std::string text = command.name;
  if (command.operands[0] != '\0') absl::StrAppend(&text, " ", command.operands);
  for (const std::string& option : OptionsOf(command)) absl::StrAppend(&text, " [", option, "]");
  return text;
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words, absl::string_view environment) {
  Arguments arguments;
  std::vector<std::string> options;
  bool are_operands = false;
  for (Words left(words); !left.AreOver();) {
    const std::string& word = left.Next();
    if (!are_operands && word == "--") {
      are_operands = true;
    } else if (!are_operands && word.size() > 1 && word[0] == '-') {
      options.push_back(word);
      if (absl::Status parsed = ParseOption(word, left, arguments); !parsed.ok()) return parsed;
    } else if (arguments.command.empty()) {
      arguments.command = word;
    } else {
      arguments.operands.push_back(word);
    }
  }
  if (arguments.command == "help") {
    arguments.help = true;
    arguments.command = arguments.operands.empty() ? "" : arguments.operands[0];
  }
  const Command* const command = FindCommand(arguments.command);
  if (command == nullptr && !arguments.command.empty()) return UnknownCommand(arguments.command);
  if (arguments.help) return arguments;
  if (command == nullptr) return Wrong("no command is given", "");
  for (const std::string& option : options) {
    if (!Takes(*command, option)) {
      return Wrong(absl::StrCat("'", command->name, "' takes no ", PrintableText(option)), command->name);
    }
  }
  const size_t least = TakesNoOperand(*command) ? 0 : command->operand_count;
  if (arguments.operands.size() < least || arguments.operands.size() > command->operand_count) {
    return Wrong(
        absl::StrCat("'", command->name, "' takes ", command->operand_count == 0 ? "no operand" : command->operands,
                     ", got ", arguments.operands.empty() ? "nothing" : absl::StrJoin(arguments.operands, " ", Quoted)),
        command->name);
  }
  if (!command->asks_node) return arguments;
  if (arguments.command == "observe" && !arguments.operands.empty()) {
    if (!arguments.ops.empty()) arguments.operands.push_back(std::exchange(arguments.ops, ""));
    for (std::string& operand : arguments.operands) operand = std::string(absl::StripPrefix(operand, "unix:"));
    return arguments;
  }
  if (arguments.ops.empty()) arguments.ops = std::string(absl::StripPrefix(environment, "unix:"));
  if (arguments.ops.empty()) {
    return Wrong("no node is named: expected --ops=SOCKET, or the variable UNDERSTUDY_OPS", "");
  }
  if (arguments.command == "observe") arguments.operands = {std::exchange(arguments.ops, "")};
  return arguments;
}

std::string HelpText(absl::string_view name) {
  const Command* const command = FindCommand(name);
  if (command != nullptr) {
    return absl::StrCat("usage: understudy ", Usage(*command), command->asks_node ? " [--ops=SOCKET]" : "",
                        Takes(*command, "--json") ? " [--json]" : "", "\n\n", command->name, ": ", command->summary,
                        ".\n", command->details[0] == '\0' ? "" : "\n", command->details);
  }
  std::string text =
      "usage: understudy COMMAND [--ops=SOCKET] [--json]\n\n"
      "Asks a running node what it does, and acts on it. The node's program offers that with Ops (//:ops).\n\n";
  for (const Command& each : kCommands) {
    absl::StrAppendFormat(&text, "  %-26s %s\n", absl::StrCat(each.name, " ", each.operands), each.summary);
  }
  absl::StrAppend(&text,
                  "\n  --ops=SOCKET  the path of the node's Unix socket; else that in the variable UNDERSTUDY_OPS\n"
                  "  --json        writes JSON, one message of proto/ops.proto a line\n"
                  "  --help        after a command: its own help; so does understudy help COMMAND\n"
                  "  --            the words after it are operands, also if they begin with a dash\n\n"
                  "Exit status: 0, 1 after an error, 2 after a wrong command line.\n");
  return text;
}

std::string BashCompletion() {
  std::string cases;
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    names.emplace_back(command.name);
    std::vector<std::string> words = {"--help"};
    for (const char* option : {"--json", "--ops="}) {
      if (Takes(command, option)) words.emplace_back(option);
    }
    for (const std::string& option : OptionsOf(command)) {
      const size_t value = option.find('=');
      words.push_back(value == std::string::npos ? option : option.substr(0, value + 1));
    }
    if (command.name == absl::string_view("completion")) words.emplace_back("bash");
    absl::StrAppend(&cases, "    ", command.name, ") words='", absl::StrJoin(words, " "), "' ;;\n");
  }
  return absl::StrCat(
      "# bash completion for understudy: source <(understudy completion bash)\n"
      "_understudy() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} command= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "    -* | = | help) ;;\n"
      "    *) [[ ${COMP_WORDS[i - 1]} == @(=|--ops) ]] || { command=${COMP_WORDS[i]}; break; } ;;\n"
      "    esac\n"
      "  done\n"
      "  case $command in\n"
      "    '') words='help --help --ops= ",
      absl::StrJoin(names, " "), "' ;;\n", cases,
      "  esac\n"
      "  if [[ $word == = || ${COMP_WORDS[COMP_CWORD - 1]} == @(=|--ops) ]]; then\n"
      "    COMPREPLY=($(compgen -f -- \"${word#=}\"))\n"
      "    return\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ $command == @(lint|observe) ]] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "  [[ ${COMPREPLY[0]} == --*= ]] && compopt -o nospace\n"
      "  return 0\n"
      "}\n"
      "complete -F _understudy understudy\n");
}

}  // namespace understudy::tool
