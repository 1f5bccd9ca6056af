// ledger_node: the process of the ledger. Started by the demo, as a process
// child, with the path of the database.
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/examples/auction/house_tree.h"
#include "understudy/transport/node.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: ledger_node DATABASE\n";
    return 2;
  }
  const std::string name = understudy::Node::GivenName("ledger");
  understudy::ActorSystem system(
      {.name = name, .log = &understudy::LogSink::Stderr(understudy::LogSeverity::kWarning)});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::FromParent(system);
  if (!node.ok()) {
    std::cerr << "ledger_node: " << node.status() << "\n";
    return 2;
  }
  return (*node)->RunTree(auction::LedgerTree(name, argv[1], auction::TotalsOf(system)));
}
