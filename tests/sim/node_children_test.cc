// Children on other nodes: how they start, end and stop. Each test runs with many seeds, because the guarantee must not
// depend on the order of turns.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/child_host.pb.h"
#include "understudy/proto/options.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/sim/node_children_fixture.h"
#include "understudy/tests/supervision/workers.h"
#include "understudy/tests/transport/echo/echo_actor.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

TEST(ChildHostProtocolTest, EachMailboxHasRoomForTheCallsOfAllChildren) {
  const google::protobuf::ServiceDescriptor* const service =
      proto::StartHostedChild::descriptor()->file()->FindServiceByName("ChildHost");
  ASSERT_NE(service, nullptr);
  for (int i = 0; i < service->method_count(); ++i) {
    EXPECT_EQ(service->method(i)->options().GetExtension(options::capacity_messages),
              static_cast<int64_t>(limits::kHostedChildrenMax))
        << service->method(i)->name();
  }
}

class NodeChildrenTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { ASSERT_TRUE(house_.Open()); }
  // Spawns a root whose only child cannot start, and returns the root's exit reason.
  std::string WhyNotStarted(const ChildBuilder& child) {
    house_.Spawn(OneForOne().Child("a", child));
    house_.Run(absl::Seconds(20));
    EXPECT_TRUE(house_.life().has_ended());
    return house_.life().has_ended() ? house_.life().end().ToString() : "";
  }

  RemoteHouse house_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Seeds, NodeChildrenTest, ::testing::Range<uint64_t>(1, 21));

// ---- Starts ----

TEST_P(NodeChildrenTest, StartsOnTheFirstNodeAndIsShownWithIt) {
  const SupervisorRef root = house_.Spawn(OneForOne()
                                              .Child("a", RemoteHouse::OnBoth("a"))
                                              .Child("b", Remote(OnNode("worker-2"), "plain"))
                                              .Child("c", Of<Worker>("c", std::make_shared<Journal>())));
  EXPECT_TRUE(house_.life().has_started());
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-1, b running on worker-2, c running on house");
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a, start worker-2/plain");
  EXPECT_EQ(house_.TakeLines(), "a started, b started, c started");
  EXPECT_EQ(RemoteHouse::NodeOf(house_.events()[0].pid), "worker-1");
  EXPECT_EQ(house_.LivingOn("worker-1"), 1);
}

TEST_P(NodeChildrenTest, ANodeMayBeTheSupervisorsOwn) {
  house_.Host("house");
  house_.Run();
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", Remote(OnNode("house"), "plain")));
  EXPECT_EQ(house_.StatesOf(root), "a running on house");
  house_.CrashChild(root, "a");
  EXPECT_EQ(house_.journal().Take(), "start house/plain, end house/plain Exception, start house/plain");
}

TEST_P(NodeChildrenTest, TheNextChildStartsOnlyWhenItHasStarted) {
  house_.ManOf("a")->start_hangs = true;
  const SupervisorRef root =
      house_.Spawn(OneForAll().Child("a", RemoteHouse::OnBoth("a")).Child("b", RemoteHouse::OnBoth("b")));
  house_.Run(absl::Seconds(5));
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a");
  EXPECT_FALSE(house_.life().has_started());
  EXPECT_THAT(house_.StatesOf(root), HasSubstr("a starting on house"));  // the state of its local proxy
}

TEST_P(NodeChildrenTest, OneThatDeclinesKeepsItsSpec) {
  house_.ManOf("a")->start_declines = true;
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  EXPECT_TRUE(house_.life().has_started());
  EXPECT_EQ(house_.StatesOf(root), "a stopped");
  EXPECT_EQ(house_.TakeLines(), "a declined to start");
  house_.ManOf("a")->start_declines = false;
  const auto restarted =
      house_.cluster().system("house").Ask(root.restart_child(), RestartChild{"a"}, absl::Seconds(1));
  ASSERT_TRUE(restarted.ok()) << restarted.status();
  EXPECT_EQ(RemoteHouse::NodeOf(restarted->pid), "worker-1");
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-1");
}

