// Unhandled mail of a child on another node: the child's next life gets the mail if it starts on the same node.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox_options.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"
#include "understudy/transport/child_host.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kSoon = absl::Seconds(5);
// Long enough for a crashed node to count as lost and for its children to be started on another node.
constexpr absl::Duration kLost = absl::Minutes(2);

// Lives: the state that all lives of the clerk share.
struct Lives {
  std::vector<std::string> handled;  // "worker-1: 7"
  bool is_open = false;
  bool declines = false;
  int starts_that_fail = 0;
};

class Clerk final : public Actor {
 public:
  Clerk(std::string node, std::shared_ptr<Lives> lives) : node_(std::move(node)), lives_(std::move(lives)) {}
  Mailbox<"order", int> order{this, {.on_restart = OnRestart::kKeep}};
  StartResult Start() override {
    if (std::exchange(lives_->declines, false)) return StartResult::Ignore();
    if (lives_->starts_that_fail > 0) {
      --lives_->starts_that_fail;
      return absl::UnavailableError("not yet");
    }
    if (!lives_->is_open) close_ = context().Close(order);
    return open_;
  }

 private:
  void Handle(int n) { lives_->handled.push_back(absl::StrCat(node_, ": ", n)); }

  const std::string node_;
  const std::shared_ptr<Lives> lives_;
  ScopedClose close_;
  Behavior open_{"open", On(order, &Clerk::Handle)};
};

class NodeUnhandledMailTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.IsJoined(); }, absl::Seconds(30)));
    for (const char* node : {"worker-1", "worker-2"}) {
      ActorFactories factories;
      factories.Add(
          "clerk", [node, lives = lives_]() -> std::unique_ptr<Actor> { return std::make_unique<Clerk>(node, lives); });
      cluster_.system(node).Spawn(HostChildren(factories));
    }
    Run();
  }
  void Launch() {
    life_ = std::make_shared<RootLife>();
    system().Spawn<Launcher>(
        OneForOne()
            .Intensity(100, absl::Seconds(1))
            .Child("clerk",
                   Remote(OnAnyOf({"worker-1", "worker-2"}), "clerk").Backoff({.min = absl::Seconds(1), .jitter = 0})),
        life_);
    Run();
  }
  TestSystem& system() { return cluster_.system("house"); }
  SupervisorRef root() { return SupervisorRef(life_->pid()); }
  ChildInfo Child() {
    const auto children = system().Ask(root().which_children(), {}, kSoon);
    return children.ok() && !children->children.empty() ? children->children[0] : ChildInfo();
  }
  // Returns the clerk with a pid that is local to its node `node`.
  Ref<Clerk> AtHome(const std::string& node) {
    const Pid pid = Child().pid;
    return Ref<Clerk>(internal::PidAt(cluster_.system(node).node(), internal::AddressOf(pid)));
  }
  void Order(const std::vector<int>& orders) {
    for (const int n : orders) AtHome("worker-1")[&Clerk::order].Tell(n);
    Run();
  }
  void Crash() {
    cluster_.system("worker-1").Exit(AtHome("worker-1").pid(), ExitReason::Failed(absl::DataLossError("disk")));
    Run();
  }
  int64_t LostOn(const std::string& node) {
    int64_t lost = 0;
    for (const MailboxLedger& ledger : cluster_.system(node).MailboxLedgers()) {
      if (ledger.mailbox == "order")
        lost += ledger.messages.dispositions[static_cast<size_t>(Disposition::kDeadLetter)];
    }
    return lost;
  }
  void Run(absl::Duration time = absl::Milliseconds(100)) { cluster_.RunFor(time); }

  const std::shared_ptr<Lives> lives_ = std::make_shared<Lives>();
  std::shared_ptr<RootLife> life_;
  SimulatedCluster cluster_{{.seed = GetParam(), .nodes = {"house", "worker-1", "worker-2"}}};
};
INSTANTIATE_TEST_SUITE_P(Seeds, NodeUnhandledMailTest, ::testing::Range<uint64_t>(1, 21));

TEST_P(NodeUnhandledMailTest, ARestartedChildHasWhatWaitedOnItsNode) {
  Launch();
  Order({1, 2});
  lives_->is_open = true;
  Crash();
  EXPECT_THAT(lives_->handled, ElementsAre("worker-1: 1", "worker-1: 2"));
  Order({3});
  EXPECT_THAT(lives_->handled, ElementsAre("worker-1: 1", "worker-1: 2", "worker-1: 3"));
  EXPECT_EQ(LostOn("worker-1"), 0);
}

