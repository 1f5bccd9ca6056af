// tests/model/link_model_test.cc walks through what two and three tables do to each other.
#include "understudy/actors/internal/turn/link_table.h"

#include <cstdint>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Pid kPeer(1, 1, 1);
const Pid kOther(1, 2, 2);

TEST(LinkTableTest, ALinkIsAtMostOnePerPair) {
  // semantics 5.5
  LinkTable table;
  EXPECT_TRUE(table.Link(kPeer));
  EXPECT_FALSE(table.Link(kPeer));
  EXPECT_THAT(table.Links(), ElementsAre(kPeer));
  EXPECT_NE(table.Unlink(kPeer), 0U);
  EXPECT_FALSE(table.IsLinked(kPeer));
  EXPECT_EQ(table.Unlink(kPeer), 0U);
}

TEST(LinkTableTest, UntilAnUnlinkIsAcknowledgedAnExitAlongTheOldLinkIsIgnored) {
  LinkTable table;
  table.OnLink(kPeer);
  (void)table.Unlink(kPeer);
  EXPECT_FALSE(table.OnLinkExit(kPeer));
  table.OnLink(kOther);
  EXPECT_TRUE(table.OnLinkExit(kOther));
  EXPECT_FALSE(table.OnLinkExit(kOther)) << "a link breaks once";
}

TEST(LinkTableTest, AnOldAcknowledgementDoesNotEndANewerUnlink) {
  LinkTable table;
  (void)table.Link(kPeer);
  const uint64_t first = table.Unlink(kPeer);
  EXPECT_TRUE(table.Link(kPeer));
  const uint64_t second = table.Unlink(kPeer);
  table.OnUnlinkAck(kPeer, first);
  EXPECT_EQ(table.link_count(), 1U);
  table.OnUnlinkAck(kPeer, second);
  EXPECT_EQ(table.link_count(), 0U);
}

TEST(LinkTableTest, AMonitorFiresOnceOrIsRemoved) {
  // semantics 5.6
  LinkTable table;
  const uint64_t first = table.NewId();
  table.Monitor(first, kPeer);
  const uint64_t second = table.NewId();
  table.Monitor(second, kPeer);
  EXPECT_NE(first, second);
  EXPECT_TRUE(table.OnDown(first));
  EXPECT_FALSE(table.OnDown(first));
  EXPECT_TRUE(table.Demonitor(first).is_null());
  EXPECT_EQ(table.Demonitor(second), kPeer);
  EXPECT_FALSE(table.OnDown(second));
  EXPECT_THAT(table.monitored(), IsEmpty());
}

TEST(LinkTableTest, EachMonitorOfAWatcherGetsItsOwnDown) {
  LinkTable table;
  table.OnMonitor(kPeer, 1);
  table.OnMonitor(kPeer, 2);
  table.OnMonitor(kOther, 1);
  table.OnDemonitor(kPeer, 2);
  table.OnDemonitor(kPeer, 7);
  EXPECT_THAT(table.watchers(), ElementsAre(std::pair(kPeer, uint64_t{1}), std::pair(kOther, uint64_t{1})));
}

}  // namespace
}  // namespace understudy
