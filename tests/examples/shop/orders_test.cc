// Tests of orders and the desk in virtual time; a mock stands for the item.
#include "understudy/examples/shop/orders.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop.actor.h"
#include "understudy/examples/shop/shop.testing.h"
#include "understudy/examples/shop/shop_tree.h"

namespace shop {
namespace {

using testing::Property;

constexpr absl::Duration kPayWithin = absl::Minutes(10);

class OrdersTest : public understudy::ActorTest {
 protected:
  OrdersTest() : tea_(system(), {.registered_as = "inventory/tea"}) { StartShop(); }

  void StartShop() {
    tree_ = system().Spawn(OrdersTree({{"tea", 10}}, &journal_, kPayWithin));
    desk_ = system().Lookup<ShopRef>("shop", absl::Seconds(5)).value();
  }
  absl::StatusOr<OrderStatus> Place(const std::string& order, int items = 3) {
    PlaceRequest request;
    request.set_order(order);
    request.set_sku("tea");
    request.set_items(items);
    return Ask(desk_.place(), request, absl::Seconds(30));
  }
  absl::StatusOr<OrderStatus> Call(const understudy::Channel<understudy::Call<OrderRequest, OrderStatus>>& rpc,
                                   const std::string& order) {
    OrderRequest request;
    request.set_order(order);
    return Ask(rpc, request, absl::Seconds(30));
  }
  OrderStatus::State StateOf(const std::string& order) {
    const absl::StatusOr<OrderStatus> status = Call(desk_.inquire(), order);
    return status.ok() ? status->state() : OrderStatus::UNKNOWN;
  }

  MemoryJournal journal_;
  MockItem tea_;
  understudy::SupervisorRef tree_;
  ShopRef desk_;
};

TEST_F(OrdersTest, AnOrderIsPlacedPaidAndShipped) {
  tea_.reserve.Expect(Property(&ReserveRequest::items, 3));
  EXPECT_EQ(Place("a")->state(), OrderStatus::PENDING);
  EXPECT_EQ(Place("a")->state(), OrderStatus::PENDING);
  EXPECT_TRUE(absl::IsFailedPrecondition(Call(desk_.ship(), "a").status()));
  EXPECT_EQ(Call(desk_.pay(), "a")->state(), OrderStatus::PAID);
  EXPECT_EQ(Call(desk_.pay(), "a")->state(), OrderStatus::PAID);
  tea_.ship.Expect(Property(&OrderRequest::order, "a"));
  EXPECT_EQ(Call(desk_.ship(), "a")->state(), OrderStatus::SHIPPED);
  system().Advance(absl::Minutes(1));
  EXPECT_FALSE(system().WhereIs("order/a").has_value());  // the order's actor has ended; the journal has the order
  EXPECT_EQ(StateOf("a"), OrderStatus::SHIPPED);
}

TEST_F(OrdersTest, AnOrderThatIsNotPaidCancelsItselfAndReleasesItsItems) {
  tea_.reserve.Expect(testing::_);
  EXPECT_TRUE(Place("a").ok());
  tea_.release.Expect(Property(&OrderRequest::order, "a"));
  system().Advance(kPayWithin + absl::Seconds(1));
  EXPECT_EQ(StateOf("a"), OrderStatus::CANCELLED);
  EXPECT_TRUE(absl::IsFailedPrecondition(Call(desk_.pay(), "a").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Place("a").status()));
}

TEST_F(OrdersTest, AnItemThatDoesNotConfirmTheEndIsAskedAgain) {
  tea_.reserve.Expect(testing::_);
  EXPECT_TRUE(Place("a").ok());
  tea_.release.Expect(testing::_).NeverAnswer();
  tea_.release.Expect(testing::_).Answer(absl::UnavailableError("the disk is full"));
  tea_.release.Expect(testing::_);
  system().Advance(kPayWithin + absl::Seconds(5));
}

TEST_F(OrdersTest, WithoutAnAnswerOfTheItemTheCustomerPlacesTheOrderAgain) {
  tea_.reserve.Expect(testing::_).NeverAnswer();
  EXPECT_TRUE(absl::IsUnavailable(Place("a").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Call(desk_.pay(), "a").status()));
  tea_.reserve.Expect(testing::_);
  EXPECT_EQ(Place("a")->state(), OrderStatus::PENDING);
  EXPECT_EQ(Call(desk_.pay(), "a")->state(), OrderStatus::PAID);
}

TEST_F(OrdersTest, AnOrderThatTheItemRefusesIsCancelled) {
  tea_.reserve.Expect(testing::_).Answer(absl::FailedPreconditionError("only 1 items are free"));
  tea_.release.Expect(testing::_);
  EXPECT_TRUE(absl::IsFailedPrecondition(Place("a").status()));
  EXPECT_EQ(StateOf("a"), OrderStatus::CANCELLED);
  system().Advance(absl::Seconds(1));
}

TEST_F(OrdersTest, AnImpossibleRequestIsRefusedWithItsCode) {
  EXPECT_TRUE(absl::IsNotFound(Call(desk_.inquire(), "a").status()));
  EXPECT_TRUE(absl::IsNotFound(Call(desk_.pay(), "a").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Call(desk_.pay(), "../a").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Place("a", 0).status()));
  tea_.reserve.Expect(testing::_);
  EXPECT_TRUE(Place("a", 3).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Place("a", 4).status()));
  system().Kill(tea_.Ref().pid());
  EXPECT_TRUE(absl::IsUnavailable(Ask(desk_.count_stock(),
                                      [] {
                                        StockRequest request;
                                        request.set_sku("tea");
                                        return request;
                                      }())
                                      .status()));
}

TEST_F(OrdersTest, AfterARestartAnOrderGoesOnWhereItWas) {
  tea_.reserve.Allow();
  EXPECT_TRUE(Place("paid").ok());
  EXPECT_TRUE(Call(desk_.pay(), "paid").ok());
  EXPECT_TRUE(Place("unpaid").ok());
  EndOf(desk_.pid(), [&] { system().Kill(tree_.pid()); });
  StartShop();
  EXPECT_TRUE(system().WhereIs("order/unpaid").has_value());
  tea_.release.Expect(Property(&OrderRequest::order, "unpaid"));
  system().Advance(kPayWithin + absl::Seconds(1));
  EXPECT_EQ(StateOf("unpaid"), OrderStatus::CANCELLED);
  EXPECT_EQ(StateOf("paid"), OrderStatus::PAID);
}

}  // namespace
}  // namespace shop
