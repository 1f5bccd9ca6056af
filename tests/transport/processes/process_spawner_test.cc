#include "understudy/transport/process/process_spawner.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/tests/transport/processes/process_parent.h"
#include "understudy/tests/transport/processes/story.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr absl::Duration kDeadline = Story::kDeadline;

using ProcessSpawnerTest = ProcessTest;

TEST_F(ProcessSpawnerTest, AChildIsStartedWhenItsNodeSaysSoAndCanBeAsked) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  EXPECT_EQ(story->WaitFor(1), std::vector<std::string>{"started"});
  // A name that the process published before it had started is known here already.
  EXPECT_TRUE(system_.WhereIs("echo/house-1").has_value());
  Echo::Text text;
  text.set_value("hello");
  const auto answer = system_.Ask(Find("echo/house-1").say(), text, kDeadline);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value(), "house-1 hello");
}

TEST_F(ProcessSpawnerTest, ItsExitCodeIsItsReason) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  Die(Find("echo/house-1"), 7);
  EXPECT_THAT(story->WaitFor(2)[1], StartsWith(EndOf(ExitReason::OsExit(7))));
}

TEST_F(ProcessSpawnerTest, ItsSignalIsItsReason) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  Die(Find("echo/house-1"), -SIGABRT);
  const std::string end = story->WaitFor(2)[1];
  EXPECT_THAT(end, StartsWith(EndOf(ExitReason::OsSignal(SIGABRT))));
  EXPECT_THAT(end, Not(HasSubstr("; it crashed"))) << "its proxy did not";
  EXPECT_THAT(end, ContainsRegex("<house-1[.0-9]+>\\] SIGABRT in understudy::Echo \"echo/house-1\", mailbox [^ ]*Die "
                                 "handling a google.protobuf.Int32Value; build id [0-9a-f]{16,}"));
}

TEST_F(ProcessSpawnerTest, TheListenersOfItsParentAreToldOfACrashInAChild) {
  auto story = std::make_shared<Story>();
  auto crashes = std::make_shared<Story>();
  system_.SubscribeCrashes([crashes](const CrashReport& crash, const ExitReason& reason) {
    crashes->Add(absl::StrCat(crash.pid.ToString(), " in ", crash.doing, ": ", reason.ToString(), "; ",
                              crash.messages.empty() ? "" : crash.messages[0].mailbox));
  });
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  Find("echo/house-1").fail().Tell(Echo::Text());
  EXPECT_THAT(crashes->WaitFor(1)[0], ContainsRegex("^<house-1[.0-9]+> in mailbox [^ ]*Fail handling a .*: "
                                                    "Failed\\(DATA_LOSS: \\); [^ ]*Fail$"));
}

TEST_F(ProcessSpawnerTest, AskedToStopItDrainsAndExitsNormally) {
  auto story = std::make_shared<Story>();
  const Ref<Parent> parent = Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  parent[&Parent::stop].Tell({});
  EXPECT_EQ(story->WaitFor(2)[1], "down: Normal");
}

TEST_F(ProcessSpawnerTest, ItsParentsExitStopsIt) {
  auto story = std::make_shared<Story>();
  const Ref<Parent> parent = Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  const EchoRef echo = Find("echo/house-1");
  system_.Exit(parent.pid(), ExitReason::Shutdown());
  const absl::StatusOr<ExitReason> end = system_.AwaitEnd(echo.pid(), kDeadline);
  ASSERT_TRUE(end.ok()) << end.status();
}

TEST_F(ProcessSpawnerTest, AChildThatEndsItselfIsNotKilledForIt) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  // The process's tree fails, so its node leaves in order and the process exits with 1.
  Find("echo/house-1").fail().Tell(Echo::Text());
  EXPECT_THAT(story->WaitFor(2)[1], StartsWith(EndOf(ExitReason::OsExit(1))));
}

