// CustomerOrder: one order, as an actor. A pool has the open ones; the name of each is "order/<id>".
//
//   absent ──Place──▶ pending ──Pay──▶ paid ──Ship──▶ ending ──the item knows──▶ ended
//                        └──── unpaid after pay_within ────▶┘
//
// Each change of state is in the journal before it is answered and before anybody else is told. An order that starts
// again therefore goes on where it was; only the time to pay begins anew.
//
// The item is on another node, so an ask of it may end without an answer although it was handled. An order assumes
// neither: it repeats the request, which the item knows by the order's id. In `ending` it does so until the item has
// confirmed that the reservation is released or shipped. So a reservation lasts no longer than its order.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_ORDERS_H_
#define UNDERSTUDY_EXAMPLES_SHOP_ORDERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/named.h"
#include "understudy/actors/task.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop.actor.h"
#include "understudy/supervision/pool.h"

namespace shop {

struct OrderSetup {
  std::string order;
  absl::Duration pay_within = absl::Minutes(10);
  Journal* journal = nullptr;  // outlives the actor
};

class CustomerOrder final : public OrderActor {
 public:
  explicit CustomerOrder(OrderSetup setup);

 private:
  understudy::StartResult Start() override;

  // pending: reserves the items, also when an earlier try had no answer.
  understudy::Task<absl::StatusOr<OrderStatus>> Begin(PlaceRequest request);
  absl::StatusOr<OrderStatus> PayPending(const OrderRequest& request);
  absl::StatusOr<OrderStatus> ShipPaid(const OrderRequest& request);
  absl::Status Cancel();
  // Tells the item how the order ended.
  understudy::Task<> Settle();

  // The answers of states that the call does not change.
  absl::StatusOr<OrderStatus> PlaceAgain(const PlaceRequest& request);
  absl::StatusOr<OrderStatus> PayAgain(const OrderRequest& request);
  absl::StatusOr<OrderStatus> ShipAgain(const OrderRequest& request);
  OrderStatus Tell(const OrderRequest& /*request*/) { return record_.status(); }

  // Writes the record down, then makes it the present one.
  absl::Status Save(const OrderRecord& record);
  absl::Status SaveState(OrderStatus::State state);
  const understudy::Behavior& BehaviorNow() const;
  void Leave() { context().Stop(); }
  understudy::Named<ItemRef> Item() const;

  const OrderSetup setup_;
  OrderRecord record_;

  understudy::Behavior absent_;
  understudy::Behavior pending_;
  understudy::Behavior paid_;
  understudy::Behavior ending_;
  understudy::Behavior ended_;
};

using OrderPool = understudy::Pool<CustomerOrder(OrderSetup)>;

// "order/<id>"
std::string OrderName(const std::string& order);

// The ids of the orders that have something to do yet: to wait for a payment or shipping, or to tell the item.
absl::StatusOr<std::vector<std::string>> OpenOrders(const Journal& journal);

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_ORDERS_H_
