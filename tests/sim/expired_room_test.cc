// Messages that expire in a closed mailbox, and calls that are cancelled there, give their room back as soon as a
// sender on this or another node wants room (semantics 3.9, 7.5). Otherwise they would stay in the mailbox until it
// opens.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Query = Call<net_testing::Note, net_testing::Answer>;
constexpr int64_t kCapacity = 8;

// An actor that never opens its mailboxes.
class Closed final : public Actor {
 public:
  Mailbox<"closed/note", net_testing::Note> note{this,
                                                 {.capacity_messages = kCapacity, .time_to_live = absl::Seconds(1)}};
  Mailbox<"closed/query", Query> query{this, {.capacity_messages = kCapacity}};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

using Outcomes = std::vector<absl::Status>;

// Sends one call, or one note as soon as there is room for it, and records the outcome.
class Client final : public Actor {
 public:
  Mailbox<"client/ask", absl::Duration> ask{this};
  Mailbox<"client/send", absl::Duration> send{this};

  Client(Ref<Closed> to, std::shared_ptr<Outcomes> outcomes) : to_(to), outcomes_(std::move(outcomes)) {}
  StartResult Start() override { return behavior_; }

 private:
  Task<> Ask(absl::Duration timeout) {
    auto asking = to_[&Closed::query].Ask(net_testing::Note(), timeout);
    const absl::StatusOr<net_testing::Answer> answer = co_await asking;
    outcomes_->push_back(answer.status());
  }
  Task<> Send(absl::Duration timeout) {
    auto sending = to_[&Closed::note].SendWhenRoom(net_testing::Note(), timeout);
    const absl::Status sent = co_await sending;
    outcomes_->push_back(sent);
  }
  const Ref<Closed> to_;
  const std::shared_ptr<Outcomes> outcomes_;
  Behavior behavior_{"client", On(ask, &Client::Ask), On(send, &Client::Send)};
};

class ExpiredRoomTest : public ::testing::Test {
 protected:
  // The actor with the mailboxes is on node "home".
  ExpiredRoomTest() : cluster_({.nodes = {"home", "n0", "n1"}, .hub = "home"}) {
    EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.IsJoined(); }, absl::Seconds(10)));
    closed_ = cluster_.system("home").Spawn<Closed>();
    Run();
  }
  // Returns the actor as node `node` addresses it.
  Ref<Closed> At(absl::string_view node) {
    if (node == "home") return closed_;
    const NodePlace place = *cluster_.system(node).InternPeer("home", cluster_.system("home").incarnation());
    return Ref<Closed>(internal::PidAt(place, internal::AddressOf(closed_.pid())));
  }
  Ref<Client> NewClient(absl::string_view node, const std::shared_ptr<Outcomes>& outcomes) {
    return cluster_.system(node).Spawn<Client>(At(node), outcomes);
  }
  // Sends calls from `node` until no more are accepted. Returns the clients whose calls were accepted.
  std::vector<Ref<Client>> FillWithQueries(absl::string_view node, absl::Duration timeout) {
    std::vector<Ref<Client>> askers;
    for (int refused = 0; refused < 5;) {
      const auto outcomes = std::make_shared<Outcomes>();
      const Ref<Client> asker = NewClient(node, outcomes);
      asker[&Client::ask].Tell(timeout);
      Run();
      if (outcomes->empty()) askers.push_back(asker);
      refused = outcomes->empty() ? 0 : refused + 1;
      for (const absl::Status& outcome : *outcomes) EXPECT_TRUE(IsFull(outcome)) << outcome;
    }
    return askers;
  }
  // Sends a call from a new client on n0. Returns its outcome if it is refused at once; empty if it was accepted.
  Outcomes AskFromN0() {
    const auto outcomes = std::make_shared<Outcomes>();
    NewClient("n0", outcomes)[&Client::ask].Tell(absl::Hours(1));
    Run();
    return *outcomes;
  }
  // Sends notes from `node` until no more are accepted. Returns how many were accepted.
  int64_t FillWithNotes(absl::string_view node) {
    int64_t accepted = 0;
    for (int refused = 0; refused < 5;) {
      const bool is_sent = At(node)[&Closed::note].Send(net_testing::Note()).ok();
      accepted += is_sent ? 1 : 0;
      refused = is_sent ? 0 : refused + 1;
      if (!is_sent) Run();
    }
    return accepted;
  }
  void Run(absl::Duration duration = absl::Milliseconds(20)) { cluster_.RunFor(duration); }

  SimulatedCluster cluster_;
  Ref<Closed> closed_;
};

TEST_F(ExpiredRoomTest, NotesThatHaveExpiredGiveTheirRoomToANodeThatFoundNone) {
  EXPECT_EQ(FillWithNotes("home"), kCapacity);
  EXPECT_EQ(FillWithNotes("n0"), kCreditTerms.first_allowance.messages)
      << "the first allowance is in addition to the capacity";
  Run(absl::Seconds(2));
  EXPECT_GT(FillWithNotes("n0"), 0);
}

