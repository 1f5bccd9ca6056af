// Children on other nodes when nodes are lost: the children's node, the supervisor's node, or all nodes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/sim/node_children_fixture.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// Longer than a session survives without hearing from its peer.
constexpr absl::Duration kLost = absl::Seconds(25);

class NodeLossTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { ASSERT_TRUE(house_.Open()); }
  // Starts the first worker's node again and lets it host children.
  void BringBackTheFirst() {
    house_.cluster().Start("worker-1");
    house_.Run(kLost);
    house_.Host("worker-1");
    house_.Run();
  }

  RemoteHouse house_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Seeds, NodeLossTest, ::testing::Range<uint64_t>(1, 21));

TEST_P(NodeLossTest, IsNoConnectionAndRestartsTheChildOnTheOtherNode) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-1");
  house_.TakeLines();
  house_.cluster().Crash("worker-1");
  house_.Run(kLost);
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-2");
  EXPECT_EQ(house_.TakeLines(), "a exited, a is restarted, a started");
  EXPECT_EQ(house_.events()[1].reason.kind(), ExitReason::Kind::kNoConnection);
  EXPECT_THAT(std::string(house_.events()[1].reason.detail()), HasSubstr("node worker-1"));
}

TEST_P(NodeLossTest, ATransientChildIsRestartedToo) {
  const SupervisorRef root =
      house_.Spawn(OneForOne().Child("a", Remote(OnAnyOf({"worker-1", "worker-2"}), "worker", Text("a")).Transient()));
  house_.cluster().Crash("worker-1");
  house_.Run(kLost);
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-2");
}

TEST_P(NodeLossTest, OneForAllRestartsTheSiblingsOfALostNodesChild) {
  const SupervisorRef root =
      house_.Spawn(OneForAll().Child("a", RemoteHouse::OnBoth("a")).Child("b", Remote(OnNode("worker-2"), "plain")));
  const Pid b = house_.PidOf(root, "b");
  house_.cluster().Crash("worker-1");
  house_.Run(kLost);
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-2, b running on worker-2");
  EXPECT_NE(house_.PidOf(root, "b"), b);
  EXPECT_EQ(house_.LivingOn("worker-2"), 2);
}

TEST_P(NodeLossTest, OnOneNodeItWaitsInBackoffUntilTheNodeIsBack) {
  const SupervisorRef root =
      house_.Spawn(OneForOne().Child("a", Remote(OnNode("worker-1"), "plain")
                                              .ConnectWithin(absl::Milliseconds(100))
                                              .Backoff({.min = absl::Seconds(1), .max = absl::Seconds(1)})));
  house_.cluster().Crash("worker-1");
  house_.Run(absl::Minutes(2));
  ASSERT_FALSE(house_.life().has_ended());
  house_.cluster().Start("worker-1");
  house_.Host("worker-1");
  house_.Run(absl::Seconds(10));
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-1");
  EXPECT_EQ(house_.LivingOn("worker-1"), 1);
}

TEST_P(NodeLossTest, FailedStartsAreCountedAndTheChainNamesTheNode) {
  house_.Spawn(OneForOne()
                   .Intensity(2, absl::Minutes(5))
                   .Child("a", Remote(OnNode("worker-1"), "plain").ConnectWithin(absl::Seconds(1))));
  house_.TakeLines();
  house_.cluster().Crash("worker-1");
  house_.Run(absl::Minutes(1));
  ASSERT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.life().end().kind(), ExitReason::Kind::kRestartsExhausted);
  EXPECT_THAT(house_.life().end().ToString(), HasSubstr("NoConnection(node worker-1 is not connected"));
  EXPECT_EQ(house_.TakeLines(),
            "a exited, a is restarted, a failed to start, a is restarted, a failed to start, a is given up, "
            "stops its children");
}

TEST_P(NodeLossTest, APartitionMovesTheChildAndLeavesNoOrphan) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a").PublishedAs("clerk")));
  house_.network().Partition("house", "worker-1");
  house_.Run(absl::Minutes(1));
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-2");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  EXPECT_THAT(house_.journal().Take(), HasSubstr("end worker-1/a NoConnection"));
  house_.network().Heal("house", "worker-1");
  house_.Run(absl::Minutes(1));
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-2");
  EXPECT_EQ(house_.LivingOn("worker-1") + house_.LivingOn("worker-2"), 1);
}