TEST_P(NodeChildrenTest, AStartThatFailsSaysWhyAndStopsWhatWasStarted) {
  house_.ManOf("b")->start_fails = absl::DataLossError("the book is torn");
  house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")).Child("b", RemoteHouse::OnBoth("b")));
  house_.Run(absl::Seconds(1));
  ASSERT_TRUE(house_.life().has_ended());
  EXPECT_THAT(house_.life().end().ToString(),
              HasSubstr("child 'b' could not start); because of Failed(DATA_LOSS: the book is torn)"));
  EXPECT_THAT(house_.journal().Take(), HasSubstr("end worker-1/a Shutdown"));
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, AStartThatThrowsIsAFailedStart) {
  house_.ManOf("a")->start_throws = true;
  EXPECT_THAT(WhyNotStarted(RemoteHouse::OnBoth("a")), HasSubstr("because of Exception("));
}

TEST_P(NodeChildrenTest, AnUnknownFactoryIsNamedWithItsNode) {
  EXPECT_THAT(
      WhyNotStarted(Remote(OnNode("worker-2"), "wroker")),
      HasSubstr("because of Failed(NOT_FOUND: on node worker-2: there is no factory 'wroker'; registered: echo, "
                "plain, worker"));
}

TEST_P(NodeChildrenTest, ABadArgumentIsToldWithItsNode) {
  EXPECT_THAT(
      WhyNotStarted(Remote(OnNode("worker-1"), "worker")),
      HasSubstr("INVALID_ARGUMENT: on node worker-1: factory 'worker' takes a google.protobuf.StringValue, and is "
                "given none"));
  EXPECT_THAT(WhyNotStarted(Remote(OnNode("worker-1"), "plain", Text("x"))),
              HasSubstr("on node worker-1: factory 'plain' takes no argument, and is given a "));
  ChildSpec garbled = Remote(OnNode("worker-1"), "worker", Text("x")).Spec("a");
  garbled.factory->argument = "\x0a\x7f";
  EXPECT_THAT(WhyNotStarted(ChildBuilder(garbled)), HasSubstr("cannot be parsed as a google.protobuf.StringValue"));
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, ANodeThatIsNotConnectedIsWaitedForAndThenNoConnection) {
  EXPECT_THAT(WhyNotStarted(Remote(OnAnyOf({"worker-3", "worker-4"}), "plain").ConnectWithin(absl::Seconds(3))),
              HasSubstr("because of NoConnection(none of the nodes worker-3, worker-4 is connected and hosts children; "
                        "waited for 3s)"));
  EXPECT_THAT(WhyNotStarted(Remote(OnNode("house"), "plain")),
              HasSubstr("NoConnection(node house is not connected and hosts children; waited for 5s)"));
}

TEST_P(NodeChildrenTest, AnActorThatPosesAsTheHostOfAnotherNodeIsNotBelieved) {
  SpawnOptions posing;
  posing.registered_as = "understudy/children/worker-3";
  house_.cluster().system("house").Spawn<Worker>(posing, "imposter", std::make_shared<Journal>());
  house_.Run();
  EXPECT_THAT(WhyNotStarted(Remote(OnNode("worker-3"), "plain")),
              HasSubstr("NotPermitted(node house says that it hosts the children of node worker-3"));
}

TEST_P(NodeChildrenTest, StartWithinBoundsItAndNothingIsLeftOver) {
  house_.ManOf("a")->start_hangs = true;
  EXPECT_THAT(WhyNotStarted(RemoteHouse::OnBoth("a").StartWithin(absl::Seconds(2))),
              HasSubstr("because of StartTimeout"));
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a");  // OnExit does not run, because the child was killed
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, ItIsReachedByItsPidAndByItsNameInTheCluster) {
  const SupervisorRef root =
      house_.Spawn(OneForOne().Child("e", Remote(OnNode("worker-2"), "echo").PublishedAs("echo")));
  TestSystem& system = house_.cluster().system("house");
  const Pid pid = house_.PidOf(root, "e");
  const auto answer = system.Ask(EchoRef(pid).say(), Text("hello"), absl::Seconds(1));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value(), "worker-2 hello");
  EXPECT_EQ(system.WhereIs("echo"), pid);
  const auto at_home = house_.cluster().system("worker-2").WhereIs("echo");
  ASSERT_TRUE(at_home.has_value());
  EXPECT_EQ(at_home->ToString(), pid.ToString());
  ASSERT_TRUE(EchoRef(pid).fail().Send(Text("enough")).ok());
  house_.Run();
  EXPECT_NE(house_.PidOf(root, "e"), pid);
  EXPECT_EQ(system.WhereIs("echo"), house_.PidOf(root, "e"));
  EXPECT_THAT(house_.events()[1].reason.ToString(), HasSubstr("DATA_LOSS: enough"));
}