TEST_F(ProcessSpawnerTest, OneThatLivesWithoutItsStreamIsKilled) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  Die(Find("echo/house-1"), -SIGSTOP);  // it is cut off, and cannot end itself
  EXPECT_THAT(story->WaitFor(2)[1], StartsWith(EndOf(ExitReason::OsSignal(SIGKILL))));
}

TEST_F(ProcessSpawnerTest, OneThatClosesItsConnectionBeforeItsNodeDialsIsKilled) {
  auto story = std::make_shared<Story>();
  ProcessChild child = TestNode("house-1", {"-c", "exec 3<&- 3>&-; exec sleep 1000"});
  child.binary = "/bin/sh";
  Launch(child, story);
  EXPECT_THAT(story->WaitFor(2)[1], StartsWith(EndOf(ExitReason::OsSignal(SIGKILL))));
}

TEST_F(ProcessSpawnerTest, OneThatIsSilentForLongerThanItMayIsKilled) {
  auto story = std::make_shared<Story>();
  ProcessChild child = TestNode("house-1", {"child"});
  child.silent_within = absl::Seconds(2);
  Launch(child, story);
  EXPECT_EQ(story->WaitFor(1)[0], "started");
  const MonotonicTime before = Clock::Real().Now();
  Die(Find("echo/house-1"), Echo::kOnlyStop);
  EXPECT_THAT(story->WaitFor(2)[1], StartsWith(EndOf(ExitReason::OsSignal(SIGKILL))));
  EXPECT_LT(Clock::Real().Now() - before, limits::kProcessChildSilence);
}

TEST_F(ProcessSpawnerTest, KillIsSigkillOfTheProcess) {
  auto story = std::make_shared<Story>();
  auto gone = std::make_shared<Story>();
  // The process ignores SIGTERM.
  const Ref<Parent> parent =
      system_.Spawn<Parent>(TestNode("house-1", {"deaf"}), story, [gone] { gone->Add("it has ended"); });
  EXPECT_THAT(story->WaitFor(1), ElementsAre("started"));
  parent[&Parent::kill].Tell({});
  EXPECT_THAT(story->WaitFor(2), ElementsAre("started", "down: Killed"));
  EXPECT_THAT(gone->WaitFor(1), ElementsAre("it has ended"));
}

// Is linked to one actor, and tells of the exit.
class Linked final : public Actor {
 public:
  Linked(Pid other, std::shared_ptr<Story> told) : other_(other), told_(std::move(told)) {}
  StartResult Start() override {
    context().TrapExits([this](const ExitEvent& exit) { told_->Add(std::string(ExitKindName(exit.reason.kind()))); });
    context().Link(other_);
    return Behavior("linked", After(absl::Hours(1), [] {}));
  }

 private:
  const Pid other_;
  const std::shared_ptr<Story> told_;
};

// EBA 31
TEST_F(ProcessSpawnerTest, WhoIsLinkedToAnActorOfAKilledNodeIsToldNoConnectionWithinFiveSeconds) {
  auto story = std::make_shared<Story>();
  auto told = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  const EchoRef echo = Find("echo/house-1");
  const Ref<Linked> linked = system_.Spawn<Linked>(echo.pid(), told);
  ASSERT_TRUE(system_.AwaitStart(linked.pid(), kDeadline).ok());
  ASSERT_TRUE(system_.Ask(echo.say(), Echo::Text(), kDeadline).ok());
  const MonotonicTime before = Clock::Real().Now();
  Die(echo, -SIGKILL);
  EXPECT_THAT(told->WaitFor(1), ElementsAre("NoConnection"));
  EXPECT_LT(Clock::Real().Now() - before, absl::Seconds(5));
}