TEST_P(NodeLossTest, ACutStreamIsNotALoss) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  const Pid before = house_.PidOf(root, "a");
  for (int i = 0; i < 20; ++i) {
    house_.network().Cut("house", "worker-1");
    house_.Run(absl::Milliseconds(30));
  }
  house_.Run(absl::Seconds(5));
  EXPECT_EQ(house_.PidOf(root, "a"), before);
}

TEST_P(NodeLossTest, OfTheSupervisorEndsTheChildInItsTime) {
  house_.ManOf("a")->stop_takes = absl::Seconds(2);
  house_.ManOf("b")->ignores_shutdown = true;
  house_.Spawn(OneForOne()
                   .Child("a", RemoteHouse::OnBoth("a"))
                   .Child("b", RemoteHouse::OnBoth("b").ShutdownWithin(absl::Seconds(4)))
                   .Child("c", RemoteHouse::OnBoth("c").BrutalKill()));
  EXPECT_EQ(house_.LivingOn("worker-1"), 3);
  house_.journal().Take();
  house_.cluster().Crash("house");
  house_.Run(kLost + absl::Seconds(5));
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  const std::string told = house_.journal().Take();
  EXPECT_THAT(told, HasSubstr("asked worker-1/a"));
  EXPECT_THAT(told, HasSubstr("end worker-1/a NoConnection"));
  EXPECT_THAT(told, HasSubstr("asked worker-1/b"));  // then killed, so OnExit does not run
  EXPECT_FALSE(absl::StrContains(told, "end worker-1/c"));
}

TEST_P(NodeLossTest, DuringAStartFailsItAndLeavesNoOrphan) {
  house_.ManOf("a")->start_hangs = true;
  const SupervisorRef root =
      house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a").Backoff({.min = absl::Milliseconds(50)})));
  house_.network().Partition("house", "worker-1");
  house_.Run(kLost);
  ASSERT_TRUE(house_.life().has_ended());  // the first start of a tree is not retried
  EXPECT_THAT(house_.life().end().ToString(), HasSubstr("because of NoConnection(node worker-1"));
  house_.Run(kLost);
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  (void)root;
}

TEST_P(NodeLossTest, WhenItsSupervisorStopsTheChildOfALostNodeCountsAsGone) {
  house_.ManOf("a")->ignores_shutdown = true;
  house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a").ShutdownWithoutLimit()));
  house_.cluster().Crash("worker-1");
  house_.ExitRoot();
  house_.Run(kLost);
  EXPECT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.life().end(), ExitReason::Shutdown());
}

TEST_P(NodeLossTest, ANodeThatStopsItsHostLosesItsChildrenInOrder) {
  RemoteHouse other(GetParam() + 1000);
  ASSERT_TRUE(other.Join());
  const Ref<Actor> host = other.Host("worker-1");
  other.Host("worker-2");
  other.Run();
  other.ManOf("a")->stop_takes = absl::Seconds(2);
  const SupervisorRef root =
      other.Spawn(OneForOne().Child("a", Remote(OnAnyOf({"worker-1", "worker-2"}), "worker", Text("a")).Transient()));
  other.journal().Take();
  other.cluster().system("worker-1").Exit(host.pid(), ExitReason::Shutdown());
  other.Run(absl::Seconds(5));
  EXPECT_EQ(other.journal().Take(), "asked worker-1/a, end worker-1/a Shutdown, start worker-2/a");
  EXPECT_EQ(other.StatesOf(root), "a running on worker-2");
  EXPECT_EQ(other.cluster().system("worker-1").live_actors(), 0);
}

TEST_P(NodeLossTest, AKilledHostTakesItsChildrenWithIt) {
  RemoteHouse other(GetParam() + 2000);
  ASSERT_TRUE(other.Join());
  const Ref<Actor> host = other.Host("worker-1");
  other.Host("worker-2");
  other.Run();
  const SupervisorRef root = other.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  other.cluster().system("worker-1").Kill(host.pid());
  other.Run(absl::Seconds(1));
  EXPECT_EQ(other.StatesOf(root), "a running on worker-2");
  EXPECT_THAT(other.events()[1].reason.ToString(), HasSubstr("NoConnection(node worker-1 hosts no children any more"));
  EXPECT_EQ(other.cluster().system("worker-1").live_actors(), 0);
}

