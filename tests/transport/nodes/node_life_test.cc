// How a node starts and drains, and that user code which it calls and which does not return holds up no peer.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/tests/transport/nodes/site.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/node.h"
#include "understudy/transport/node_status.h"

namespace understudy {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Delays the end of its system: after its parent's exit it lives until `linger` has passed or it is told to go.
class Lingerer final : public Actor {
 public:
  struct Go {};
  Mailbox<"Go", Go> go{this};

  Lingerer(absl::Duration linger, std::shared_ptr<Latch<bool>> told) : linger_(linger), told_(std::move(told)) {}
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {}, &Lingerer::ParentExit);
    return living_;
  }

 private:
  void ParentExit(const ExitEvent&) {
    told_->Set(true);
    if (!context().StartTimer("go", linger_, [this](const TimerEvent&) { context().Stop(); }).ok()) context().Stop();
  }
  const absl::Duration linger_;
  const std::shared_ptr<Latch<bool>> told_;
  Behavior living_{"living", On(go, [this](const Go&) { context().Stop(); })};
};

TEST(NodeStart, AFailedStartLeavesTheSystemAndItsActorsAsTheyWere) {
  Site taken("taken");
  ActorSystem system({.name = "ledger"});
  const EchoRef echo = system.Spawn<Echo>("ledger");
  ASSERT_TRUE(Say(system, echo, "before").ok());
  for (const NodeOptions& options :
       {NodeOptions{.listen = taken.node->address()}, NodeOptions{.peers = {{"house-1", "nowhere"}}},
        NodeOptions{.peers = {{"house-1", "127.0.0.1:1"}, {"ledger", "127.0.0.1:1"}}}}) {
    EXPECT_FALSE(Node::Start(system, options).ok());
    EXPECT_TRUE(Say(system, echo, "after").ok());
  }
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  ASSERT_TRUE(node.ok()) << node.status();
  system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  Site house("house-1", {.peers = {{"ledger", (*node)->address()}}});
  EXPECT_TRUE(Say(house.system, Find(house.system, "ledger/echo"), "hello").ok());
}

TEST(NodeStart, ASecondNodeOfASystemIsRefusedAndTheFirstGoesOn) {
  Site ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  const EchoRef echo = Find(house.system, "ledger/echo");
  EXPECT_EQ(Node::Start(house.system).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Say(house.system, echo, "hello").ok());
}

TEST(NodeState, ANodeStartsIsReadyAndDrains) {
  Site ledger("ledger");
  EXPECT_EQ(ledger.node->state(), NodeState::kStarting);
  ledger.node->Ready();
  EXPECT_EQ(ledger.node->state(), NodeState::kReady);
  auto told = std::make_shared<Latch<bool>>();
  const auto lingerer = ledger.system.Spawn<Lingerer>(kDeadline, told);
  std::thread draining([&] { EXPECT_EQ(ledger.node->Drain(kDeadline + kDeadline), 0); });
  told->Wait();
  EXPECT_EQ(ledger.node->state(), NodeState::kDraining);
  ledger.node->Ready();
  EXPECT_EQ(ledger.node->state(), NodeState::kDraining);
  lingerer[&Lingerer::go].Tell({});
  draining.join();
  EXPECT_EQ(ledger.node->state(), NodeState::kDraining);
}

TEST(NodeState, AWatchIsToldOfThePresentStateAndOfEachLaterOne) {
  Site ledger("ledger");
  std::vector<NodeState> told;
  ledger.node->WatchState([&](NodeState state) { told.push_back(state); });
  int calls = 0;
  const uint64_t forgotten = ledger.node->WatchState([&](NodeState) { ++calls; });
  ledger.node->UnwatchState(forgotten);
  EXPECT_EQ(calls, 1);
  ledger.node->Ready();
  ledger.node->Ready();
  EXPECT_THAT(told, ElementsAre(NodeState::kStarting, NodeState::kReady));
  // Before the first step of a drain.
  ledger.node->DrainFirst([&](absl::Duration) { EXPECT_THAT(told, ElementsAre(_, _, NodeState::kDraining)); });
  EXPECT_EQ(ledger.node->Drain(kDeadline), 0);
  ledger.node->Ready();
  EXPECT_THAT(told, SizeIs(3));
  std::vector<NodeState> late;
  ledger.node->WatchState([&](NodeState state) { late.push_back(state); });
  EXPECT_THAT(late, ElementsAre(NodeState::kDraining));
  EXPECT_EQ(calls, 1);
}

TEST(NodeDrain, ANegativeTimeCountsAsZero) {
  Site ledger("ledger");
  EXPECT_EQ(ledger.node->Drain(-absl::Hours(1)), 0) << "there is no actor to kill";
}

TEST(NodeDrain, TwoDrainsAtOnceBothWaitForTheEndAndReturnTheSame) {
  Site ledger("ledger");
  auto told = std::make_shared<Latch<bool>>();
  ledger.system.Spawn<Lingerer>(absl::Milliseconds(200), told);
  int first = -1;
  std::thread other([&] { first = ledger.node->Drain(kDeadline); });
  told->Wait();
  EXPECT_EQ(ledger.node->Drain(kDeadline), 0);
  EXPECT_EQ(ledger.system.live_actors(), 0);
  other.join();
  EXPECT_EQ(first, 0);
}