// The Down of the proxy may come earlier, because it does not wait for the process; the proxy is gone only later.
TEST_F(ProcessSpawnerTest, ItsProxyIsGoneWhenTheProcessHasEnded) {
  const std::string fifo = absl::StrCat(::testing::TempDir(), "/pid");
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ProcessChild child = TestNode("house-1", {"-c", absl::StrCat("echo $$ > ", fifo, "; exec sleep 1000")});
  child.binary = "/bin/sh";
  auto story = std::make_shared<Story>();
  auto gone = std::make_shared<Story>();
  auto os_pid = std::make_shared<std::atomic<int>>(0);
  const Ref<Parent> parent = system_.Spawn<Parent>(child, story, [gone, os_pid] {
    gone->Add(kill(os_pid->load(), 0) == -1 && errno == ESRCH ? "it has ended" : "it lives");
  });
  int told = 0;
  std::ifstream(fifo) >> told;
  os_pid->store(told);
  ASSERT_GT(told, 1);
  parent[&Parent::kill].Tell({});
  EXPECT_THAT(story->WaitFor(2), ElementsAre("failed: Killed", "down: Killed"));
  EXPECT_THAT(gone->WaitFor(1), ElementsAre("it has ended"));
}

TEST_F(ProcessSpawnerTest, OneThatHearsNothingIsKilledWhenItsTimeIsOver) {
  auto story = std::make_shared<Story>();
  ProcessChild deaf = TestNode("house-1", {"deaf"});
  deaf.stop_within = absl::Milliseconds(50);
  const Ref<Parent> parent = Launch(deaf, story);
  EXPECT_EQ(story->WaitFor(1)[0], "started");
  parent[&Parent::stop].Tell({});
  EXPECT_THAT(story->WaitFor(2)[1], StartsWith(EndOf(ExitReason::OsSignal(SIGKILL))));
}

TEST_F(ProcessSpawnerTest, AProcessThatEndsBeforeItIsStartedIsAFailedStart) {
  auto story = std::make_shared<Story>();
  ProcessChild child = TestNode("house-1", {"-c", "exit 3"});
  child.binary = "/bin/sh";
  Launch(child, story);
  const std::vector<std::string> events = story->WaitFor(2);
  EXPECT_EQ(events[0], absl::StrCat("failed: ", ExitReason::OsExit(3).ToString()));
  EXPECT_EQ(events[1], absl::StrCat("down: ", ExitReason::OsExit(3).ToString()));
}

TEST_F(ProcessSpawnerTest, AProcessThatEndsAsSoonAsItIsStartedHasStarted) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"brief"}), story);
  EXPECT_THAT(story->WaitFor(2), ElementsAre("started", "down: Normal"));
}

TEST_F(ProcessSpawnerTest, ChildrenMeetEachOtherAlsoAfterARestart) {
  auto story_1 = std::make_shared<Story>();
  auto story_2 = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story_1);
  Launch(TestNode("house-2", {"relay", "echo/house-1"}), story_2);
  story_1->WaitFor(1);
  story_2->WaitFor(1);
  Echo::Text text;
  text.set_value("hello");
  auto answer = system_.Ask(Find("echo/house-2").say(), text, kDeadline);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value(), "house-2 house-1 hello");
  // House-1 is started again, as another incarnation at another address.
  Die(Find("echo/house-1"), 1);
  story_1->WaitFor(2);
  Launch(TestNode("house-1", {"child"}), story_1);
  EXPECT_EQ(story_1->WaitFor(3)[2], "started");
  // Until house-2 meets the new one it may find the name of the old one, whose
  // session, or whose incarnation, is gone.
  do {
    answer = system_.Ask(Find("echo/house-2").say(), text, kDeadline);
  } while (IsNoConnection(answer.status()) || IsNoProcess(answer.status()));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value(), "house-2 house-1 hello");
}

class ProcessesOverTcpTest : public ProcessTest {
 protected:
  ProcessesOverTcpTest()
      : ProcessTest({.credentials = Credentials::Tls({.certificate_file = Made() + "/launcher.pem",
                                                      .key_file = Made() + "/launcher.key",
                                                      .ca_file = Made() + "/ca.pem"}),
                     .children_listen = "127.0.0.1:0"}) {}
  static std::string Made() {
    const std::string folder = ::testing::TempDir() + "/certificates";
    const std::string command = absl::StrCat("tools/make_certs ", folder, " launcher house-1 house-2 2>/dev/null");
    if (access(folder.c_str(), F_OK) != 0) EXPECT_EQ(system(command.c_str()), 0);
    return folder;
  }
};

