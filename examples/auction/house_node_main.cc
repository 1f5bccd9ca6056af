// house_node: the process of one auction house. Started by the demo, as a
// process child; see house_setup.h for its arguments.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/examples/auction/house_setup.h"
#include "understudy/examples/auction/house_tree.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/run_plan.h"
#include "understudy/transport/node.h"

namespace auction {
namespace {

int Refuse(const absl::Status& status) {
  std::cerr << "house_node: " << status << "\n";
  return 2;
}

int Main(const std::vector<std::string>& arguments) {
  absl::StatusOr<HouseSetup> setup = HouseSetupFromArguments(arguments);
  if (!setup.ok()) return Refuse(setup.status());
  absl::StatusOr<std::string> text = ReadFile(setup->lots_path);
  if (!text.ok()) return Refuse(text.status());
  std::vector<InputProblem> problems;  // not shown, because the launcher has reported them
  const std::vector<Lot> lots = ParseLots(setup->lots_path, *text, problems);

  const std::string name = understudy::Node::GivenName(HouseName(setup->number));
  understudy::ActorSystem system(
      {.name = name, .log = &understudy::LogSink::Stderr(understudy::LogSeverity::kWarning)});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::FromParent(system);
  if (!node.ok()) return Refuse(node.status());
  return (*node)->RunTree(HouseTree(name, LotsOfHouse(*setup, lots), TotalsOf(system)));
}

}  // namespace
}  // namespace auction

int main(int argc, char** argv) { return auction::Main(std::vector<std::string>(argv + 1, argv + argc)); }
