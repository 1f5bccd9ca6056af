// Waiting for room in a mailbox of another node (Channel::SendWhenRoom; semantics 3.9, 7.5): the senders of all nodes
// wait in one queue, and no waiter or reserved room is left behind.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/error.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/room.h"
#include "understudy/actors/task.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/sim/store_actor.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The outcomes of all senders in the order of completion, each with its sender's number.
using Outcomes = std::vector<std::pair<int64_t, absl::Status>>;

// Sends a given number of notes, each when there is room for it.
class Sender final : public Actor {
 public:
  Mailbox<"sender/go", int> go{this};

  Sender(Channel<net_testing::Note> to, int64_t number, absl::Duration timeout, std::shared_ptr<Outcomes> outcomes,
         size_t text_bytes = 0)
      : to_(to), number_(number), timeout_(timeout), outcomes_(std::move(outcomes)), text_bytes_(text_bytes) {}
  StartResult Start() override { return behavior_; }

 private:
  Task<> Go(int times) {
    for (int i = 0; i < times; ++i) {
      net_testing::Note note;
      note.set_number(number_);
      note.set_text(std::string(text_bytes_, 't'));
      auto sending = to_.SendWhenRoom(std::move(note), timeout_);
      absl::Status sent = co_await sending;
      if (!sent.ok()) EXPECT_EQ(std::move(sending).TakeMessage().number(), number_);
      outcomes_->emplace_back(number_, std::move(sent));
    }
  }
  const Channel<net_testing::Note> to_;
  const int64_t number_;
  const absl::Duration timeout_;
  const std::shared_ptr<Outcomes> outcomes_;
  const size_t text_bytes_;
  Behavior behavior_{"sender", On(go, &Sender::Go)};
};

