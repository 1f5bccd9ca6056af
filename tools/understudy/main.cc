// understudy: the operator's command line of a running node. Run `understudy --help` for its commands.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/client.h"
#include "understudy/tools/understudy/lint.h"
#include "understudy/tools/understudy/observe.h"
#include "understudy/tools/understudy/screen.h"

namespace {

using understudy::tool::Arguments;

// `bazel run` changes the working directory, and tells the user's in a variable.
void MakeUserPath(std::string& path) {
  const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || path.empty() || path[0] == '/' || path.find("://") != std::string::npos) return;
  path = std::string(folder) + "/" + path;
}

understudy::tool::Window WindowOfOutput() {
  winsize size;
  if (isatty(STDOUT_FILENO) == 0) return {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {.rows = 24, .columns = 80};  // a terminal that does not know
  }
  return {.rows = size.ws_row, .columns = size.ws_col};
}

absl::Status Run(const Arguments& arguments) {
  if (arguments.command == "lint") return understudy::tool::RunLint(arguments, std::cout);
  if (arguments.command == "observe") return understudy::tool::RunObserve(arguments, std::cout);
  if (arguments.command == "completion") {
    std::cout << understudy::tool::BashCompletion();
    return absl::OkStatus();
  }
  return understudy::tool::RunCommand(
      arguments, {.in = std::cin, .out = std::cout, .prompt = std::cerr, .window = &WindowOfOutput});
}

}  // namespace

int main(int argc, char** argv) {
  const char* const environment = std::getenv("UNDERSTUDY_OPS");
  absl::StatusOr<Arguments> arguments = understudy::tool::ParseArguments(
      std::vector<std::string>(argv + 1, argv + argc), environment == nullptr ? "" : environment);
  if (!arguments.ok()) {
    std::cerr << "understudy: " << arguments.status().message() << "\n";
    return 2;
  }
  if (arguments->help) {
    std::cout << understudy::tool::HelpText(arguments->command);
    return 0;
  }
  MakeUserPath(arguments->ops);
  for (std::string* const file :
       {&arguments->tls.certificate_file, &arguments->tls.key_file, &arguments->tls.ca_file}) {
    MakeUserPath(*file);
  }
  const std::string& command = arguments->command;
  if (command == "lint" || command == "observe" || command == "cluster") {
    for (size_t i = command == "cluster" ? 1 : 0; i < arguments->operands.size(); ++i) {
      MakeUserPath(arguments->operands[i]);
    }
  }
  const absl::Status done = Run(*arguments);
  std::cout.flush();
  if (!done.ok()) {
    std::cerr << "understudy: " << done.message() << "\n";
  } else if (!std::cout) {
    std::cerr << "understudy: cannot write to standard output\n";
  }
  return done.ok() && std::cout ? 0 : 1;
}
