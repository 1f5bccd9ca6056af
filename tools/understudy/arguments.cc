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
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "understudy/actors/printable_text.h"
#include "understudy/tools/understudy/observer/observer_limits.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/tools/understudy/options.h"

namespace understudy::tool {
namespace {

struct Command {
  const char* name;
  const char* operands;  // as the usage line shows them
  size_t operand_count;
  const char* options;  // the options that the command takes besides --ops, --json and --help, with spaces between
  const char* summary;  // begins with a verb in the infinitive
  const char* details;
  bool asks_node = true;
};

constexpr Command kCommands[] = {
    {"node", "", 0, "", "show the node and its counters", ""},
    {"tree", "", 0, "--dot", "show the supervisors with their children",
     "RESTARTS counts all restarts of the child. SUPERVISES shows a supervisor's strategy, how many restarts it has\n"
     "made, and how many are allowed in which time. LAST EXIT shows why the child ended last. The command works even\n"
     "while every worker is stuck.\n"
     "  --dot  writes a graph for Graphviz, in the DOT language\n"},
    {"ps", "[TEXT]", 1, "",
     "show the actors, or those with TEXT in their pid, class, label, behavior, name or parent's pid",
     "States: idle; awaiting (a handler awaits something); queued (waits for a worker: shown as its last turn\n"
     "left it); running; stuck (in one handler for a second or longer).\n"},
    {"top", "", 0, "--watch --by", "show the actors that are stuck, and those with the most waiting messages",
     "  --watch            shows them again each second, until it is interrupted: on a terminal in its window, as\n"
     "                     many as fit. A node that does not answer is tried again.\n"
     "  --by=age           shows those whose oldest message has waited longest\n"
     "  --by=waiting-bytes shows those whose waiting messages have the most bytes, in the mailboxes that are bounded "
     "in\n"
     "                     bytes; an actor's other memory is not known\n"
     "  --by=handler-time  shows how long handlers run, by class and mailbox, those that took the most time first:\n"
     "                     the number of runs that were timed, their mean, the time within which half and 99 of 100\n"
     "                     ended, and the longest\n"},
    {"actor", "PID|NAME", 1, "", "show one actor with its mailboxes, links and monitors",
     "OPEN says what keeps a mailbox closed: start, behavior, guard, scoped close, suspension, or handler (one that\n"
     "awaits).\n"},
    {"waits", "", 0, "--dot", "show which actors wait for whose answers",
     "A line for each call that has no answer. Actors that wait for each other in a circle are a call cycle.\n"
     "  --dot  writes a graph for Graphviz, in the DOT language\n"},
    {"names", "[PREFIX]", 1, "", "show the names that the node knows, or those that begin with PREFIX", ""},
    {"peers", "", 0, "--dot", "show the nodes that this one knows, with their sessions",
     "  --dot  writes a graph for Graphviz, in the DOT language\n"},
    {"workers", "", 0, "", "show the threads that run the actors, and what they are doing", ""},
    {"dead-letters", "", 0, "--follow", "show the last 1,000 messages that reached no handler",
     "  --follow  goes on with each new one\n"},
    {"events", "", 0, "--follow", "show the last 1,000 things that supervisors did",
     "  --follow  goes on with each new one\n"},
    {"crashes", "", 0, "--follow", "show the last 1,000 actors that crashed, each with its last messages",
     "Says why an actor ended, in which handler, and which messages it had begun to handle: when, in which mailbox,\n"
     "type and size, never contents. Crashes inside process children are shown too, and so are process children that\n"
     "ended by themselves, with the last lines that they wrote.\n"
     "  --follow  goes on with each new one\n"},
    {"stop", "PID|NAME", 1, "--yes", "request an actor to stop, as its parent would", "  --yes  does not ask\n"},
    {"kill", "PID|NAME", 1, "--yes", "kill an actor", "  --yes  does not ask\n"},
    {"restart", "SUPERVISOR CHILD", 2, "--yes", "end a child and start it again, without counting it as a restart",
     "SUPERVISOR is a pid or a name, CHILD the child's id, as `understudy tree` shows them. Exit status: 1 if the\n"
     "child was not started again, or if it has not ended within half a second: the result is not known then, and the\n"
     "node's log will tell it. The command does not wait for a child that has ended and takes longer to start.\n"
     "  --yes  does not ask\n"},
    {"suspend", "PID|NAME TIME", 2, "--yes", "keep an actor from handling messages for a time, at most ten minutes",
     "TIME is a number with a unit, such as 30s or 2m. Messages are accepted until a mailbox is full, and wait;\n"
     "timers, signals and handlers that have begun act as always, and the actor can be stopped. The suspension\n"
     "ends after TIME.\n"
     "  --yes  does not ask\n"},
    {"resume", "PID|NAME", 1, "--yes", "end the suspension of an actor", "  --yes  does not ask\n"},
    {"drain", "", 0, "--yes", "make the node end its actors in order and leave, as SIGTERM does",
     "  --yes  does not ask\n"},
    {"log-level", "LEVEL", 1, "--yes", "change which lines the node's log has",
     "LEVEL is debug, info, warning or error: the log has these lines and more severe ones.\n"
     "  --yes  does not ask\n"},
    {"trace", "PID|NAME", 1, "--messages --for --every --contents --yes",
     "show the messages that an actor handles, as it begins with each",
     "Shows the time, mailbox, type, size and sender of each message, until a bound is reached or it is interrupted.\n"
     "  --messages=N  ends after N messages; 100 unless given, at most 10,000\n"
     "  --for=TIME    ends after TIME; 30s unless given, at most 10m\n"
     "  --every=N     only the first message and each Nth after it\n"
     "  --contents    shows contents too, up to a KiB of each message, without redacted fields; the node must allow\n"
     "                that, and its log says who asked. The command asks first, because contents may be private.\n"
     "  --yes         does not ask\n"},
    {"cluster", "tree|top|ps|waits|peers|names ADDRESS...", 1 + limits::kObservedNodesMax, "--by --dot",
     "show several nodes as one: their tree, busiest actors, actors, who waits for whom, peers, or names",
     "Each ADDRESS is what --ops names. If a node does not answer, the command says so, shows the others and\n"
     "ends with exit status 1.\n"
     "  --by=KEY  for top: the order, as of understudy top: waiting, age or waiting-bytes\n"
     "  --dot     for tree, waits and peers: writes a graph for Graphviz, in the DOT language\n"},
    {"observe", "[ADDRESS...]", limits::kObservedNodesMax, "--port",
     "serve a page that shows nodes live, and print its address for a browser",
     "Each ADDRESS is what --ops names. The page shows the supervision tree, stuck and busy actors, what supervisors\n"
     "did and dead letters as they come, and offers the actions that the node allows. It is served on 127.0.0.1 until\n"
     "the command is interrupted. Anyone who has the printed address can do what you can: keep it secret.\n"
     "  --port=N  the port; 0, which means a free port, unless given\n"},
    {"lint", "FILE", 1, "", "check the file of a supervision tree, without a node",
     "Finds errors of syntax, unknown fields, and what the tree's program would refuse when it starts. Only that\n"
     "program knows its factories: an understudy_tree_test (bazel/understudy.bzl) checks their names and arguments.\n"
     "Exit status: 1 if the file has an error.\n",
     /*asks_node=*/false},
    {"completion", "bash", 1, "", "print a script that completes command lines: source <(understudy completion bash)",
     "", /*asks_node=*/false},
};

constexpr char kClusterViews[] = "tree top ps waits peers names";

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

// True if `command` takes the option `name`.
bool Takes(const Command& command, absl::string_view name) {
  const absl::string_view command_name = command.name;
  if (name == "--json") return command_name != "completion" && command_name != "observe";
  if (name == "--ops") return command.asks_node && command_name != "cluster";
  if (name == "--cert" || name == "--key" || name == "--ca") return command.asks_node;
  const std::vector<absl::string_view> own = absl::StrSplit(command.options, ' ', absl::SkipEmpty());
  return std::find(own.begin(), own.end(), name) != own.end();
}

// "kill PID|NAME --yes"
std::string Usage(const Command& command) {
  std::string text = command.name;
  if (command.operands[0] != '\0') absl::StrAppend(&text, " ", command.operands);
  for (const absl::string_view option : absl::StrSplit(command.options, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&text, " [", OptionUsage(option), "]");
  }
  return text;
}

// OK if the command line asks for a view of cluster that there is, with options that the view takes.
absl::Status CheckClusterView(const Arguments& arguments) {
  const std::string& view = arguments.operands[0];
  const std::vector<std::string> views = absl::StrSplit(kClusterViews, ' ');
  if (std::find(views.begin(), views.end(), view) == views.end()) {
    return absl::InvalidArgumentError(absl::StrCat("cluster does not show '", PrintableText(view),
                                                   "': expected tree, top, ps, waits, peers or names"));
  }
  if (arguments.dot && view != "tree" && view != "waits" && view != "peers") {
    return absl::InvalidArgumentError(
        absl::StrCat("'cluster ", view, "' takes no --dot: expected tree, waits or peers"));
  }
  if (!arguments.by.empty() && (view != "top" || arguments.by == "handler-time")) {
    return absl::InvalidArgumentError(absl::StrCat("'cluster ", view, "' takes no --by=", arguments.by,
                                                   ": expected top with waiting, age or waiting-bytes"));
  }
  return absl::OkStatus();
}

// Names the node or the nodes of a command that asks some.
absl::Status SetNodes(absl::string_view environment, Arguments& arguments) {
  if (arguments.command == "cluster" || (arguments.command == "observe" && !arguments.operands.empty())) {
    if (!arguments.ops.empty()) arguments.operands.push_back(std::exchange(arguments.ops, ""));
    for (std::string& operand : arguments.operands) operand = std::string(absl::StripPrefix(operand, "unix:"));
  } else {
    if (arguments.ops.empty()) arguments.ops = std::string(absl::StripPrefix(environment, "unix:"));
    if (arguments.ops.empty()) {
      return Wrong("no node is named: expected --ops=ADDRESS, or the variable UNDERSTUDY_OPS", "");
    }
    if (arguments.command == "observe") arguments.operands = {std::exchange(arguments.ops, "")};
  }
  std::vector<std::string> addresses = {arguments.ops};
  if (arguments.command == "cluster" || arguments.command == "observe") addresses = arguments.operands;
  absl::Status checked = arguments.command == "cluster" ? CheckClusterView(arguments) : absl::OkStatus();
  for (size_t i = arguments.command == "cluster" ? 1 : 0; i < addresses.size(); ++i) {
    checked.Update(CheckAddress({.address = addresses[i], .tls = arguments.tls}));
  }
  return checked.ok() ? checked : Wrong(checked.message(), arguments.command);
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
      if (absl::Status parsed = ParseOption(word, left, arguments); !parsed.ok()) {
        return Wrong(parsed.message(), arguments.command);
      }
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
    if (!Takes(*command, OptionName(option))) {
      return Wrong(absl::StrCat("'", command->name, "' takes no ", PrintableText(option)), command->name);
    }
  }
  if (arguments.json && arguments.dot) {
    return Wrong(absl::StrCat("'", command->name, "' takes --json or --dot, not both"), command->name);
  }
  const size_t least = arguments.command == "cluster" ? 2 : TakesNoOperand(*command) ? 0 : command->operand_count;
  const bool is_other_shell =
      arguments.command == "completion" && arguments.operands != std::vector<std::string>{"bash"};
  if (arguments.operands.size() < least || arguments.operands.size() > command->operand_count || is_other_shell) {
    return Wrong(
        absl::StrCat("'", command->name, "' takes ", command->operand_count == 0 ? "no operand" : command->operands,
                     ", got ", arguments.operands.empty() ? "nothing" : absl::StrJoin(arguments.operands, " ", Quoted)),
        command->name);
  }
  if (arguments.command == "suspend") {
    Words time(arguments.operands);
    (void)time.Next();
    if (absl::Status parsed = ParseOption("--for", time, arguments); !parsed.ok()) {
      return Wrong(parsed.message(), arguments.command);
    }
  }
  if (command->asks_node) {
    if (absl::Status named = SetNodes(environment, arguments); !named.ok()) return named;
  }
  return arguments;
}

std::string HelpText(absl::string_view name) {
  const Command* const command = FindCommand(name);
  if (command != nullptr) {
    return absl::StrCat("usage: understudy ", Usage(*command), Takes(*command, "--ops") ? " [--ops=ADDRESS]" : "",
                        Takes(*command, "--cert") ? " [--cert=FILE --key=FILE --ca=FILE]" : "",
                        Takes(*command, "--json") ? " [--json]" : "", "\n\n", command->name, ": ", command->summary,
                        ".\n", command->details[0] == '\0' ? "" : "\n", command->details);
  }
  std::string text =
      "usage: understudy COMMAND [--ops=ADDRESS] [--json]\n\n"
      "Asks a running node what it does, and acts on it. The node's program offers that with Ops (//:ops).\n\n";
  for (const Command& each : kCommands) {
    absl::StrAppendFormat(&text, "  %-26s %s\n", absl::StrCat(each.name, " ", each.operands), each.summary);
  }
  absl::StrAppend(
      &text,
      "\n  --ops=ADDRESS  the node: the path of its Unix socket, tls://NODE@HOST:PORT, or tcp://127.0.0.1:PORT;\n"
      "                 else that in the variable UNDERSTUDY_OPS\n"
      "  --cert=FILE, --key=FILE, --ca=FILE  for tls: your certificate, its key, and the authority of the\n"
      "                 cluster, in PEM. NODE is the DNS name of the node's certificate.\n"
      "  --json         writes JSON, one message of proto/ops.proto a line\n"
      "  --dot          tree, waits, peers and cluster: writes a graph for Graphviz\n"
      "  --help         after a command: its own help; so does understudy help COMMAND\n"
      "  --             the words after it are operands, also if they begin with a dash\n\n"
      "Exit status: 0, 1 after an error, 2 after a wrong command line.\n");
  return text;
}

std::string BashCompletion() {
  std::string cases;
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    names.emplace_back(command.name);
    std::vector<std::string> words = {"--help"};
    std::vector<std::string> options = absl::StrSplit(command.options, ' ', absl::SkipEmpty());
    for (const char* option : {"--json", "--ops", "--cert", "--key", "--ca"}) {
      if (Takes(command, option)) options.emplace_back(option);
    }
    for (const std::string& option : options) words.push_back(absl::StrCat(option, HasValue(option) ? "=" : ""));
    if (command.name == absl::string_view("completion")) words.emplace_back("bash");
    if (command.name == absl::string_view("cluster")) words.emplace_back(kClusterViews);
    absl::StrAppend(&cases, "    ", command.name, ") words='", absl::StrJoin(words, " "), "' ;;\n");
  }
  return absl::StrCat(
      "# bash completion for understudy: source <(understudy completion bash)\n"
      "_understudy() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} command= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "    -* | = | help) ;;\n"
      "    *) [[ ${COMP_WORDS[i - 1]} == @(=|",
      absl::StrJoin(OptionsWithValue(), "|"),
      ") ]] || { command=${COMP_WORDS[i]}; break; } ;;\n"
      "    esac\n"
      "  done\n"
      "  case $command in\n"
      "    '') words='help --help --ops= ",
      absl::StrJoin(names, " "), "' ;;\n", cases,
      "  esac\n"
      "  local option=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  [[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  case $option in\n"
      "  --by) COMPREPLY=($(compgen -W '",
      kTopOrders,
      "' -- \"${word#=}\")); return ;;\n"
      "  --ops | --cert | --key | --ca) COMPREPLY=($(compgen -f -- \"${word#=}\")); return ;;\n"
      "  ",
      absl::StrJoin(OptionsWithValue(), " | "),
      ") COMPREPLY=(); return ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ $command == @(lint|observe|cluster) ]] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "  [[ ${COMPREPLY[0]} == --*= ]] && compopt -o nospace\n"
      "  return 0\n"
      "}\n"
      "complete -F _understudy understudy\n");
}

}  // namespace understudy::tool
