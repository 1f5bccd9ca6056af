// shop_node: the shop. It has the orders and the gateway, and supervises the process of the stock.
//
// Prints the address at which customers call. On SIGTERM or SIGINT the gateway drains first, then the orders and the
// stock.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop.ref.h"
#include "understudy/examples/shop/shop_tree.h"
#include "understudy/examples/shop/traces.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"
#include "understudy/transport/node.h"
#include "understudy/transport/tracing/otlp_exporter.h"

ABSL_FLAG(std::string, journal, "/tmp/understudy-shop", "the folder of the journals; it is made");
ABSL_FLAG(std::string, listen, "127.0.0.1:0", "where customers call");
ABSL_FLAG(absl::Duration, pay_within, absl::Minutes(10), "an order that is not paid by then is cancelled");
ABSL_FLAG(int, skus, 10, "kinds of items: sku-0, sku-1, ...");
ABSL_FLAG(int, items, 100'000, "items of each kind, before the first order");
ABSL_FLAG(std::string, traces, "", "the collector of traces, such as 127.0.0.1:4317; empty: there are none");

int main(int argc, char** argv) {
  using namespace understudy;
  absl::ParseCommandLine(argc, argv);
  const std::string folder = absl::GetFlag(FLAGS_journal);
  std::error_code failed;
  for (const char* part : {"/items", "/orders"}) {
    std::filesystem::create_directories(folder + part, failed);
    if (failed) {
      std::cerr << "shop_node: cannot make " << folder << part << ": " << failed.message() << "\n";
      return 2;
    }
  }
  shop::FileJournal journal(folder + "/orders");
  const shop::Catalogue catalogue = shop::MakeCatalogue(absl::GetFlag(FLAGS_skus), absl::GetFlag(FLAGS_items));

  absl::StatusOr<std::unique_ptr<OtlpExporter>> exporter = shop::ExportTraces("shop", absl::GetFlag(FLAGS_traces));
  if (!exporter.ok()) {
    std::cerr << "shop_node: " << exporter.status().message() << "\n";
    return 2;
  }
  ActorSystem system({.name = "shop", .tracing = {.spans = exporter->get()}});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {.listen = ""});
  if (!node.ok()) {
    std::cerr << "shop_node: " << node.status().message() << "\n";
    return 2;
  }
  absl::StatusOr<std::unique_ptr<Gateway>> gateway = Gateway::Start(
      system,
      {.listen = {absl::GetFlag(FLAGS_listen)}, .exports = {Export<shop::ShopRef>("shop")}, .node = node->get()});
  if (!gateway.ok()) {
    std::cerr << "shop_node: " << gateway.status().message() << "\n";
    return 2;
  }
  std::cout << (*gateway)->addresses()[0] << std::endl;

  return (*node)->RunTree(
      OneForOne()
          .Intensity(10, absl::Minutes(1))
          .Child("inventory", Process("inventory_node", {absl::StrCat("--journal=", folder, "/items"),
                                                         absl::StrCat("--traces=", absl::GetFlag(FLAGS_traces)),
                                                         absl::StrCat("--skus=", absl::GetFlag(FLAGS_skus)),
                                                         absl::StrCat("--items=", absl::GetFlag(FLAGS_items))}))
          .Child("orders", Of(shop::OrdersTree(catalogue, &journal, absl::GetFlag(FLAGS_pay_within)))));
}
