// The supervision trees of the two nodes: their children, the order in which these start, and which are restarted
// together.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_SHOP_TREE_H_
#define UNDERSTUDY_EXAMPLES_SHOP_SHOP_TREE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop_desk.h"
#include "understudy/supervision/builders.h"

namespace shop {

// "sku-0", "sku-1", …
Catalogue MakeCatalogue(int skus, int32_t items);

// The node "inventory". `journal` outlives the tree.
//
//   rest_for_one ─┬ items ......... pool: an actor for each SKU, published as "inventory/<sku>"
//                 └ all items ..... starts them all
understudy::SupervisorBuilder InventoryTree(const Catalogue& catalogue, Journal* journal);

// The orders' part of the node "shop". `journal` outlives the tree.
//
//   rest_for_one ─┬ orders ......... pool: an actor for each order, registered as "order/<id>"
//                 ├ open orders .... starts those that were open before
//                 └ desk ........... what customers call, registered as "shop"
understudy::SupervisorBuilder OrdersTree(const Catalogue& catalogue, Journal* journal, absl::Duration pay_within);

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_SHOP_TREE_H_