TEST(NodeDrain, ANodeListensUntilItsSessionsHaveLeft) {
  Site ledger("ledger");
  Site house("house-1", {.listen = "", .peers = {{"ledger", ledger.node->address()}}});
  house.log.WaitFor(PeerEvent::Kind::kUp);
  auto told = std::make_shared<Latch<bool>>();
  const auto lingerer = ledger.system.Spawn<Lingerer>(kDeadline, told);
  std::thread draining([&] { EXPECT_EQ(ledger.node->Drain(kDeadline + kDeadline), 0); });
  told->Wait();
  house.cutter.CutAll();
  house.log.WaitFor(PeerEvent::Kind::kResumed);  // only house-1 dials
  EXPECT_FALSE(house.log.Has(PeerEvent::Kind::kEnded));
  lingerer[&Lingerer::go].Tell({});
  house.log.WaitFor(PeerEvent::Kind::kEnded);
  draining.join();
}

// A node whose log is kept.
struct LoggedSite {
  LoggedSite() {
    absl::StatusOr<std::unique_ptr<Node>> started = Node::Start(system);
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) node = *std::move(started);
  }

  KeptLog log;
  ActorSystem system{{.name = "ledger", .log = &log}};
  std::unique_ptr<Node> node;
};

TEST(NodeDrain, ItsBeginAndItsEndAreLinesOfTheLog) {
  LoggedSite site;
  const EchoRef echo = site.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "");
  ASSERT_TRUE(site.system.AwaitStart(echo.pid(), kDeadline).ok());
  EXPECT_EQ(site.node->Drain(kDeadline), 0);
  EXPECT_THAT(
      site.log.lines(),
      ElementsAre("node ledger drains within 30s (actors: 1, names in the cluster: 1, unanswered calls of peers: 0)",
                  MatchesRegex("node ledger has drained in .*: its actors ended within 30s")));
  EXPECT_EQ(site.node->Drain(kDeadline), 0);
  EXPECT_THAT(site.log.lines(), SizeIs(2)) << "it drains once";
}

TEST(NodeDrain, TheLogSaysWhetherItsTimeWasOver) {
  {
    LoggedSite site;
    const auto lingerer = site.system.Spawn<Lingerer>(kDeadline, std::make_shared<Latch<bool>>());
    ASSERT_TRUE(site.system.AwaitStart(lingerer.pid(), kDeadline).ok());
    EXPECT_EQ(site.node->Drain(absl::ZeroDuration()), 1);
    EXPECT_THAT(site.log.lines(), Contains(HasSubstr("drains within 0 (actors: 1,")));
    EXPECT_THAT(site.log.lines(),
                Contains(EndsWith(": its time of 0 was over, and the actors that were left were killed")));
  }
  LoggedSite site;
  const SpawnOptions brief{.shutdown_within = absl::Milliseconds(1)};
  const auto lingerer = site.system.Spawn<Lingerer>(brief, kDeadline, std::make_shared<Latch<bool>>());
  ASSERT_TRUE(site.system.AwaitStart(lingerer.pid(), kDeadline).ok());
  EXPECT_EQ(site.node->Drain(kDeadline), 1);
  EXPECT_THAT(site.log.lines(), Contains(EndsWith(": its actors ended within 30s, but one was killed because it "
                                                  "exceeded a shorter limit of its own")));
}

// Blocks each thread that writes to it until the test calls go_on.Notify().
class BlockingSink final : public LogSink {
 public:
  void Put(const LogLine&) override { go_on.WaitForNotification(); }
  absl::Notification go_on;
};

TEST(NodeUserCode, ALogSinkThatDoesNotReturnHoldsUpNoPeer) {
  Site ledger("ledger");
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  BlockingSink sink;
  ActorSystem system({.name = "house-1", .log = &sink});
  const absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.peers = {{"ledger", ledger.node->address()}, {"nobody", "127.0.0.1:1"}}});
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(Say(system, Find(system, "ledger/echo"), "hello").ok());
  sink.go_on.Notify();
}

TEST(NodeUserCode, ADeadLetterListenerThatDoesNotReturnHoldsUpNoPeer) {
  Site ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  const EchoRef gone = ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/gone"}, "ledger");
  const EchoRef echo = Find(house.system, "ledger/echo");
  const EchoRef known = Find(house.system, "ledger/gone");
  ledger.system.Kill(gone.pid());
  ASSERT_TRUE(ledger.system.AwaitEnd(gone.pid(), kDeadline).ok());
  absl::Notification told;
  absl::Notification go_on;
  const uint64_t listener = house.system.SubscribeDeadLetters([&](const DeadLetter&) {
    if (!told.HasBeenNotified()) told.Notify();
    go_on.WaitForNotification();
  });
  known.fail().Tell(Echo::Text());
  ASSERT_TRUE(told.WaitForNotificationWithTimeout(kDeadline));
  EXPECT_TRUE(Say(house.system, echo, "hello").ok());
  go_on.Notify();
  house.system.UnsubscribeDeadLetters(listener);
}

}  // namespace
}  // namespace understudy