TEST_P(NodeLossTest, SpreadChildrenShareTheNodesAndMoveTogether) {
  SupervisorBuilder tree = OneForOne().Intensity(100, absl::Seconds(1));
  for (int i = 0; i < 20; ++i) {
    tree.Child(absl::StrCat("c", i), Remote(SpreadOver({"worker-1", "worker-2"}), "plain"));
  }
  house_.Spawn(tree);
  const int on_first = house_.LivingOn("worker-1");
  EXPECT_EQ(on_first + house_.LivingOn("worker-2"), 20);
  EXPECT_GT(on_first, 3);
  EXPECT_LT(on_first, 17);
  house_.cluster().Crash("worker-1");
  house_.Run(kLost);
  EXPECT_EQ(house_.LivingOn("worker-2"), 20);
}

// Only the end of a significant child itself ends the supervisor. The loss of its node does not.
TEST_P(NodeLossTest, ASignificantChildsEndAndNotItsNodesLossEndsItsSupervisor) {
  for (const AutoShutdown when : {AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
    SupervisorBuilder tree = OneForOne().Intensity(100, absl::Seconds(1)).AutoShutdown(when);
    for (const char* id : {"a", "b"}) {
      tree.Child(id, Remote(OnAnyOf({"worker-1", "worker-2"}), "worker", Text(id)).Transient().Significant());
    }
    const SupervisorRef root = house_.Spawn(tree);
    house_.cluster().Crash("worker-1");
    house_.Run(kLost);
    EXPECT_EQ(house_.StatesOf(root), "a running on worker-2, b running on worker-2");
    house_.EndChild(root, "b", ExitReason::Normal());
    if (when == AutoShutdown::kAllSignificant) {
      EXPECT_EQ(house_.StatesOf(root), "a running on worker-2, b stopped");
      house_.EndChild(root, "a", ExitReason::Shutdown());
    }
    house_.Run(absl::Seconds(1));
    ASSERT_TRUE(house_.life().has_ended());
    EXPECT_EQ(house_.life().end().kind(), ExitReason::Kind::kShutdown);
    EXPECT_EQ(house_.LivingOn("worker-2"), 0);
    BringBackTheFirst();
  }
}

// A child that is spread over nodes is a pool: its members are started by request and distributed over the nodes.
TEST_P(NodeLossTest, MembersOfAPoolShareTheNodesAndMoveTogether) {
  for (const int shards : {1, 3}) {
    auto pool = std::make_shared<PoolSpec>();
    pool->child = Remote(SpreadOver({"worker-1", "worker-2"}), "plain").Spec("job");
    pool->shards = shards;
    SupervisorSpec tree{.intensity = 100, .period = absl::Seconds(1), .pool = pool};
    const SupervisorRef root = house_.Spawn(OneForOne().Child("jobs", Of(tree)));
    const SupervisorRef jobs(house_.PidOf(root, "jobs"));
    TestSystem& system = house_.cluster().system("house");
    std::vector<Pid> members;
    members.reserve(20);
    for (int i = 0; i < 20; ++i) {
      const std::string id = i % 2 == 0 ? "" : absl::StrCat("given-", i);
      const auto started = system.Ask(jobs.start_member(), StartMember{id}, absl::Seconds(5));
      ASSERT_TRUE(started.ok()) << started.status();
      members.push_back(started->pid);
    }
    const int on_first = house_.LivingOn("worker-1");
    EXPECT_EQ(on_first + house_.LivingOn("worker-2"), 20);
    EXPECT_GT(on_first, 3);
    EXPECT_LT(on_first, 17);
    // A member is addressed by its pid or its given name, as in a pool whose members are local.
    EXPECT_TRUE(system.Ask(jobs.terminate_child(), TerminateChild{.pid = members[0]}, absl::Seconds(5)).ok());
    EXPECT_TRUE(system.Ask(jobs.terminate_child(), TerminateChild{"given-1"}, absl::Seconds(5)).ok());
    house_.AtHome(members[2])[&Worker::crash].Tell(Crash());
    house_.Run();
    EXPECT_EQ(house_.LivingOn("worker-1") + house_.LivingOn("worker-2"), 18);
    house_.cluster().Crash("worker-1");
    house_.Run(kLost);
    EXPECT_EQ(house_.LivingOn("worker-2"), 18);
    house_.ExitRoot();
    house_.Run(absl::Seconds(4));
    EXPECT_TRUE(house_.life().has_ended());
    EXPECT_EQ(house_.LivingOn("worker-2"), 0);
    BringBackTheFirst();
  }
}

// Moves and stops more children at once than a node has credit for.
TEST(NodeLossMany, ThousandsMoveAndStopAtOnce) {
  constexpr int kMany = 1200;
  RemoteHouse house(7);
  ASSERT_TRUE(house.Open());
  SupervisorBuilder tree = OneForOne().Intensity(100000, absl::Seconds(1)).StopTogether();
  for (int i = 0; i < kMany; ++i) {
    tree.Child(absl::StrCat("c", i), Remote(OnAnyOf({"worker-1", "worker-2"}), "plain"));
  }
  house.Spawn(tree);
  ASSERT_TRUE(house.cluster().RunUntil([&] { return house.life().has_started(); }, absl::Hours(1)));
  EXPECT_EQ(house.LivingOn("worker-1"), kMany);
  house.cluster().Crash("worker-1");
  house.Run(kLost);
  EXPECT_EQ(house.LivingOn("worker-2"), kMany);
  EXPECT_FALSE(house.life().has_ended());
  house.journal().Take();
  house.ExitRoot();
  house.Run(absl::Seconds(4));  // shorter than the shutdown timeout after which children are killed
  EXPECT_TRUE(house.life().has_ended());
  EXPECT_EQ(house.LivingOn("worker-2"), 0);
  const std::vector<std::string> ends = absl::StrSplit(house.journal().Take(), ", ");
  EXPECT_EQ(std::count(ends.begin(), ends.end(), "end worker-2/plain Shutdown"), kMany);
}

// ---- Many faults at once ----

// Expects that, according to the supervision events, each child has at most one life at a time.
void ExpectOneLifeAtATime(const std::vector<SupervisionEvent>& events) {
  std::set<std::string> living;
  for (const SupervisionEvent& event : events) {
    if (event.kind == SupervisionEvent::Kind::kStarted) {
      EXPECT_TRUE(living.insert(event.child).second) << event.child << " started while it lived";
    }
    if (event.kind == SupervisionEvent::Kind::kExited || event.kind == SupervisionEvent::Kind::kStopped) {
      living.erase(event.child);
    }
  }
}

TEST(NodeLossChaos, WhateverIsLostTheChildrenComeBackAndNobodyIsLeftOver) {
  ForEachSeed(40, [](uint64_t seed) {
    RemoteHouse house(seed);
    ASSERT_TRUE(house.Open());
    Random random(seed);
    SupervisorBuilder tree(random.Below(2) == 0 ? RestartStrategy::kOneForOne : RestartStrategy::kRestForOne);
    tree.Intensity(1000, absl::Seconds(1));
    const RestartBackoff backoff = {.min = absl::Milliseconds(20), .max = absl::Seconds(2)};
    for (const char* id : {"a", "b", "c"}) {
      ChildBuilder child = Remote(SpreadOver({"worker-1", "worker-2"}), "worker", Text(id));
      tree.Child(id, child.ConnectWithin(absl::Seconds(1)).Backoff(backoff));
    }
    const SupervisorRef root = house.Spawn(tree);
    ASSERT_TRUE(house.life().has_started());
    for (int step = 0; step < 12; ++step) {
      const std::string node = absl::StrCat("worker-", 1 + random.Below(2));
      switch (random.Below(5)) {
        case 0:
          house.network().Cut("house", node);
          break;
        case 1:
          house.network().Partition("house", node);
          break;
        case 2:
          house.network().Heal("house", node);
          break;
        case 3:
          house.cluster().Crash(node);
          house.Run(absl::Milliseconds(static_cast<int64_t>(random.Below(20000))));
          house.cluster().Start(node);
          house.Host(node);
          break;
        default:
          if (const Pid pid = house.PidOf(root, "b"); !pid.is_null() && RemoteHouse::NodeOf(pid) == node) {
            house.AtHome(pid)[&Worker::crash].Tell(Crash());
          }
          break;
      }
      house.Run(absl::Milliseconds(static_cast<int64_t>(random.Below(30000))));
    }
    for (const char* node : {"worker-1", "worker-2"}) house.network().Heal("house", node);
    house.Run(absl::Minutes(2));
    ASSERT_FALSE(house.life().has_ended()) << house.life().end();
    for (const ChildInfo& child : house.ChildrenOf(root)) {
      EXPECT_EQ(child.state, ChildState::kRunning) << child.id;
    }
    EXPECT_EQ(house.LivingOn("worker-1") + house.LivingOn("worker-2"), 3);
    ExpectOneLifeAtATime(house.events());
    house.ExitRoot();
    house.Run(absl::Seconds(20));
    EXPECT_TRUE(house.life().has_ended());
    EXPECT_EQ(house.LivingOn("worker-1") + house.LivingOn("worker-2"), 0);
    EXPECT_EQ(house.cluster().system("house").live_actors(), 0);
  });
}

}  // namespace
}  // namespace understudy