TEST_P(NodeChildrenTest, OneThatFindsItsNameTakenIsParkedUntilItIsFree) {
  SpawnOptions first;
  first.published_as = "clerk";
  const auto owner = house_.cluster().system("house").Spawn<Worker>(first, "owner", std::make_shared<Journal>());
  house_.Run();
  const SupervisorRef root =
      house_.Spawn(OneForOne().Child("a", Remote(OnNode("worker-1"), "plain").PublishedAs("clerk")));
  EXPECT_TRUE(house_.life().has_started());
  EXPECT_EQ(house_.TakeLines(), "a failed to start, a waits for its name");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  owner[&Worker::end].Tell(End{ExitReason::Normal()});
  house_.Run(absl::Seconds(15));
  EXPECT_EQ(house_.StatesOf(root), "a running on worker-1");
}

// ---- Ends and stops ----

TEST_P(NodeChildrenTest, ACrashRestartsItThereWithItsReason) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  const Pid before = house_.PidOf(root, "a");
  house_.TakeLines();
  house_.CrashChild(root, "a");
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a, end worker-1/a Exception, start worker-1/a");
  EXPECT_EQ(house_.TakeLines(), "a exited, a is restarted, a started");
  EXPECT_EQ(house_.events()[1].reason.kind(), ExitReason::Kind::kException);
  EXPECT_THAT(house_.events()[1].reason.ToString(), HasSubstr("a crashed"));
  EXPECT_EQ(house_.events()[1].pid, before);
  EXPECT_NE(house_.PidOf(root, "a"), before);
  EXPECT_EQ(house_.LivingOn("worker-1"), 1);
}

TEST_P(NodeChildrenTest, RestartTypesDecideByTheReasonAsForEveryChild) {
  const SupervisorRef root = house_.Spawn(OneForOne()
                                              .Child("t", Remote(OnNode("worker-1"), "worker", Text("t")).Transient())
                                              .Child("x", Remote(OnNode("worker-1"), "worker", Text("x")).Temporary()));
  house_.EndChild(root, "t", ExitReason::Normal());
  EXPECT_EQ(house_.StatesOf(root), "t stopped, x running on worker-1");
  house_.CrashChild(root, "x");
  EXPECT_EQ(house_.StatesOf(root), "t stopped");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, AKilledOneIsRestarted) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  house_.TakeLines();
  house_.EndChild(root, "a", ExitReason::Killed());
  EXPECT_EQ(house_.TakeLines(), "a exited, a is restarted, a started");
  EXPECT_EQ(house_.events()[1].reason, ExitReason::Killed());
}

TEST_P(NodeChildrenTest, LocalAndRemoteChildrenStopInReverse) {
  auto journal = std::shared_ptr<Journal>(&house_.journal(), [](Journal*) {});
  house_.ManOf("b")->stop_takes = absl::Seconds(2);
  house_.Spawn(OneForOne()
                   .Child("a", RemoteHouse::OnBoth("a"))
                   .Child("local", Of<Worker>("house/local", journal))
                   .Child("b", Remote(OnNode("worker-2"), "worker", Text("b"))));
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a, start house/local, start worker-2/b");
  house_.ExitRoot();
  house_.Run(absl::Seconds(1));
  EXPECT_EQ(house_.journal().Take(), "asked worker-2/b");
  house_.Run(absl::Seconds(2));
  EXPECT_EQ(house_.journal().Take(), "end worker-2/b Shutdown, end house/local Shutdown, end worker-1/a Shutdown");
  ASSERT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.life().end(), ExitReason::Shutdown());
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  EXPECT_EQ(house_.LivingOn("worker-2"), 0);
}