TEST_P(NodeUnhandledMailTest, ItWaitsForTheStartThatSucceedsAndForItsTime) {
  Launch();
  Order({1, 2});
  lives_->is_open = true;
  lives_->starts_that_fail = 3;
  Crash();
  EXPECT_THAT(lives_->handled, IsEmpty());
  Run(absl::Seconds(20));
  EXPECT_THAT(lives_->handled, ElementsAre("worker-1: 1", "worker-1: 2"));
}

TEST_P(NodeUnhandledMailTest, AStoppedChildAndOneThatDeclinedHaveItWhenTheyAreStartedAgain) {
  Launch();
  Order({1});
  lives_->declines = true;
  Crash();
  EXPECT_EQ(Child().state, ChildState::kStopped);
  ASSERT_TRUE(system().Ask(root().restart_child(), {"clerk"}, kSoon).ok());
  Order({2});
  ASSERT_TRUE(system().Ask(root().terminate_child(), {"clerk"}, kSoon).ok());
  Run(kLost);
  lives_->is_open = true;
  ASSERT_TRUE(system().Ask(root().restart_child(), {"clerk"}, kSoon).ok());
  Run();
  EXPECT_THAT(lives_->handled, ElementsAre("worker-1: 1", "worker-1: 2"));
}

TEST_P(NodeUnhandledMailTest, AForgottenChildHasNoSuccessor) {
  Launch();
  Order({1, 2});
  ASSERT_TRUE(system().Ask(root().terminate_child(), {"clerk"}, kSoon).ok());
  EXPECT_EQ(LostOn("worker-1"), 0) << "a terminated child may be started again, so its mail is kept";
  ASSERT_TRUE(system().Ask(root().delete_child(), {"clerk"}, kSoon).ok());
  Run();
  EXPECT_EQ(LostOn("worker-1"), 2);
  lives_->is_open = true;
  const StartChild again{Remote(OnNode("worker-1"), "clerk").Spec("clerk")};
  ASSERT_TRUE(system().Ask(root().start_child(), again, kSoon).ok());
  Run();
  EXPECT_THAT(lives_->handled, IsEmpty());
}

TEST_P(NodeUnhandledMailTest, OnAnotherNodeItsNextLifeHasNothingAndTheMessagesAreDeadLetters) {
  Launch();
  Order({1, 2});
  const SupervisorRef old_root = root();
  ASSERT_TRUE(system().Ask(old_root.terminate_child(), {"clerk"}, kSoon).ok());
  // The partition separates worker-1 from the house, so the child can only start on the other worker.
  cluster_.network().Partition("house", "worker-1");
  Run(kLost);
  lives_->is_open = true;
  ASSERT_TRUE(system().Ask(old_root.restart_child(), {"clerk"}, kSoon).ok());
  cluster_.network().Heal("house", "worker-1");
  Run(kLost);
  EXPECT_THAT(lives_->handled, IsEmpty());
  EXPECT_EQ(LostOn("worker-1"), 2);
}

TEST_P(NodeUnhandledMailTest, AtTheEndOfItsSupervisorAndOfTheSupervisorsNodeItIsDeadLetters) {
  Launch();
  Order({1, 2});
  ASSERT_TRUE(system().Ask(root().terminate_child(), {"clerk"}, kSoon).ok());
  system().Kill(root().pid());
  Run();
  EXPECT_EQ(LostOn("worker-1"), 2);
  Launch();
  Order({3});
  ASSERT_TRUE(system().Ask(root().terminate_child(), {"clerk"}, kSoon).ok());
  cluster_.Crash("house");
  Run(kLost);
  EXPECT_EQ(LostOn("worker-1"), 3);
}

TEST_P(NodeUnhandledMailTest, OneThatIsKilledByItsSupervisorLeavesNothing) {
  Launch();
  ASSERT_TRUE(system().Ask(root().terminate_child(), {"clerk"}, kSoon).ok());
  ASSERT_TRUE(system().Ask(root().delete_child(), {"clerk"}, kSoon).ok());
  const StartChild brutal{Remote(OnNode("worker-1"), "clerk").BrutalKill().Spec("clerk")};
  ASSERT_TRUE(system().Ask(root().start_child(), brutal, kSoon).ok());
  Order({1, 2});
  ASSERT_TRUE(system().Ask(root().terminate_child(), {"clerk"}, kSoon).ok());
  Run();
  EXPECT_EQ(LostOn("worker-1"), 2);
  lives_->is_open = true;
  ASSERT_TRUE(system().Ask(root().restart_child(), {"clerk"}, kSoon).ok());
  Run();
  EXPECT_THAT(lives_->handled, IsEmpty());
}

}  // namespace
}  // namespace understudy
