// StockItem: the items of one kind, as an actor. A pool has one for each; its name is "inventory/<sku>".
//
// Each change is in the journal before it is answered, so a StockItem that starts again, in the same process or a new
// one, knows every reservation that it has confirmed. It knows an order by its id: a call that is repeated changes
// nothing.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_INVENTORY_H_
#define UNDERSTUDY_EXAMPLES_SHOP_INVENTORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop.actor.h"
#include "understudy/supervision/pool.h"

namespace shop {

struct ItemSetup {
  std::string sku;
  int32_t items = 0;           // before the first order
  Journal* journal = nullptr;  // outlives the actor
};

class StockItem final : public ItemActor {
 public:
  explicit StockItem(ItemSetup setup) : setup_(std::move(setup)), free_(setup_.items) {}

 private:
  understudy::StartResult Start() override;

  absl::StatusOr<StockStatus> Reserve(const ReserveRequest& request);
  absl::StatusOr<StockStatus> Release(const OrderRequest& request);
  absl::StatusOr<StockStatus> Ship(const OrderRequest& request);
  StockStatus Count(const StockRequest& /*request*/) { return StatusNow(); }

  // Writes the reservation down, then counts it.
  absl::StatusOr<StockStatus> Record(const Reservation& reservation);
  void Apply(const Reservation& reservation);
  StockStatus StatusNow() const;

  const ItemSetup setup_;
  int32_t free_;
  int32_t reserved_ = 0;
  int32_t shipped_ = 0;
  // All orders ever, because a repeated call may come late. At most kReservationsMax.
  std::map<std::string, Reservation> reservations_;

  understudy::Behavior open_{"open", On(reserve, &StockItem::Reserve), On(release, &StockItem::Release),
                             On(ship, &StockItem::Ship), On(count, &StockItem::Count)};
};

using ItemPool = understudy::Pool<StockItem(ItemSetup)>;

// "inventory/<sku>"
std::string ItemName(const std::string& sku);

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_INVENTORY_H_