TEST_F(ProcessesOverTcpTest, ChildrenMeetEachOtherByTheirCertificates) {
  auto story = std::make_shared<Story>();
  ProcessChild house_1 = TestNode("house-1", {"child"});
  ProcessChild house_2 = TestNode("house-2", {"relay", "echo/house-1"});
  for (ProcessChild* house : {&house_1, &house_2}) {
    house->environment = {{"TEST_NODE_CERTIFICATES", Made()}};
    Launch(*house, story);
  }
  EXPECT_THAT(story->WaitFor(2), ElementsAre("started", "started"));
  Echo::Text text;
  text.set_value("hello");
  const auto answer = system_.Ask(Find("echo/house-2").say(), text, kDeadline);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value(), "house-2 house-1 hello");
  for (const PeerStatus& child : node_->Peers()) EXPECT_THAT(child.address, StartsWith("127.0.0.1:")) << child.node;
}

TEST_F(ProcessSpawnerTest, WithoutAPlaceForItsNodeTheStartFailsAndSaysWhy) {
  const char others = 0;
  uint64_t incarnation = 0;
  while (internal::NodeTable::Intern({.system = &others, .name = "other", .incarnation = {++incarnation}}).ok()) {
  }
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  EXPECT_THAT(story->WaitFor(2)[0], AllOf(StartsWith("failed: "), HasSubstr("the table of nodes is full")));
  internal::NodeTable::Retire(&others);
  Launch(TestNode("house-1", {"child"}), story);
  EXPECT_EQ(story->WaitFor(3)[2], "started");
}

TEST_F(ProcessSpawnerTest, AProcessChildIsRestartedAlthoughTheTableOfNodesIsFull) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  EXPECT_EQ(story->WaitFor(1)[0], "started");
  const char others = 0;
  uint64_t incarnation = 0;
  while (internal::NodeTable::Intern({.system = &others, .name = "other", .incarnation = {++incarnation}}).ok()) {
  }
  for (size_t life = 1; life <= 3; ++life) {
    Die(Find("echo/house-1"), 1);
    story->WaitFor(2 * life);
    Launch(TestNode("house-1", {"child"}), story);
    EXPECT_EQ(story->WaitFor(2 * life + 1).back(), "started");
  }
  internal::NodeTable::Retire(&others);
}

TEST_F(ProcessSpawnerTest, WhatCouldNeverStartIsRefusedAtOnce) {
  internal::ProcessSpawner spawner({.node = "launcher"});
  ProcessChild child = TestNode("house-1", {});
  child.binary = "/no/such/binary";
  EXPECT_EQ(spawner.ForProcess(child).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(spawner.ForProcess(child).status().message()), HasSubstr("/no/such/binary"));
  EXPECT_EQ(spawner.ForProcess(TestNode("House 1", {})).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spawner.ForProcess(TestNode("launcher", {})).status().code(), absl::StatusCode::kInvalidArgument);
  for (const absl::Duration silence : {absl::ZeroDuration(), absl::Milliseconds(1), absl::InfiniteDuration()}) {
    child = TestNode("house-1", {});
    child.silent_within = silence;
    EXPECT_EQ(spawner.ForProcess(child).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(spawner.ForProcess(child).status().message()), HasSubstr("silent_within"));
  }
  child = TestNode("house-1", {});
  child.stop_within = absl::Seconds(-1);
  EXPECT_EQ(spawner.ForProcess(child).status(),
            absl::InvalidArgumentError("stop_within of the process child 'house-1' is -1s: expected 0 or more"));
}

}  // namespace
}  // namespace understudy
