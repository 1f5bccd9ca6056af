#include "understudy/transport/node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/tests/transport/nodes/site.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/process/os_process.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

TEST(Node, ANameIsFoundAndItsOwnerAskedFromAnotherNode) {
  Site ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  const EchoRef echo = Find(house.system, "ledger/echo");
  const absl::StatusOr<std::string> answer = Say(house.system, echo, "hello");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "ledger hello");
}

TEST(Node, AnOnPeerThatDoesNotReturnHoldsUpNobody) {
  absl::Notification go_on;
  Site ledger("ledger");
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  ActorSystem system({.name = "house-1"});
  const absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.peers = {{"ledger", ledger.node->address()}},
                           .on_peer = [&](const PeerEvent& /*event*/) { go_on.WaitForNotification(); }});
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(Say(system, Find(system, "ledger/echo"), "hello").ok());
  go_on.Notify();
}

TEST(Node, ShowsWhatItKnowsOfAPeer) {
  Site ledger("ledger");
  Site house("house-1", {.listen = "", .peers = {{"ledger", ledger.node->address()}}});
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  ASSERT_TRUE(Say(house.system, Find(house.system, "ledger/echo"), "hello").ok());
  const std::vector<PeerStatus> peers = house.node->Peers();
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].node, "ledger");
  EXPECT_TRUE(peers[0].is_up);
  EXPECT_EQ(peers[0].incarnation, ledger.system.incarnation());
  EXPECT_EQ(peers[0].times.silence_timeout, SessionTimes().silence_timeout);
  EXPECT_GT(peers[0].ledger.accepted, 0);
  EXPECT_THAT(peers[0].ToString(),
              ::testing::StartsWith(absl::StrCat("ledger up, epoch 1 at ", ledger.node->address())));
  EXPECT_EQ(house.node->counters().refused_tells, 0);
}

TEST(Node, TheDialledNodeReachesTheDiallingOneToo) {
  Site ledger("ledger");
  Site house("house-1", {.listen = "", .peers = {{"ledger", ledger.node->address()}}});
  EXPECT_EQ(house.node->address(), "");
  house.system.Spawn<Echo>(SpawnOptions{.published_as = "house-1/echo"}, "house");
  const absl::StatusOr<std::string> answer = Say(ledger.system, Find(ledger.system, "house-1/echo"), "hello");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "house hello");
}

TEST(Node, NodesMeetOverAUnixSocket) {
  std::string folder = "/tmp/understudy.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    Site ledger("ledger", {.listen = absl::StrCat("unix:", folder, "/node.sock")});
    Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
    ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
    EXPECT_TRUE(Say(house.system, Find(house.system, "ledger/echo"), "hello").ok());
  }
  EXPECT_EQ(rmdir(folder.c_str()), 0) << "the socket is left behind";
}

TEST(Node, AMonitorTellsWhyAnActorOfAnotherNodeEnded) {
  Site ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  const EchoRef echo = Find(house.system, "ledger/echo");
  const auto down = Watch(house.system, echo.pid());
  Echo::Text text;
  text.set_value("page 7 is torn");
  echo.fail().Tell(text);
  EXPECT_EQ(down->Wait(), ExitReason::Failed(absl::DataLossError("page 7 is torn")));
}

TEST(Node, WhenANodeLeavesItsPeersLearnNoConnection) {
  auto ledger = std::make_unique<Site>("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger->node->address()}}});
  house.system.Spawn<Echo>(SpawnOptions{.published_as = "house-1/echo"}, "house");
  const EchoRef echo = Find(ledger->system, "house-1/echo");
  EXPECT_TRUE(Say(ledger->system, echo, "hello").ok());
  EXPECT_EQ(house.node->Drain(absl::Seconds(10)), 0);
  ledger->log.WaitFor(PeerEvent::Kind::kEnded);
  const auto down = Watch(ledger->system, echo.pid());
  EXPECT_EQ(down->Wait()->kind(), ExitReason::Kind::kNoConnection);
  EXPECT_TRUE(IsNoConnection(Say(ledger->system, echo, "hello").status()));
  ledger.reset();
}

TEST(Node, TheSessionSurvivesACutStream) {
  Site ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  ledger.system.Spawn<Echo>(SpawnOptions{.published_as = "ledger/echo"}, "ledger");
  const EchoRef echo = Find(house.system, "ledger/echo");
  const auto down = Watch(house.system, echo.pid());
  size_t seen = 0;
  for (int i = 0; i < 5; ++i) {
    // Either may have dialled.
    house.cutter.CutAll();
    ledger.cutter.CutAll();
    // Accepted while no stream is there, or just before: it arrives all the same.
    const absl::StatusOr<std::string> answer = Say(house.system, echo, absl::StrCat(i));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, absl::StrCat("ledger ", i));
    seen = house.log.WaitFor(PeerEvent::Kind::kResumed, seen);
  }
  EXPECT_FALSE(house.log.Has(PeerEvent::Kind::kEnded));
  EXPECT_FALSE(down->is_set());
}

