// inventory_node: the process of the stock. shop_node starts it, and starts it again when it ends.
#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop_tree.h"
#include "understudy/examples/shop/traces.h"
#include "understudy/transport/node.h"
#include "understudy/transport/tracing/otlp_exporter.h"

ABSL_FLAG(std::string, journal, "", "the folder of the items' journal; it must exist");
ABSL_FLAG(int, skus, 10, "kinds of items");
ABSL_FLAG(int, items, 100'000, "items of each kind, before the first order");
ABSL_FLAG(std::string, traces, "", "the collector of traces; empty: there are none");

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  shop::FileJournal journal(absl::GetFlag(FLAGS_journal));
  absl::StatusOr<std::unique_ptr<understudy::OtlpExporter>> exporter =
      shop::ExportTraces("inventory", absl::GetFlag(FLAGS_traces));
  if (!exporter.ok()) {
    std::cerr << "inventory_node: " << exporter.status().message() << "\n";
    return 2;
  }
  understudy::ActorSystem system(
      {.name = understudy::Node::GivenName("inventory"), .tracing = {.spans = exporter->get()}});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::FromParent(system);
  if (!node.ok()) {
    std::cerr << "inventory_node: " << node.status().message() << "\n";
    return 2;
  }
  return (*node)->RunTree(
      shop::InventoryTree(shop::MakeCatalogue(absl::GetFlag(FLAGS_skus), absl::GetFlag(FLAGS_items)), &journal));
}
