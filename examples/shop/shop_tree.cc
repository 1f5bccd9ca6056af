#include "understudy/examples/shop/shop_tree.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/examples/shop/inventory.h"
#include "understudy/examples/shop/orders.h"
#include "understudy/supervision/initial_children.h"
#include "understudy/supervision/pool.h"

namespace shop {

// The pools are exclusive: a life that was killed in the middle of a handler must not write to a journal that its next
// life has read.
using understudy::InitialChildren;
using understudy::Of;
using understudy::PoolOptions;
using understudy::RestartType;

Catalogue MakeCatalogue(int skus, int32_t items) {
  Catalogue catalogue;
  for (int i = 0; i < skus; ++i) catalogue[absl::StrCat("sku-", i)] = items;
  return catalogue;
}

understudy::SupervisorBuilder InventoryTree(const Catalogue& catalogue, Journal* journal) {
  const auto list = [catalogue, journal] {
    std::vector<understudy::Keyed<ItemSetup>> all;
    for (const auto& [sku, items] : catalogue) all.push_back({sku, {.sku = sku, .items = items, .journal = journal}});
    return absl::StatusOr<std::vector<understudy::Keyed<ItemSetup>>>(all);
  };
  return understudy::RestForOne()
      .Intensity(5, absl::Seconds(10))
      .Child("items", Of<ItemPool>(PoolOptions{.restart = RestartType::kPermanent,
                                               .exclusive = true,
                                               .published_as = "inventory/{id}",
                                               .intensity = 5,
                                               .period = absl::Seconds(10)})
                          .RegisteredAs("items"))
      .Child("all items", Of<InitialChildren<ItemPool>>("items", list));
}

understudy::SupervisorBuilder OrdersTree(const Catalogue& catalogue, Journal* journal, absl::Duration pay_within) {
  const OrderSetup setup{.order = "", .pay_within = pay_within, .journal = journal};
  const auto list = [setup]() -> absl::StatusOr<std::vector<understudy::Keyed<OrderSetup>>> {
    absl::StatusOr<std::vector<std::string>> open = OpenOrders(*setup.journal);
    if (!open.ok()) return open.status();
    std::vector<understudy::Keyed<OrderSetup>> all;
    for (const std::string& order : *open) {
      all.push_back({order, setup});
      all.back().arguments.order = order;
    }
    return all;
  };
  // Transient: an order whose work is done ends its actor, and the pool forgets it.
  return understudy::RestForOne()
      .Intensity(5, absl::Seconds(10))
      .Child("orders", Of<OrderPool>(PoolOptions{.restart = RestartType::kTransient,
                                                 .exclusive = true,
                                                 .registered_as = "order/{id}",
                                                 .intensity = 5,
                                                 .period = absl::Seconds(10)})
                           .RegisteredAs("orders"))
      .Child("open orders", Of<InitialChildren<OrderPool>>("orders", list))
      .Child("desk", Of<ShopDesk>(catalogue, setup).RegisteredAs("shop"));
}

}  // namespace shop
