// Tests of one kind of items, in virtual time.
#include "understudy/examples/shop/inventory.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/examples/shop/journal.h"
#include "understudy/examples/shop/shop.actor.h"
#include "understudy/examples/shop/shop_tree.h"

namespace shop {
namespace {

class InventoryTest : public understudy::ActorTest {
 protected:
  ItemRef Spawn() { return system().Spawn<StockItem>(ItemSetup{.sku = "tea", .items = 10, .journal = &journal_}); }
  absl::StatusOr<StockStatus> Reserve(const ItemRef& item, const std::string& order, int32_t items) {
    ReserveRequest request;
    request.set_order(order);
    request.set_items(items);
    return Ask(item.reserve(), request);
  }
  static OrderRequest Of(const std::string& order) {
    OrderRequest request;
    request.set_order(order);
    return request;
  }
  static std::string Text(const absl::StatusOr<StockStatus>& status) {
    return status.ok() ? status->ShortDebugString() : status.status().ToString();
  }

  MemoryJournal journal_;
};

TEST_F(InventoryTest, ARepeatedCallChangesNothing) {
  const ItemRef tea = Spawn();
  EXPECT_EQ(Text(Reserve(tea, "a", 3)), R"(sku: "tea" free: 7 reserved: 3)");
  EXPECT_EQ(Text(Reserve(tea, "a", 3)), R"(sku: "tea" free: 7 reserved: 3)");
  EXPECT_EQ(Text(Ask(tea.ship(), Of("a"))), R"(sku: "tea" free: 7 shipped: 3)");
  EXPECT_EQ(Text(Ask(tea.ship(), Of("a"))), R"(sku: "tea" free: 7 shipped: 3)");
  EXPECT_EQ(Text(Reserve(tea, "b", 7)), R"(sku: "tea" reserved: 7 shipped: 3)");
  EXPECT_EQ(Text(Ask(tea.release(), Of("b"))), R"(sku: "tea" free: 7 shipped: 3)");
  EXPECT_EQ(Text(Ask(tea.release(), Of("b"))), R"(sku: "tea" free: 7 shipped: 3)");
}

TEST_F(InventoryTest, MoreThanIsFreeIsRefused) {
  const ItemRef tea = Spawn();
  EXPECT_TRUE(Reserve(tea, "a", 8).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Reserve(tea, "b", 3).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Reserve(tea, "c", -3).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(tea.ship(), Of("b")).status()));
  EXPECT_TRUE(Reserve(tea, "d", 2).ok());
}

TEST_F(InventoryTest, AReserveThatArrivesAfterItsReleaseIsRefused) {
  const ItemRef tea = Spawn();
  EXPECT_TRUE(Ask(tea.release(), Of("a")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Reserve(tea, "a", 3).status()));
  EXPECT_EQ(Text(Ask(tea.count(), StockRequest())), R"(sku: "tea" free: 10)");
}

TEST_F(InventoryTest, TheNextLifeKnowsWhatWasConfirmed) {
  const ItemRef first = Spawn();
  EXPECT_TRUE(Reserve(first, "a", 3).ok());
  EXPECT_TRUE(Reserve(first, "b", 2).ok());
  EXPECT_TRUE(Ask(first.ship(), Of("b")).ok());
  EXPECT_TRUE(Ask(first.release(), Of("c")).ok());
  system().Kill(first.pid());
  const ItemRef second = Spawn();
  EXPECT_EQ(Text(Reserve(second, "a", 3)), R"(sku: "tea" free: 5 reserved: 3 shipped: 2)");
  EXPECT_FALSE(Reserve(second, "c", 1).ok());
}

// A restarted pool begins without children, and its InitialChildren start them again.
TEST_F(InventoryTest, WhenThePoolEndsItsItemsComeBack) {
  system().Spawn(InventoryTree({{"tea", 10}, {"rum", 5}}, &journal_));
  const auto rum = system().Lookup<ItemRef>("inventory/rum", absl::Seconds(5));
  ASSERT_TRUE(rum.ok()) << rum.status();
  EXPECT_TRUE(Reserve(*rum, "a", 4).ok());
  EndOf(rum->pid(), [&] { system().Kill(*system().WhereIs("items")); });
  const auto again = system().Lookup<ItemRef>("inventory/rum", absl::Seconds(5));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Text(Ask(again->count(), StockRequest())), R"(sku: "rum" free: 1 reserved: 4)");
}

}  // namespace
}  // namespace shop
