// ShopDesk: the actor that customers call. It finds the actor of an order, or starts it, and asks it.
//
// Any number of calls are under way at once. A call that finds an order's actor as it ends or starts is tried again,
// which is safe because every call may be repeated.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_SHOP_DESK_H_
#define UNDERSTUDY_EXAMPLES_SHOP_SHOP_DESK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/task.h"
#include "understudy/examples/shop/orders.h"
#include "understudy/examples/shop/shop.actor.h"

namespace shop {

using Catalogue = std::map<std::string, int32_t>;  // by SKU: how many items there are before the first order

class ShopDesk final : public ShopActor {
 public:
  // Starts orders in the pool that is registered as "orders". Each order is as `setup` but for its id.
  ShopDesk(Catalogue catalogue, OrderSetup setup) : catalogue_(std::move(catalogue)), setup_(std::move(setup)) {}

 private:
  using Answer = understudy::Task<absl::StatusOr<OrderStatus>>;
  template <class Request>
  using Rpc = understudy::Channel<understudy::Call<Request, OrderStatus>> (OrderRef::*)() const;

  understudy::StartResult Start() override { return open_; }

  Answer PlaceOrder(PlaceRequest request);
  Answer PayOrder(OrderRequest request);
  Answer ShipOrder(OrderRequest request);
  Answer InquireOrder(OrderRequest request);
  understudy::Task<absl::StatusOr<StockStatus>> Count(StockRequest request);

  template <class Request>
  Answer AskOrder(Request request, Rpc<Request> rpc);
  understudy::Task<absl::StatusOr<OrderRef>> Open(std::string order);

  const Catalogue catalogue_;
  const OrderSetup setup_;

  understudy::Behavior open_{"open",
                             On(place, &ShopDesk::PlaceOrder).Interleaved(),
                             On(pay, &ShopDesk::PayOrder).Interleaved(),
                             On(ship, &ShopDesk::ShipOrder).Interleaved(),
                             On(inquire, &ShopDesk::InquireOrder).Interleaved(),
                             On(count_stock, &ShopDesk::Count).Interleaved()};
};

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_SHOP_DESK_H_
