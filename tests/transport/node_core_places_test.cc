// NodeCore: the places of dead incarnations are given out again, and a pid of a dead incarnation never comes to mean an
// actor of a later one.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/room.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/ref_proto.h"

namespace understudy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class NodeCorePlacesTest : public ClusterTest {
 protected:
  ~NodeCorePlacesTest() override { internal::NodeTable::Retire(&others_); }

  // All places are taken, by incarnations of a system that lives.
  void FillTheTable() {
    uint64_t incarnation = 0;
    while (internal::NodeTable::Intern({.system = &others_, .name = "other", .incarnation = {++incarnation}}).ok()) {
    }
  }
  void Restart(const std::string& node) {
    cluster().Crash(node);
    cluster().Start(node);
    ASSERT_TRUE(cluster().RunUntil([&] { return cluster().IsJoined(); }, absl::Seconds(5)));
  }

  const char others_ = 0;
};

// a knows b by a pid that was kept while b was restarted, until the new b had the place of the old one.
TEST_F(NodeCorePlacesTest, AKeptPidAnswersNoProcessAndNeverReachesTheNodeInItsPlace) {
  Join();
  const Puppeteer a = Make("a");
  const Pid kept = Seen("a", Make("b"), "b");
  const std::string printed = kept.ToString();
  const proto::Ref ref = ToProto(kept);
  FillTheTable();
  Puppeteer b;
  Pid now;
  for (int i = 0; i < 10 && now.node() != kept.node(); ++i) {
    Restart("b");
    b = Make("b");
    now = Seen("a", b, "b");
  }
  ASSERT_EQ(now.node(), kept.node());
  ASSERT_NE(now.place(), kept.place());
  // Were it not for the generation, this would be the new actor.
  const Pid mistaken = internal::PidAt(kept.place(), internal::AddressOf(b.ref.pid()));
  EXPECT_TRUE(IsNoProcess(Ref<Puppet>(mistaken)[&Puppet::note].Send(NoteOf(1))));
  Do(a, [mistaken](Puppet& p) {
    p.Trap();
    p.Write(IsNoProcess(Ref<Puppet>(mistaken)[&Puppet::note].Send(NoteOf(2))) ? "NoProcess" : "sent");
    p.Watch(mistaken);
    p.context().Link(mistaken);
    p.context().RequestStop(mistaken);
  });
  Ask(a, mistaken, 1);
  EXPECT_THAT(*a.diary, UnorderedElementsAre("NoProcess", "down NoProcess", "trapped NoProcess", "error NoProcess"));
  EXPECT_THAT(*b.diary, IsEmpty());
  Ask(a, now, 1);
  EXPECT_EQ(a.diary->back(), "answer 2");
  // The pid has the same text and the same bytes on the wire as before.
  EXPECT_EQ(kept.ToString(), printed);
  EXPECT_EQ(ToProto(kept).SerializeAsString(), ref.SerializeAsString());
}

TEST_F(NodeCorePlacesTest, MessagesThatOutliveTheirNodeGiveNoRoomToTheNodeInItsPlace) {
  Join();
  const Puppeteer a = Make("a");
  const uint16_t index = Seen("a", Make("b"), "b").node();
  const auto send_from_b = [&](int64_t number) {
    return SendSoon(Ref<Puppet>(Seen("b", a, "a"))[&Puppet::closed], NoteOf(number));
  };
  for (int64_t number = 1; number <= 50; ++number) ASSERT_TRUE(send_from_b(number).ok());
  Run();
  FillTheTable();
  for (int i = 0; i < 10; ++i) {
    Restart("b");
    if (Seen("a", Make("b"), "b").node() == index) break;
  }
  ASSERT_EQ(Seen("a", Make("b"), "b").node(), index);
  for (int64_t number = 51; number <= 60; ++number) ASSERT_TRUE(send_from_b(number).ok());
  Run();
  const RoomAmount given = cluster().core("a").Peers()[0].credit_given;
  Do(a, [](Puppet& p) { p.OpenAll(); });
  EXPECT_THAT(*a.diary, SizeIs(60));
  EXPECT_LE(cluster().core("a").Peers()[0].credit_given.messages, given.messages);
  for (int64_t number = 61; number <= 200; ++number) ASSERT_TRUE(send_from_b(number).ok());
  Run();
  EXPECT_THAT(*a.diary, SizeIs(200));
  EXPECT_EQ(cluster().core("b").Ledger().refused_by_peer, 0);
  EXPECT_TRUE(cluster().IsJoined());
}

TEST_F(NodeCorePlacesTest, ANodeThatIsRestartedIsMetAgainAlthoughTheTableOfNodesIsFull) {
  Join();
  FillTheTable();
  for (int i = 0; i < 20; ++i) Restart("b");
}

}  // namespace
}  // namespace understudy