TEST_P(NodeChildrenTest, OneThatIgnoresShutdownIsKilledAfterItsTime) {
  house_.ManOf("a")->ignores_shutdown = true;
  house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a").ShutdownWithin(absl::Seconds(3))));
  house_.ExitRoot();
  house_.Run(absl::Seconds(2));
  EXPECT_FALSE(house_.life().has_ended());
  house_.Run(absl::Seconds(2));
  EXPECT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, BrutalKillAsksNobody) {
  house_.ManOf("a")->ignores_shutdown = true;
  house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a").BrutalKill()));
  house_.ExitRoot();
  EXPECT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, ATreeThatStopsWhileItStartsEndsIt) {
  house_.ManOf("a")->start_hangs = true;
  house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  house_.ExitRoot();
  house_.Run(absl::Seconds(1));
  EXPECT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a, end worker-1/a Shutdown");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, OneThatIsStoppedWhileItStartsHasEndedBeforeItsNextLifeBegins) {
  auto journal = std::shared_ptr<Journal>(&house_.journal(), [](Journal*) {});
  house_.ManOf("a")->start_hangs = true;
  house_.ManOf("a")->stop_takes = absl::Seconds(2);
  const SupervisorRef root =
      house_.Spawn(OneForAll().Child("b", Of<Worker>("b", journal)).Child("a", RemoteHouse::OnBoth("a")));
  EXPECT_EQ(house_.journal().Take(), "start b, start worker-1/a");
  Ref<Worker>(house_.PidOf(root, "b"))[&Worker::crash].Tell(Crash());
  house_.Run(absl::Seconds(1));
  EXPECT_EQ(house_.journal().Take(), "end b Exception, asked worker-1/a");
  house_.Run(absl::Seconds(2));
  EXPECT_EQ(house_.journal().Take(), "end worker-1/a Shutdown, start b, start worker-1/a");
  EXPECT_EQ(house_.LivingOn("worker-1"), 1);
}

TEST_P(NodeChildrenTest, OneThatIsTerminatedWhileItStartsHasEndedWhenThatIsAnswered) {
  house_.ManOf("a")->start_hangs = true;
  house_.ManOf("a")->stop_takes = absl::Seconds(2);
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  TestSystem& system = house_.cluster().system("house");
  ASSERT_TRUE(system.Ask(root.terminate_child(), TerminateChild{.id = "a"}, absl::Seconds(9)).ok());
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a, asked worker-1/a, end worker-1/a Shutdown");
}

TEST_P(NodeChildrenTest, OneThatIgnoresItsStopWhileItStartsIsKilledAfterItsTime) {
  house_.ManOf("a")->start_hangs = true;
  house_.ManOf("a")->ignores_shutdown = true;
  house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a").ShutdownWithin(absl::Seconds(3))));
  house_.ExitRoot();
  house_.Run(absl::Seconds(2));
  EXPECT_FALSE(house_.life().has_ended());
  house_.Run(absl::Seconds(2));
  EXPECT_TRUE(house_.life().has_ended());
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, AStopEndsTheWaitForItsNode) {
  house_.Spawn(OneForOne().Child("a", Remote(OnNode("worker-3"), "plain")));
  EXPECT_FALSE(house_.life().has_ended());
  house_.ExitRoot();
  EXPECT_TRUE(house_.life().has_ended());
}

TEST_P(NodeChildrenTest, AShutdownOfItsSystemStopsTheTreeInOrder) {
  house_.ManOf("b")->stop_takes = absl::Seconds(2);
  TestSystem& system = house_.cluster().system("house");
  system.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")).Child("b", RemoteHouse::OnBoth("b")));
  house_.Run();
  EXPECT_EQ(house_.journal().Take(), "start worker-1/a, start worker-1/b");
  EXPECT_TRUE(system.Shutdown(absl::Seconds(10)));
  EXPECT_EQ(house_.journal().Take(), "asked worker-1/b, end worker-1/b Shutdown, end worker-1/a Shutdown");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
}

TEST_P(NodeChildrenTest, AKilledSupervisorLeavesNoOrphan) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  EXPECT_EQ(house_.LivingOn("worker-1"), 1);
  house_.cluster().system("house").Kill(root.pid());
  house_.Run(absl::Seconds(1));
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  EXPECT_TRUE(house_.life().has_ended());
}

