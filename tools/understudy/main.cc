// understudy: the operator's command line of a running node. Run `understudy --help` for its commands.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/client.h"

int main(int argc, char** argv) {
  using understudy::tool::Arguments;
  const char* const environment = std::getenv("UNDERSTUDY_OPS");
  const absl::StatusOr<Arguments> arguments = understudy::tool::ParseArguments(
      std::vector<std::string>(argv + 1, argv + argc), environment == nullptr ? "" : environment);
  if (!arguments.ok()) {
    std::cerr << "understudy: " << arguments.status().message() << "\n";
    return 2;
  }
  if (arguments->help) {
    std::cout << understudy::tool::HelpText(arguments->command);
    return 0;
  }
  const absl::Status done = understudy::tool::RunCommand(*arguments, std::cin, std::cout);
  if (done.ok()) return 0;
  std::cout.flush();
  std::cerr << "understudy: " << done.message() << "\n";
  return 1;
}
