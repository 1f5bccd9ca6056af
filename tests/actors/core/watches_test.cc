// Watches without an actor, over a real LinkTable.
#include "understudy/actors/internal/turn/watches.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/turn/link_table.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Pid kPeer(1, 2, 3);

Watches::Handler Handler() { return std::make_shared<MessageHandler>(MessageHandler::Dropping()); }

class WatchesTest : public testing::Test {
 protected:
  uint64_t Monitor(Watches::Handler handler) {
    const uint64_t id = links_.NewId();
    links_.Monitor(id, kPeer);
    watches_.AddMonitor(id, std::move(handler));
    return id;
  }
  uint64_t Spawn(SpawnedChild child) {
    const uint64_t id = links_.NewId();
    child.pid = kPeer;
    watches_.AddChild(id, std::move(child));
    return id;
  }
  // Not null: the handler that is told.
  Watches::Handler TakeDown(uint64_t id) {
    const absl::optional<Watches::Handler> told = watches_.TakeDown(id, links_);
    return told.value_or(nullptr);
  }

  LinkTable links_;
  Watches watches_;
};

TEST_F(WatchesTest, TheHandlerOfAMonitorIsToldOnce) {
  const Watches::Handler handler = Handler();
  const uint64_t id = Monitor(handler);
  EXPECT_EQ(TakeDown(id), handler);
  EXPECT_FALSE(watches_.TakeDown(id, links_).has_value());
  EXPECT_FALSE(links_.IsMonitoring(id));
}

TEST_F(WatchesTest, AMonitorWithoutAHandlerIsToldToAReceive) {
  const absl::optional<Watches::Handler> told = watches_.TakeDown(Monitor(nullptr), links_);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(*told, nullptr);
}

TEST_F(WatchesTest, ADownThatComesAfterDemonitorIsToldToNobody) {
  const uint64_t removed = Monitor(Handler());
  watches_.RemoveMonitor(removed);
  EXPECT_EQ(links_.Demonitor(removed), kPeer);
  EXPECT_FALSE(watches_.TakeDown(removed, links_).has_value());
}

TEST_F(WatchesTest, AChildStaysUntilItsOutcomeAndItsEndAreTold) {
  const Watches::Handler outcome = Handler();
  const Watches::Handler down = Handler();
  const uint64_t id = Spawn({.outcome = outcome, .down = down});
  EXPECT_EQ(watches_.TakeOutcome(id).value_or(nullptr), outcome);
  EXPECT_FALSE(watches_.TakeOutcome(id).has_value());
  EXPECT_EQ(watches_.children().size(), 1U);
  EXPECT_EQ(TakeDown(id), down);
  EXPECT_THAT(watches_.children(), IsEmpty());
}

TEST_F(WatchesTest, AChildThatIsWatchedForOneThingIsForgottenWhenThatIsTold) {
  EXPECT_TRUE(watches_.TakeOutcome(Spawn({.outcome = Handler()})).has_value());
  EXPECT_FALSE(watches_.TakeOutcome(Spawn({.down = Handler()})).has_value());
  ASSERT_EQ(watches_.children().size(), 1U);
  EXPECT_NE(TakeDown(watches_.children().begin()->first), nullptr);
  EXPECT_THAT(watches_.children(), IsEmpty());
}

TEST_F(WatchesTest, ATiedChildThatHasEndedIsNotToldOfItsParentsEnd) {
  const uint64_t id = Spawn({.is_tied = true, .outcome = Handler(), .down = Handler()});
  EXPECT_TRUE(watches_.children().at(id).is_tied);
  EXPECT_NE(TakeDown(id), nullptr);
  EXPECT_FALSE(watches_.children().at(id).is_tied) << "it stays for its outcome only";
}

TEST_F(WatchesTest, EachChangeOfANameIsToldUntilTheEnd) {
  const Watches::Handler handler = Handler();
  const uint64_t first = watches_.AddName("a", handler);
  const uint64_t second = watches_.AddName("b", nullptr);
  watches_.SetRegistryId("a", 70);
  watches_.SetRegistryId("b", 80);
  EXPECT_EQ(watches_.HandlerOfName("a", first).value_or(nullptr), handler);
  EXPECT_EQ(watches_.HandlerOfName("a", first).value_or(nullptr), handler);
  EXPECT_TRUE(watches_.HandlerOfName("b", second).has_value()) << "a Receive takes it";
  EXPECT_FALSE(watches_.HandlerOfName("c", second).has_value());
  EXPECT_THAT(watches_.RegistryIds(), ElementsAre(70, 80));
}

TEST_F(WatchesTest, AChangeThatComesAfterItsWatchWasRemovedIsToldToNobody) {
  const uint64_t earlier = watches_.AddName("a", Handler());
  watches_.SetRegistryId("a", 70);
  const absl::optional<NameWatch> removed = watches_.RemoveName("a");
  ASSERT_TRUE(removed.has_value());
  EXPECT_EQ(removed->id, earlier);
  EXPECT_EQ(removed->registry_id, 70U);
  EXPECT_FALSE(watches_.RemoveName("a").has_value());
  EXPECT_FALSE(watches_.HandlerOfName("a", earlier).has_value());
  const uint64_t later = watches_.AddName("a", Handler());
  EXPECT_FALSE(watches_.HandlerOfName("a", earlier).has_value());
  EXPECT_TRUE(watches_.HandlerOfName("a", later).has_value());
  EXPECT_EQ(watches_.name_count(), 1U);
}

TEST_F(WatchesTest, AtTheEndHandlersGoAndWhoIsToBeToldStays) {
  const Watches::Handler handler = Handler();
  const uint64_t monitor = Monitor(handler);
  (void)Spawn({.is_tied = true, .outcome = handler, .down = handler});
  (void)watches_.AddName("a", handler);
  watches_.SetRegistryId("a", 70);
  watches_.DropHandlers();
  EXPECT_EQ(handler.use_count(), 1);
  EXPECT_FALSE(watches_.TakeDown(monitor, links_).has_value());
  EXPECT_FALSE(links_.IsMonitoring(monitor)) << "it has fired, and its target need not be told";
  EXPECT_EQ(watches_.children().size(), 1U);
  EXPECT_THAT(watches_.RegistryIds(), ElementsAre(70));
}

}  // namespace
}  // namespace understudy::internal