TEST_P(NodeChildrenTest, ItIsTerminatedByItsPidAndByTheLastOneToo) {
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  const Pid pid = house_.PidOf(root, "a");
  const auto done =
      house_.cluster().system("house").Ask(root.terminate_child(), TerminateChild{.pid = pid}, absl::Seconds(9));
  EXPECT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(house_.StatesOf(root), "a stopped");
  EXPECT_EQ(house_.LivingOn("worker-1"), 0);
  const auto again =
      house_.cluster().system("house").Ask(root.terminate_child(), TerminateChild{.pid = pid}, absl::Seconds(9));
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST_P(NodeChildrenTest, OneThatHasEndedIsTerminatedAlreadyAndAStrangerIsNoChild) {
  const SupervisorRef root = house_.Spawn(OneForOne()
                                              .Child("a", Remote(OnNode("worker-1"), "worker", Text("a")).Temporary())
                                              .Child("b", Remote(OnNode("worker-1"), "worker", Text("b"))));
  TestSystem& system = house_.cluster().system("house");
  const Pid a = house_.PidOf(root, "a");
  const Pid b = house_.PidOf(root, "b");
  house_.EndChild(root, "a", ExitReason::Normal());
  house_.CrashChild(root, "b");
  for (const Pid ended : {a, b}) {
    const auto done = system.Ask(root.terminate_child(), TerminateChild{.pid = ended}, absl::Seconds(1));
    EXPECT_TRUE(done.ok()) << done.status();
  }
  EXPECT_EQ(house_.StatesOf(root), "b running on worker-1");
  const SupervisorRef other = house_.Spawn(OneForOne().Child("c", RemoteHouse::OnBoth("c")));
  const auto stranger =
      system.Ask(root.terminate_child(), TerminateChild{.pid = house_.PidOf(other, "c")}, absl::Seconds(9));
  EXPECT_TRUE(absl::IsNotFound(stranger.status())) << stranger.status();
  EXPECT_EQ(house_.StatesOf(other), "c running on worker-1");
}

TEST_P(NodeChildrenTest, AHostHasRoomForSoManyAndRefusesOneMore) {
  house_.Host("house", {.children_max = 2});
  house_.Run();
  const auto on_house = [] { return Remote(OnNode("house"), "plain"); };
  const SupervisorRef root = house_.Spawn(OneForOne().Child("a", on_house()).Child("b", on_house()));
  TestSystem& system = house_.cluster().system("house");
  const auto refused = system.Ask(root.start_child(), StartChild{on_house().Spec("c")}, absl::Seconds(9));
  EXPECT_THAT(refused.status().ToString(), HasSubstr("RESOURCE_EXHAUSTED: node house hosts 2 children already"));
  EXPECT_TRUE(system.Ask(root.terminate_child(), TerminateChild{.id = "a"}, absl::Seconds(9)).ok());
  const auto started = system.Ask(root.start_child(), StartChild{on_house().Spec("c")}, absl::Seconds(9));
  EXPECT_TRUE(started.ok()) << started.status();
}

// Asks the spawner of its own node for a proxy of `child`.
class Asker final : public Actor {
 public:
  Asker(NodeChild child, absl::Status* told) : child_(std::move(child)), told_(told) {}
  StartResult Start() override {
    *told_ = context().Spawner()->ForNode(child_).status();
    return StartResult::Ignore();
  }

 private:
  const NodeChild child_;
  absl::Status* const told_;
};

TEST(NodeChildrenTimes, ANegativeTimeIsRefusedWithItsNameAndValue) {
  RemoteHouse house(1);
  ASSERT_TRUE(house.Open());
  const auto told = [&house](const NodeChild& child) {
    absl::Status status;
    house.cluster().system("house").Spawn<Asker>(child, &status);
    house.Run();
    return status;
  };
  EXPECT_EQ(told({.nodes = {"a", "b"}, .connect_within = absl::Seconds(-1)}),
            absl::InvalidArgumentError("connect_within of a child on a, b is -1s: expected 0 or more"));
  EXPECT_EQ(told({.nodes = {"a"}, .stop_within = -absl::InfiniteDuration()}),
            absl::InvalidArgumentError("stop_within of a child on a is -inf: expected 0 or more"));
  EXPECT_EQ(told({.nodes = {"a"}, .connect_within = absl::ZeroDuration(), .stop_within = absl::ZeroDuration()}),
            absl::OkStatus());
}

// ---- Grants ----

TEST(NodeChildrenGrants, WithoutOneTheStartIsNotPermitted) {
  RemoteHouse house(1, /*grants=*/false);
  ASSERT_TRUE(house.Open());
  house.Spawn(OneForOne().Child("a", RemoteHouse::OnBoth("a")));
  house.Run(absl::Seconds(1));
  ASSERT_TRUE(house.life().has_ended());
  EXPECT_THAT(house.life().end().ToString(), HasSubstr("NotPermitted"));
  EXPECT_THAT(house.life().end().ToString(),
              HasSubstr("node worker-1 does not let node house start actors; it needs a grant"));
  EXPECT_EQ(house.journal().Take(), "");
  EXPECT_EQ(house.LivingOn("worker-1"), 0);
}

TEST(NodeChildrenGrants, ANodeNeedsNoneForItself) {
  RemoteHouse house(1, /*grants=*/false);
  ASSERT_TRUE(house.Open());
  house.Host("house");
  const SupervisorRef root = house.Spawn(OneForOne().Child("a", Remote(OnNode("house"), "plain")));
  EXPECT_EQ(house.StatesOf(root), "a running on house");
}

}  // namespace
}  // namespace understudy