TEST_F(ExpiredRoomTest, NotesThatHaveExpiredGiveTheirRoomToASenderThatWaits) {
  EXPECT_EQ(FillWithNotes("home"), kCapacity);
  Run(absl::Seconds(2));
  const auto outcomes = std::make_shared<Outcomes>();
  NewClient("home", outcomes)[&Client::send].Tell(absl::Minutes(1));
  Run();
  EXPECT_THAT(*outcomes, ElementsAre(absl::OkStatus()));
}

TEST_F(ExpiredRoomTest, NotesThatHaveExpiredGiveTheirRoomToASenderOfAnotherNodeThatWaits) {
  EXPECT_EQ(FillWithNotes("home"), kCapacity);
  EXPECT_EQ(FillWithNotes("n0"), kCreditTerms.first_allowance.messages);
  Run(absl::Seconds(2));
  const auto outcomes = std::make_shared<Outcomes>();
  // More senders wait than the first allowance admits when its notes have expired, so some of them need room.
  for (int i = 0; i < 3; ++i) NewClient("n0", outcomes)[&Client::send].Tell(absl::Minutes(1));
  Run(absl::Seconds(1));
  EXPECT_THAT(*outcomes, ElementsAre(absl::OkStatus(), absl::OkStatus(), absl::OkStatus()));
}

// More senders wait than the mailbox can hold. The first room comes from messages that were in the mailbox before the
// senders began to wait; later room comes from messages that were admitted while others were waiting, either from a
// sender on the same node or by credit of another node.
TEST_F(ExpiredRoomTest, NotesThatExpireWhileSendersWaitGiveTheirRoomToThemInTime) {
  for (const char* const waits : {"home", "n0"}) {
    SCOPED_TRACE(waits);
    EXPECT_EQ(FillWithNotes("home"), kCapacity);
    if (waits != absl::string_view("home")) EXPECT_EQ(FillWithNotes(waits), kCreditTerms.first_allowance.messages);
    const auto outcomes = std::make_shared<Outcomes>();
    for (int i = 0; i < 3 * kCapacity; ++i) NewClient(waits, outcomes)[&Client::send].Tell(absl::Minutes(1));
    Run(absl::Milliseconds(600));
    EXPECT_THAT(*outcomes, IsEmpty());
    for (int64_t served = kCapacity; served <= 3 * kCapacity; served += kCapacity) {
      Run(absl::Seconds(1));
      EXPECT_THAT(*outcomes, SizeIs(served));
    }
    EXPECT_THAT(*outcomes, Each(absl::OkStatus()));
    Run(absl::Seconds(2));
  }
}

// Node n1 is paused, so it cannot cancel its calls when they expire.
TEST_F(ExpiredRoomTest, CallsOfANodeThatIsSilentGiveTheirRoomToAnotherNodeWhenTheyHaveExpired) {
  FillWithQueries("n1", absl::Seconds(5));
  FillWithQueries("home", absl::Hours(1));
  FillWithQueries("n0", absl::Hours(1));
  cluster_.Pause("n1");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(AskFromN0(), ElementsAre(::testing::Truly(IsFull)));
  Run(absl::Seconds(6));
  // The first call that is refused makes home look for expired calls. The second makes home grant the room it found.
  for (int i = 0; i < 2; ++i) EXPECT_THAT(AskFromN0(), ElementsAre(::testing::Truly(IsFull)));
  EXPECT_THAT(AskFromN0(), IsEmpty()) << "the call was accepted";
  EXPECT_EQ(cluster_.core("home").Peers()[1].node, "n1");
  EXPECT_TRUE(cluster_.core("home").Peers()[1].is_live) << "the end of the session would have cancelled the calls";
}

TEST_F(ExpiredRoomTest, CallsThatAreCancelledGiveTheirRoomToANodeThatFoundNone) {
  for (const char* const cancels : {"home", "n1"}) {
    SCOPED_TRACE(cancels);
    const std::vector<Ref<Client>> askers = FillWithQueries(cancels, absl::Hours(1));
    FillWithQueries("home", absl::Hours(1));
    FillWithQueries("n0", absl::Hours(1));
    for (int i = 0; i < 3; ++i) EXPECT_THAT(AskFromN0(), ElementsAre(::testing::Truly(IsFull)));
    for (const Ref<Client>& asker : askers) cluster_.system(cancels).Kill(asker.pid());
    Run();
    // The first calls that are refused make home look for cancelled calls and grant the room that it found.
    bool is_taken = false;
    for (int i = 0; i < 3 && !is_taken; ++i) is_taken = AskFromN0().empty();
    EXPECT_TRUE(is_taken);
  }
}

}  // namespace
}  // namespace understudy
