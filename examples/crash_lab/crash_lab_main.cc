// crash_lab: starts a supervision tree and breaks its children by command. See README.md.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/examples/crash_lab/lab.h"
#include "understudy/examples/crash_lab/lab_worker.h"
#include "understudy/examples/crash_lab/story.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/tools/understudy/observer/system_observer.h"
#include "understudy/transport/node.h"
#include "understudy/transport/tree_factories.h"
#include "understudy/transport/tree_file.h"

ABSL_FLAG(std::string, tree, "",
          "The tree to start; proto/supervision_tree.proto. Default: the shipped lab_tree.textproto.");
ABSL_FLAG(std::string, script, "", "A file of commands, one a line. Default: standard input.");
ABSL_FLAG(bool, observe, false, "Serves a page that shows the tree live, and prints its address for a browser.");
ABSL_FLAG(bool, log, false, "Also write the library's log, crash reports with it, to standard error.");

namespace crash_lab {
namespace {

constexpr int kExitGaveUp = 1;
constexpr int kExitRefused = 2;
constexpr absl::Duration kDrain = absl::Seconds(10);
constexpr int kLastMessages = 5;

// Reads and runs commands until there are no more, or Lab::Do returns false.
void Read(Lab& lab, std::istream& in, bool is_echoed) {
  std::string line;
  while (true) {
    if (!is_echoed) std::cout << "> " << std::flush;
    if (!std::getline(in, line)) return;
    if (is_echoed && !line.empty()) std::cout << (line[0] == '#' ? "\n" : "> ") << line << "\n";
    if (!lab.Do(line)) return;
  }
}

void Print(Story& story) {
  for (const std::string& line : story.Take()) std::cout << "  " << line << "\n";
}

// Resolves a relative path against the user's folder, because `bazel run` starts programs in another one.
std::string UserPath(const std::string& path) {
  const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return folder == nullptr || path.empty() || path[0] == '/' ? path : absl::StrCat(folder, "/", path);
}

std::string TreePath() {
  const std::string tree = absl::GetFlag(FLAGS_tree);
  return tree.empty() ? "examples/crash_lab/lab_tree.textproto" : UserPath(tree);
}

int Run(const understudy::SupervisorSpec& tree, std::istream& in, bool is_echoed) {
  Story story;
  understudy::LogSink& log = absl::GetFlag(FLAGS_log) ? understudy::LogSink::Stderr() : understudy::LogSink::Null();
  understudy::ActorSystem system({.name = "lab", .log = &log, .last_messages = kLastMessages});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::Start(system, {.listen = ""});
  if (!node.ok()) {
    std::cerr << "crash_lab: " << node.status().message() << "\n";
    return kExitRefused;
  }
  std::unique_ptr<understudy::tool::SystemObserver> observer;
  if (absl::GetFlag(FLAGS_observe)) {
    absl::StatusOr<std::unique_ptr<understudy::tool::SystemObserver>> started =
        understudy::tool::SystemObserver::Start(system, node->get());
    if (!started.ok()) {
      std::cerr << "crash_lab: " << started.status().message() << "\n";
      return kExitRefused;
    }
    observer = *std::move(started);
    std::cout << "observe: " << observer->PrintedAddress() << "\n" << std::flush;
  }
  Lab lab(system, tree, story, std::cout);
  lab.Settle();
  Print(story);
  if (!story.root_end().has_value()) Read(lab, in, is_echoed);
  const bool gave_up = story.root_end().has_value();
  if (gave_up) std::cout << "the tree has ended: " << story.root_end()->ToString() << "\n";
  EndHanging();
  const int drained = (*node)->Drain(kDrain);
  Print(story);
  std::cout << std::flush;
  return gave_up ? kExitGaveUp : drained;
}

int Main() {
  const absl::StatusOr<understudy::SupervisorSpec> tree =
      understudy::ReadTreeFile(TreePath(), understudy::TreeFactories());
  if (!tree.ok()) {
    std::cerr << "crash_lab: " << tree.status().message() << "\n";
    return kExitRefused;
  }
  std::cout << DescribeTree(*tree) << "\n";
  const std::string script = UserPath(absl::GetFlag(FLAGS_script));
  if (script.empty()) {
    const bool is_terminal = isatty(STDIN_FILENO) != 0;
    if (is_terminal) std::cout << Lab::Help();
    return Run(*tree, std::cin, /*is_echoed=*/!is_terminal);
  }
  std::ifstream file(script);
  file.peek();  // fails for a folder, which can be opened but not read
  if (!file.is_open() || file.bad()) {
    std::cerr << "crash_lab: cannot read " << script << "\n";
    return kExitRefused;
  }
  return Run(*tree, file, /*is_echoed=*/true);
}

}  // namespace
}  // namespace crash_lab

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Starts a supervision tree and breaks it as told.\n\n  crash_lab [--tree=FILE] [--script=FILE] [--observe] "
      "[--log]");
  absl::ParseCommandLine(argc, argv);
  return crash_lab::Main();
}
