#include "understudy/transport/core/peer_table.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy::internal {
namespace {

using ::testing::SizeIs;

using Verdict = PeerTable::Room::Verdict;

class PeerTableTest : public ::testing::Test {
 protected:
  static NodeCoreOptions Options() {
    NodeCoreOptions options{.node = "a"};
    options.clock = &Clock::Real();
    options.mark_peers_dead = [](absl::string_view, auto) {};
    return options;
  }
  PeerCore& Add(absl::string_view node, PeerOrigin origin) {
    const auto [core, tenancy] = table_.Add(node);
    tenancies_.push_back(tenancy);
    SessionConfig config{.node = "a", .peer = std::string(node), .new_key = [] { return std::string(); }};
    core.Occupy(std::move(config), tenancy, std::make_shared<Grants>(), origin);
    return core;
  }
  std::vector<PeerCore*> Fill(size_t peers, PeerOrigin origin) {
    std::vector<PeerCore*> cores;
    for (size_t i = 0; i < peers; ++i) cores.push_back(&Add(absl::StrCat("n", i), origin));
    return cores;
  }
  size_t Visited() const {
    size_t visited = 0;
    cores_.ForEach([&](PeerCore&) { ++visited; });
    return visited;
  }

  NodeParts parts_{Options(), nullptr, nullptr};
  PeerCores cores_{parts_};
  PeerTable table_{cores_};
  std::vector<uint64_t> tenancies_;
};

TEST_F(PeerTableTest, ACoreWhosePeerHasGoneServesTheNextInATenancyOfItsOwn) {
  PeerCore& first = Add("b", PeerOrigin::kKnown);
  EXPECT_EQ(table_.Find("b"), &first);
  const auto ledger = first.Vacate();
  ASSERT_TRUE(ledger.has_value());
  table_.Erase(first, *ledger);
  EXPECT_EQ(table_.Find("b"), nullptr);
  PeerCore& second = Add("c", PeerOrigin::kKnown);
  EXPECT_EQ(&second, &first);
  EXPECT_NE(tenancies_[0], tenancies_[1]);
  EXPECT_EQ(Visited(), 1U);
  EXPECT_NE(&Add("b", PeerOrigin::kKnown), &second);
  EXPECT_EQ(Visited(), 2U);
}

TEST_F(PeerTableTest, TheLedgerOfAPeerThatHasGoneIsKept) {
  PeerCore& gone = Add("b", PeerOrigin::kKnown);
  ASSERT_TRUE(gone.Vacate().has_value());
  table_.Erase(gone, {.accepted = 3, .acknowledged = 2, .unconfirmed = 1});
  (void)Add("c", PeerOrigin::kKnown);
  EXPECT_EQ(table_.ledger(), (SessionLedger{.accepted = 3, .acknowledged = 2, .unconfirmed = 1}));
}

TEST_F(PeerTableTest, AFullTableOfPeersThatMayStayHasNoRoom) {
  (void)Fill(limits::kPeersMax, PeerOrigin::kKnown);
  EXPECT_TRUE(table_.is_full());
  for (const PeerOrigin origin : {PeerOrigin::kKnown, PeerOrigin::kUnproved}) {
    const PeerTable::Room room = table_.MakeRoom(origin);
    EXPECT_EQ(room.verdict, Verdict::kFull);
    EXPECT_EQ(room.evicted, nullptr);
  }
}

TEST_F(PeerTableTest, ThePeerThatHasWaitedLongestInAHandshakeGivesWayToANewcomerWhoseIdentityIsNotProved) {
  const std::vector<PeerCore*> cores = Fill(limits::kUnprovedPeersMax, PeerOrigin::kUnproved);
  const PeerTable::Room of_known = table_.MakeRoom(PeerOrigin::kKnown);
  EXPECT_EQ(of_known.verdict, Verdict::kFree);
  EXPECT_EQ(of_known.evicted, nullptr);
  const PeerTable::Room room = table_.MakeRoom(PeerOrigin::kUnproved);
  EXPECT_EQ(room.verdict, Verdict::kFree);
  EXPECT_EQ(room.evicted, cores[0]);
  EXPECT_EQ(table_.Find("n0"), nullptr);
  EXPECT_THAT(table_.peers(), SizeIs(limits::kUnprovedPeersMax - 1));
}

TEST_F(PeerTableTest, APeerThatIsKeptOrHasPendingDeliveriesDoesNotGiveWay) {
  const std::vector<PeerCore*> cores = Fill(limits::kUnprovedPeersMax, PeerOrigin::kUnproved);
  cores[0]->SetKept(true, "");
  EXPECT_EQ(table_.MakeRoom(PeerOrigin::kUnproved).evicted, nullptr) << "it is not one of the unproved any more";
  (void)Add("one-more", PeerOrigin::kUnproved);
  cores[1]->Report({});
  EXPECT_EQ(table_.MakeRoom(PeerOrigin::kUnproved).evicted, cores[2]);
  (void)Add("another", PeerOrigin::kUnproved);
  for (const auto& [name, core] : table_.peers()) core->Report({});
  const PeerTable::Room room = table_.MakeRoom(PeerOrigin::kUnproved);
  EXPECT_EQ(room.verdict, Verdict::kFullOfUnproved);
  EXPECT_EQ(room.evicted, nullptr);
}

TEST_F(PeerTableTest, AFullTableMakesRoomForAnyPeerByOneThatIsNotProved) {
  (void)Fill(limits::kPeersMax - 1, PeerOrigin::kKnown);
  PeerCore& unproved = Add("stranger", PeerOrigin::kUnproved);
  ASSERT_TRUE(table_.is_full());
  EXPECT_EQ(table_.MakeRoom(PeerOrigin::kKnown).evicted, &unproved);
  EXPECT_FALSE(table_.is_full());
}

}  // namespace
}  // namespace understudy::internal