class SendWhenRoomTest : public ::testing::Test {
 protected:
  // Node "home" has the store. The other nodes are "n0", "n1", …; each of them connects only to home.
  void Join(int others, int64_t capacity, absl::Duration pause = absl::ZeroDuration(), uint64_t seed = 1) {
    capacity_ = capacity;
    SimulatedCluster::Options cluster{.seed = seed,
                                      .nodes = {"home"},
                                      .hub = "home",
                                      .bounds = bounds_,
                                      .latency_max = absl::Microseconds(500),
                                      .traces = SimulatedCluster::Options::Traces::kNone};
    for (int i = 0; i < others; ++i) cluster.nodes.push_back(absl::StrCat("n", i));
    cluster_ = std::make_unique<SimulatedCluster>(std::move(cluster));
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->IsJoined(); }, absl::Seconds(10)));
    store_ = cluster_->system("home").Spawn<Store>(handled_, MailboxOptions{.capacity_messages = capacity}, pause);
    Run();
  }
  // Returns the store's mailbox as node `node` addresses it.
  Channel<net_testing::Note> Box(absl::string_view node) {
    if (node == "home") return store_[&Store::box];
    TestSystem& system = cluster_->system(node);
    const NodePlace place = *system.InternPeer("home", cluster_->system("home").incarnation());
    return Ref<Store>(internal::PidAt(place, internal::AddressOf(store_.pid())))[&Store::box];
  }
  // Sends from `node` until no more notes are accepted. Returns how many were accepted.
  int64_t Fill(absl::string_view node) {
    int64_t accepted = 0;
    net_testing::Note note;
    note.set_number(-1);
    for (int refused = 0; refused < 5;) {
      const bool is_sent = Box(node).Send(note).ok();
      accepted += is_sent ? 1 : 0;
      refused = is_sent ? 0 : refused + 1;
      if (!is_sent) Run(absl::Milliseconds(10));
    }
    return accepted;
  }
  Ref<Sender> Start(absl::string_view node, int64_t number, absl::Duration timeout, int times = 1,
                    size_t text_bytes = 0) {
    Ref<Sender> sender = cluster_->system(node).Spawn<Sender>(Box(node), number, timeout, outcomes_, text_bytes);
    sender[&Sender::go].Tell(times);
    Run(absl::Milliseconds(5));
    return sender;
  }
  void Open() {
    store_[&Store::open].Tell(1);
    Run();
  }
  RoomAmount GivenTo(absl::string_view peer) {
    for (const PeerStatus& info : cluster_->core("home").Peers()) {
      if (info.node == peer) return info.credit_given;
    }
    return {};
  }
  // Returns the room in the store's mailbox that is granted to other nodes as credit.
  int64_t Reserved() {
    int64_t messages = 0;
    for (const PeerStatus& info : cluster_->core("home").Peers()) messages += info.credit_given.messages;
    return messages;
  }
  // Returns true if a sender is waiting for room in the store's mailbox.
  bool IsAwaited() {
    const Channel<net_testing::Note> box = Box("home");
    return cluster_->system("home").Reserve({.to = box.pid(), .mailbox = box.mailbox()}).is_awaited;
  }
  // Expects that local senders can use the whole capacity. The store must be open, and no sender may be sending.
  void ExpectNothingIsReserved(absl::string_view node = "n0") {
    Run(kCreditIdle * 3);
    EXPECT_EQ(GivenTo(node), RoomAmount());
    net_testing::Note note;
    int64_t sent = 0;
    while (store_[&Store::box].Send(note).ok()) ++sent;
    EXPECT_EQ(sent, capacity_);
  }
  void Run(absl::Duration duration = absl::Milliseconds(50)) { cluster_->RunFor(duration); }
  std::vector<int64_t> Sent() const {
    std::vector<int64_t> sent;
    for (const auto& [number, status] : *outcomes_) {
      EXPECT_TRUE(status.ok()) << status;
      sent.push_back(number);
    }
    return sent;
  }

  const std::shared_ptr<Store::Handled> handled_ = std::make_shared<Store::Handled>();
  const std::shared_ptr<Outcomes> outcomes_ = std::make_shared<Outcomes>();
  // Sends large notes to another actor of home until the session of n0 has no capacity for more.
  void FillTheSession() {
    const Ref<Store> other = cluster_->system("home").Spawn<Store>(handled_, MailboxOptions{}, absl::ZeroDuration());
    const Ref<Store> seen(internal::PidAt(Box("n0").pid().place(), internal::AddressOf(other.pid())));
    net_testing::Note note;
    note.set_number(-2);
    note.set_text(std::string(kLarge, 't'));
    absl::Status sent;
    while (sent.ok()) sent = seen[&Store::box].Send(note);
    EXPECT_THAT(std::string(sent.message()), HasSubstr("unacknowledged bytes"));
  }

  // Heals the network. Frames on the stalled stream are lost and are sent again on a new stream.
  void HealAndResume() {
    cluster_->network().Heal("n0", "home");
    EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->core("n0").Ledger().waiting == 0; }, absl::Minutes(1)));
  }

  static constexpr size_t kLarge = 15'000;
  ReliableSequence::Bounds bounds_;
  int64_t capacity_ = 0;
  std::unique_ptr<SimulatedCluster> cluster_;
  Ref<Store> store_;
};