TEST(Node, OffLoopbackIsRefused) {
  ActorSystem system({.name = "ledger"});
  const auto listening = Node::Start(system, {.listen = "0.0.0.0:0", .advertise = "ledger.example:7000"});
  EXPECT_EQ(listening.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(listening.status().message()), HasSubstr("cannot listen on 0.0.0.0:0"));
  EXPECT_THAT(std::string(listening.status().message()), HasSubstr("TLS is required"));
  const auto dialling = Node::Start(system, {.peers = {{"house-1", "house-1.example:7000"}}});
  EXPECT_EQ(dialling.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(dialling.status().message()), HasSubstr("cannot dial house-1.example:7000"));
}

TEST(Node, BadOptionsEachHaveTheirError) {
  {
    ActorSystem system({.name = "Not a label"});
    const absl::Status status = Node::Start(system).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("Not a label"));
  }
  ActorSystem system({.name = "ledger"});
  EXPECT_EQ(Node::Start(system, {.listen = "nowhere"}).status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* wildcard : {"0.0.0.0:0", "[::]:0"}) {
    const absl::Status status = Node::Start(system, {.listen = wildcard}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("without NodeOptions::advertise"));
  }
  EXPECT_EQ(Node::Start(system, {.credentials = Credentials::Tls({.certificate_file = "none.pem"})}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string folder = absl::StrCat(::testing::TempDir(), "/of_another");
  ASSERT_EQ(::system(absl::StrCat("tools/make_certs ", folder, " house 2>/dev/null").c_str()), 0);
  const Credentials of_another = Credentials::Tls(
      {.certificate_file = folder + "/house.pem", .key_file = folder + "/house.key", .ca_file = folder + "/ca.pem"});
  EXPECT_THAT(std::string(Node::Start(system, {.credentials = of_another}).status().message()),
              HasSubstr("is not one of node ledger: its DNS names are house"));
  for (const char* children : {"127.0.0.1:0", "unix:/tmp/x", "nowhere"}) {
    EXPECT_EQ(Node::Start(system, {.children_listen = children}).status().code(), absl::StatusCode::kInvalidArgument);
  }
  for (const std::string& bad : {std::string("nowhere"), std::string("h:0"), std::string(2000, 'h')}) {
    EXPECT_EQ(Node::Start(system, {.advertise = bad}).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  for (const auto& [within, text] : {std::pair(absl::Seconds(-1), "-1s"), std::pair(absl::Hours(25), "25h"),
                                     std::pair(absl::InfiniteDuration(), "inf")}) {
    EXPECT_EQ(Node::Start(system, {.drain_within = within}).status(),
              absl::InvalidArgumentError(absl::StrCat("NodeOptions::drain_within is ", text, ": expected 0 to 24h")));
  }
  EXPECT_EQ(Node::Start(system, {.fatal_signal_reports = static_cast<FatalSignalReports>(2)}).status(),
            absl::InvalidArgumentError("NodeOptions::fatal_signal_reports is 2: expected 0 to 1"));
  EXPECT_EQ(Node::Start(system, {.grants = {{.node = "No Label"}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Node::Start(system, {.peers = {{"ledger", "127.0.0.1:1"}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Node::Start(system, {.peers = {{"House", "127.0.0.1:1"}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  for (const char* nowhere : {"127.0.0.1:0", "0.0.0.0:7000", "[::]:7000"}) {
    EXPECT_EQ(Node::Start(system, {.peers = {{"house", nowhere}}}).status().code(), absl::StatusCode::kInvalidArgument)
        << nowhere;
  }
}

TEST(Node, AProcessThatNoNodeStartedHasNoParent) {
  ActorSystem system({.name = "ledger"});
  EXPECT_FALSE(Node::HasParent());
  EXPECT_EQ(Node::GivenName("ledger"), "ledger");
  EXPECT_EQ(Node::FromParent(system).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Node, ASecondLiveNodeOfTheSameNameIsRefused) {
  Site ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  house.log.WaitFor(PeerEvent::Kind::kUp);
  Site impostor("house-1", {.peers = {{"ledger", ledger.node->address()}}});
  impostor.log.WaitFor(PeerEvent::Kind::kRefused);
  EXPECT_FALSE(ledger.log.Has(PeerEvent::Kind::kEnded));
}

// A node in a process of its own.
class RemoteNode {
 public:
  explicit RemoteNode(const std::string& name, const std::string& listen = "127.0.0.1:0",
                      absl::Duration grace = SessionTimes().grace_period) {
    std::array<int, 2> ends;
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    absl::StatusOr<std::unique_ptr<OsProcess>> process =
        OsProcess::Start({.binary = "tests/transport/test_node",
                          .arguments = {"standalone", name, listen, absl::StrCat(absl::ToInt64Seconds(grace))},
                          .descriptors = {ends[1]}},
                         [end = end_](const ExitReason& reason) { end->Set(reason); });
    EXPECT_TRUE(process.ok()) << process.status();
    if (process.ok()) process_ = *std::move(process);
    close(ends[1]);
    std::array<char, 256> line;
    pollfd wait = {.fd = ends[0], .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))), 1);
    const ssize_t bytes = read(ends[0], line.data(), line.size());
    EXPECT_GT(bytes, 0);
    if (bytes > 0) address_ = std::string(line.data(), static_cast<size_t>(bytes - 1));
    close(ends[0]);
  }
  const std::string& address() const { return address_; }
  OsProcess& process() { return *process_; }
  // Returns the exit reason without the process's last lines on standard error.
  ExitReason WaitForEnd() {
    const ExitReason end = end_->Wait().value_or(ExitReason::Stuck());
    return ExitReason::FromParts({.kind = end.kind(), .os_value = end.os_value()});
  }

 private:
  const std::shared_ptr<Latch<ExitReason>> end_ = std::make_shared<Latch<ExitReason>>();
  std::unique_ptr<OsProcess> process_;
  std::string address_;
};

TEST(NodeProcess, SigkillOfANodeEndsMonitorsOnItWithNoConnection) {
  RemoteNode ledger("ledger");
  NodeOptions options = {.peers = {{"ledger", ledger.address()}}};
  options.times.grace_period = absl::Milliseconds(200);
  Site house("house-1", std::move(options));
  const EchoRef echo = Find(house.system, "ledger/echo");
  EXPECT_TRUE(Say(house.system, echo, "hello").ok());
  const auto down = Watch(house.system, echo.pid());
  ledger.process().Kill();
  EXPECT_EQ(down->Wait()->kind(), ExitReason::Kind::kNoConnection);
  EXPECT_EQ(ledger.WaitForEnd(), ExitReason::OsSignal(SIGKILL));
}

TEST(NodeProcess, ANewIncarnationReplacesADeadOneWithoutGrace) {
  std::string folder = "/tmp/understudy.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  // A Unix socket proves who they are.
  auto ledger = std::make_unique<RemoteNode>("ledger", absl::StrCat("unix:", folder, "/1.sock"));
  NodeOptions options = {.peers = {{"ledger", ledger->address()}}};
  options.times.grace_period = absl::Hours(1);
  Site house("house-1", std::move(options));
  const EchoRef echo = Find(house.system, "ledger/echo");
  const auto down = Watch(house.system, echo.pid());
  ledger->process().Kill();
  EXPECT_EQ(ledger->WaitForEnd(), ExitReason::OsSignal(SIGKILL));
  RemoteNode next("ledger", absl::StrCat("unix:", folder, "/2.sock"));
  ASSERT_TRUE(house.node->AddPeer("ledger", next.address()).ok());
  EXPECT_EQ(down->Wait()->kind(), ExitReason::Kind::kNoConnection);
  const EchoRef again = Find(house.system, "ledger/echo");
  EXPECT_NE(again.pid(), echo.pid());
  EXPECT_TRUE(Say(house.system, again, "hello").ok());
  std::filesystem::remove_all(folder);
}

TEST(NodeProcess, AKilledPeerOfThisMachineIsDownLongBeforeItsGraceIsOver) {
  std::string folder = "/tmp/understudy.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const std::string& address : {std::string("127.0.0.1:0"), absl::StrCat("unix:", folder, "/1.sock")}) {
    RemoteNode ledger("ledger", address, absl::Hours(1));
    NodeOptions options = {.peers = {{"ledger", ledger.address()}}};
    options.times.grace_period = absl::Hours(1);
    Site house("house-1", std::move(options));
    const auto down = Watch(house.system, Find(house.system, "ledger/echo").pid());
    ledger.process().Kill();
    EXPECT_EQ(down->Wait()->kind(), ExitReason::Kind::kNoConnection) << address;
  }
  std::filesystem::remove_all(folder);
}

TEST(NodeProcess, SigtermDrainsAndExitsCleanly) {
  RemoteNode ledger("ledger");
  ledger.process().Terminate();
  EXPECT_EQ(ledger.WaitForEnd(), ExitReason::Normal());
}

TEST(NodeProcess, ItExitsWithAFailureWhenItsTreeFails) {
  RemoteNode ledger("ledger");
  Site house("house-1", {.peers = {{"ledger", ledger.address()}}});
  Find(house.system, "ledger/echo").fail().Tell(Echo::Text());
  EXPECT_EQ(ledger.WaitForEnd(), ExitReason::OsExit(1));
}

}  // namespace
}  // namespace understudy
