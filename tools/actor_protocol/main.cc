// actor_protocol check|update: see README.md. bazel/actor_protocol_test.bzl makes the arguments.

#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "understudy/tools/actor_protocol/command.h"

namespace understudy::actor_protocol {
namespace {

constexpr absl::string_view kUsage =
    "usage: actor_protocol check|update --update_command=TEXT --baseline=PATH --file=IMPORT_PATH…\n"
    "                      --source=IMPORT_PATH=PATH…\n";

// InvalidArgument with the usage.
absl::StatusOr<Command> ParseArguments(int argc, char** argv) {
  Command command;
  for (int i = 2; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--update_command=")) {
      command.update = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--baseline=")) {
      command.baseline = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--file=")) {
      command.files.emplace_back(argument);
    } else if (absl::ConsumePrefix(&argument, "--source=") && argument.find('=') != absl::string_view::npos) {
      const size_t end = argument.find('=');
      command.sources.push_back(
          {.import_path = std::string(argument.substr(0, end)), .path = std::string(argument.substr(end + 1))});
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", argv[i], "'\n", kUsage));
    }
  }
  if (command.baseline.empty() || command.files.empty()) return absl::InvalidArgumentError(kUsage);
  return command;
}

int RunCheck(const Command& command) {
  const CheckResult result = Check(command);
  (result.passed ? std::cout : std::cerr) << result.text;
  return result.passed ? 0 : 1;
}

int RunUpdate(const Command& command) {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "BUILD_WORKSPACE_DIRECTORY is not set: run this by `bazel run`, as in\n    " << command.update << "\n";
    return 2;
  }
  const absl::StatusOr<std::string> done = Update(command, absl::StrCat(workspace, "/", command.baseline));
  if (!done.ok()) {
    std::cerr << done.status().message() << "\n";
    return 1;
  }
  std::cout << *done;
  return 0;
}

int Main(int argc, char** argv) {
  const absl::string_view mode = argc > 1 ? argv[1] : "";
  const absl::StatusOr<Command> command = ParseArguments(argc, argv);
  if (!command.ok() || (mode != "check" && mode != "update")) {
    std::cerr << (command.ok() ? kUsage : command.status().message());
    return 2;
  }
  return mode == "check" ? RunCheck(*command) : RunUpdate(*command);
}

}  // namespace
}  // namespace understudy::actor_protocol

int main(int argc, char** argv) { return understudy::actor_protocol::Main(argc, argv); }