TEST_F(SendWhenRoomTest, ASenderOfAnotherNodeWaitsAndIsServedWhenRoomComes) {
  Join(1, 1);
  Fill("home");
  EXPECT_EQ(Fill("n0"), kCreditTerms.first_allowance.messages);
  Start("n0", 7, absl::Hours(1));
  Run(absl::Minutes(10));
  EXPECT_THAT(*outcomes_, IsEmpty());
  EXPECT_TRUE(IsAwaited());
  Open();
  EXPECT_THAT(Sent(), ElementsAre(7));
  EXPECT_EQ((*handled_)[7], 1);
  EXPECT_TRUE(cluster_->core("n0").Ledger().balances());
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, SendersOfAllNodesAreServedInTheOrderInWhichTheyCame) {
  Join(2, 1, absl::Milliseconds(10));
  for (const char* node : {"home", "n0", "n1"}) Fill(node);
  const std::vector<std::string> nodes = {"home", "n0", "n1", "n0", "home", "home", "n1"};
  for (size_t i = 0; i < nodes.size(); ++i) Start(nodes[i], static_cast<int64_t>(i), absl::Hours(1));
  Open();
  Run(absl::Seconds(10));
  EXPECT_THAT(Sent(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

// The parameters are the number of nodes besides home, and the capacity of the mailbox at home to which all send.
class SendWhenRoomFairnessTest : public SendWhenRoomTest,
                                 public ::testing::WithParamInterface<std::pair<int, int64_t>> {
 protected:
  int others() const { return GetParam().first; }
  int64_t capacity() const { return GetParam().second; }
};

INSTANTIATE_TEST_SUITE_P(NodesAndCapacities, SendWhenRoomFairnessTest,
                         ::testing::Values(std::pair(2, 1), std::pair(2, 10), std::pair(2, 1000), std::pair(64, 1),
                                           std::pair(64, 10), std::pair(64, 1000)),
                         [](const auto& param) {
                           return absl::StrCat(param.param.first, "Nodes", "Capacity", param.param.second);
                         });

TEST_P(SendWhenRoomFairnessTest, EachOfNSendersGetsAtLeastHalfOfItsNthPartOverASecond) {
  Join(others(), capacity(), absl::Microseconds(400));
  Open();
  // Local senders and senders of other nodes wait in the same queue.
  std::vector<std::string> nodes = {"home", "home"};
  for (int i = 0; i < others(); ++i) nodes.push_back(absl::StrCat("n", i));
  for (size_t i = 0; i < nodes.size(); ++i) {
    Start(nodes[i], static_cast<int64_t>(i), absl::Minutes(1), /*times=*/1'000'000);
  }
  // First let the store handle the messages that were admitted by first allowances, and the messages that filled the
  // mailbox before all senders had started.
  Run(absl::Milliseconds(500));
  handled_->clear();
  Run(absl::Seconds(1));
  int64_t sum = 0;
  for (const auto& [number, count] : *handled_) sum += count;
  EXPECT_GE(sum, 20 * static_cast<int64_t>(nodes.size()));
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_GE((*handled_)[static_cast<int64_t>(i)] * 2 * static_cast<int64_t>(nodes.size()), sum)
        << "sender " << i << " of " << nodes[i];
  }
}

// Other nodes hold at least half of the mailbox's capacity as unused credit when a sender wants room.
TEST_P(SendWhenRoomFairnessTest, NodesThatHoldCreditAndAreIdleDelayNobody) {
  for (const std::string who : {"home", "n0"}) {
    outcomes_->clear();
    Join(others(), capacity());
    Open();
    // A node's credit window grows with use, so one node after the other sends until they hold enough credit.
    for (int i = 1, round = 0; i < others() && Reserved() * 2 < capacity(); i += ++round % 8 == 0 ? 1 : 0) {
      const Channel<net_testing::Note> box = Box(absl::StrCat("n", i));
      while (box.Send(net_testing::Note()).ok()) {
      }
      Run(absl::Milliseconds(4));
    }
    ASSERT_GE(Reserved() * 2, capacity());
    store_[&Store::close].Tell(1);
    Run(absl::Milliseconds(1));
    const int64_t allowance = who == "home" ? 0 : kCreditTerms.first_allowance.messages;
    Start(who, 7, absl::Hours(1), static_cast<int>(capacity() + allowance));
    Run(kCreditIdle / 10);
    EXPECT_EQ(Sent().size(), static_cast<size_t>(capacity() + allowance)) << "sent from " << who;
  }
}

TEST_F(SendWhenRoomTest, SendersBeyondTheBytesOfAMailboxWaitAndAllAreServed) {
  Join(1, 1000, absl::Milliseconds(1));
  constexpr int64_t kSenders = 40;
  constexpr size_t kBytesEach = size_t{1} << 20;
  for (int64_t i = 0; i < kSenders; ++i) {
    cluster_->system("n0").Spawn<Sender>(Box("n0"), i, absl::Hours(1), outcomes_, kBytesEach)[&Sender::go].Tell(1);
  }
  Run(absl::Minutes(1));
  EXPECT_GE(outcomes_->size(), 15U);
  EXPECT_LE(outcomes_->size(), 17U) << "16 MiB fit the mailbox, and the first allowance admits one more";
  Open();
  Run(absl::Minutes(1));
  EXPECT_THAT(Sent(), SizeIs(kSenders));
  for (int64_t i = 0; i < kSenders; ++i) EXPECT_EQ((*handled_)[i], 1);
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, AMessageWithMoreBytesThanTheMailboxHasRoomForWaitsUntilItIsEmpty) {
  Join(1, 10);
  Fill("home");
  Fill("n0");  // uses up the first allowance, which would admit a message of any size
  cluster_->system("n0").Spawn<Sender>(Box("n0"), 7, absl::Hours(1), outcomes_, size_t{20} << 20)[&Sender::go].Tell(1);
  Run(absl::Minutes(1));
  EXPECT_THAT(*outcomes_, IsEmpty());
  Open();
  Run(absl::Minutes(1));
  EXPECT_THAT(Sent(), ElementsAre(7));
  EXPECT_EQ((*handled_)[7], 1);
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, AWaitThatExpiresLeavesNothingReserved) {
  Join(1, 1);
  Fill("home");
  Fill("n0");
  Start("n0", 7, absl::Seconds(1));
  Run(absl::Seconds(2));
  ASSERT_THAT(*outcomes_, SizeIs(1));
  EXPECT_TRUE(IsExpired(outcomes_->front().second)) << outcomes_->front().second;
  EXPECT_FALSE(IsAwaited());
  Open();
  EXPECT_EQ((*handled_)[7], 0);
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, GrantsThatCrossTheirDeadlinesAreReturned) {
  int64_t expired = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    outcomes_->clear();
    handled_->clear();
    Join(1, 1, absl::Milliseconds(3), seed);
    Fill("home");
    Fill("n0");
    Random random(seed);
    Open();
    for (int64_t i = 0; i < 6; ++i) Start("n0", i, absl::Microseconds(2000 + random.Below(20'000)), /*times=*/50);
    Run(absl::Seconds(20));
    int64_t sent = 0;
    for (const auto& [number, status] : *outcomes_) {
      EXPECT_TRUE(status.ok() || IsExpired(status)) << status;
      sent += status.ok() ? 1 : 0;
      expired += status.ok() ? 0 : 1;
    }
    EXPECT_THAT(*outcomes_, SizeIs(300));
    int64_t handled = 0;
    for (int64_t i = 0; i < 6; ++i) handled += (*handled_)[i];
    EXPECT_EQ(handled, sent) << "seed " << seed;
    ExpectNothingIsReserved();
  }
  EXPECT_GT(expired, 100);
}

TEST_F(SendWhenRoomTest, TheEndOfTheReceiverIsToldAtOnce) {
  Join(1, 1);
  Fill("home");
  Fill("n0");
  Start("n0", 7, absl::Hours(1));
  cluster_->system("home").Kill(store_.pid());
  Run();
  ASSERT_THAT(*outcomes_, SizeIs(1));
  EXPECT_TRUE(IsNoProcess(outcomes_->front().second)) << outcomes_->front().second;
  EXPECT_EQ(GivenTo("n0"), RoomAmount());
}

TEST_F(SendWhenRoomTest, TheEndOfTheSessionIsNoConnection) {
  Join(1, 1);
  Fill("home");
  Fill("n0");
  Start("n0", 7, absl::Hours(1));
  cluster_->Crash("home");
  Run(absl::Minutes(2));
  ASSERT_THAT(*outcomes_, SizeIs(1));
  EXPECT_TRUE(IsNoConnection(outcomes_->front().second)) << outcomes_->front().second;
}

TEST_F(SendWhenRoomTest, ASenderWhoseNodeIsLostLeavesTheLine) {
  Join(1, 3);
  Fill("home");
  Fill("n0");
  for (int64_t i = 0; i < 3; ++i) Start("n0", i, absl::Hours(1));
  EXPECT_TRUE(IsAwaited());
  cluster_->Crash("n0");
  Run(absl::Minutes(2));
  EXPECT_FALSE(IsAwaited());
  Start("home", 7, absl::Hours(1));
  Open();
  EXPECT_THAT(Sent(), ElementsAre(7));
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, SendersWaitForTheSessionsOwnRoomTooAndAreServedInOrder) {
  bounds_.message_bytes_max = 2 * kLarge;
  Join(1, 3);
  Open();
  cluster_->network().PartitionOneWay("n0", "home");
  FillTheSession();
  for (const int64_t sender : {7, 8, 9}) Start("n0", sender, absl::Hours(1), /*times=*/1, kLarge);
  EXPECT_THAT(*outcomes_, IsEmpty());
  HealAndResume();
  Run(absl::Seconds(1));
  EXPECT_THAT(Sent(), ElementsAre(7, 8, 9));
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, OneThatHasRoomInItsMailboxWaitsForTheSessions) {
  bounds_.message_bytes_max = 2 * kLarge;
  Join(1, 1);
  Fill("home");
  Fill("n0");
  Start("n0", 7, absl::Hours(1), /*times=*/1, kLarge);
  ASSERT_TRUE(IsAwaited());
  cluster_->network().PartitionOneWay("n0", "home");
  FillTheSession();
  Open();
  EXPECT_FALSE(IsAwaited());
  EXPECT_THAT(*outcomes_, IsEmpty());
  HealAndResume();
  Run(absl::Seconds(1));
  EXPECT_THAT(Sent(), ElementsAre(7));
  EXPECT_EQ((*handled_)[7], 1);
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, OneThatWaitsForTheSessionsRoomIsToldOfItsDeadlineAndOfTheSessionsEnd) {
  bounds_.message_bytes_max = 2 * kLarge;
  Join(1, 3);
  Fill("home");
  Fill("n0");
  Start("n0", 7, absl::Seconds(1), /*times=*/1, kLarge);
  Start("n0", 8, absl::Hours(1), /*times=*/1, kLarge);
  cluster_->network().PartitionOneWay("n0", "home");
  FillTheSession();
  Open();
  EXPECT_FALSE(IsAwaited());
  Run(absl::Seconds(2));
  ASSERT_THAT(*outcomes_, SizeIs(1));
  EXPECT_TRUE(IsExpired(outcomes_->front().second)) << outcomes_->front().second;
  Run(absl::Minutes(1));
  ASSERT_THAT(*outcomes_, SizeIs(2));
  EXPECT_TRUE(IsNoConnection(outcomes_->back().second)) << outcomes_->back().second;
  cluster_->network().Heal("n0", "home");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->IsJoined(); }, absl::Minutes(1)));
  EXPECT_EQ((*handled_)[7] + (*handled_)[8], 0);
  ExpectNothingIsReserved();
}

TEST_F(SendWhenRoomTest, ASenderThatEndsLeavesTheLine) {
  Join(1, 1);
  Fill("home");
  Fill("n0");
  Ref<Sender> sender = Start("n0", 7, absl::Hours(1));
  cluster_->system("n0").Kill(sender.pid());
  Run();
  EXPECT_FALSE(IsAwaited());
  Open();
  EXPECT_THAT(*outcomes_, IsEmpty());
  EXPECT_EQ((*handled_)[7], 0);
  ExpectNothingIsReserved();
}

}  // namespace
}  // namespace understudy
