// The operator's service over its socket: a plain gRPC client, stuck workers, slow readers, the end.
#include "understudy/transport/ops/ops.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/actors/inspection/blocker.h"
#include "understudy/tests/transport/socket_path.h"
#include "understudy/transport/node.h"
#include "understudy/transport/node_status.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kWithin = absl::Seconds(60);

class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [](int) {}),
                    On(crash, [this](int) { (void)Fail(absl::InternalError("the file is on fire")); })};
};

class OpsTest : public ::testing::Test {
 protected:
  void StartOps(OpsOptions options = {}) {
    options.listen = absl::StrCat("unix:", SocketPath());
    absl::StatusOr<std::unique_ptr<Ops>> started = Ops::Start(system_, std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    ops_ = *std::move(started);
    stub_ = NewStub();
  }
  static std::unique_ptr<proto::Ops::Stub> NewStub() {
    // A channel of its own, so that it has a connection of its own.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return proto::Ops::NewStub(
        grpc::CreateCustomChannel(absl::StrCat("unix:", SocketPath()), grpc::InsecureChannelCredentials(), arguments));
  }

  // Calls a unary method and expects it to succeed.
  template <class Reply, class Request>
  Reply Call(grpc::Status (proto::Ops::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
             const Request& request) {
    Reply reply;
    const grpc::Status status = CallStatus(method, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }
  template <class Reply, class Request>
  grpc::Status CallStatus(grpc::Status (proto::Ops::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                          const Request& request, Reply* reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoSeconds(kWithin));
    return ((*stub_).*method)(&context, request, reply);
  }

  // Used by a Blocker, whose handler may run until the system has ended, so these are declared before the system.
  absl::Notification begun_;
  absl::Notification go_on_;
  KeptLog log_;
  ActorSystem system_{
      {.name = "desk", .threads = {.threads = 1, .surplus_threads_max = 0, .log = &log_}, .log = &log_}};
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<proto::Ops::Stub> stub_;
};

TEST_F(OpsTest, AClientReadsNodeActorsNamesWorkersAndTree) {
  StartOps();
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  ASSERT_TRUE(system_.AwaitStart(root.pid(), kWithin).ok());
  EXPECT_EQ(Call(&proto::Ops::Stub::GetNode, proto::GetNodeRequest()).name(), "desk");
  EXPECT_THAT(Call(&proto::Ops::Stub::ListActors, proto::ListActorsRequest()).actors(), SizeIs(2));
  proto::GetActorRequest clerk;
  clerk.set_actor("clerk");
  const proto::ActorDetails details = Call(&proto::Ops::Stub::GetActor, clerk);
  EXPECT_THAT(details.class_name(), HasSubstr("Clerk"));
  EXPECT_EQ(details.behavior(), "working");
  EXPECT_THAT(details.mailboxes(), SizeIs(2));
  EXPECT_THAT(Call(&proto::Ops::Stub::ListNames, proto::ListNamesRequest()).names(), SizeIs(1));
  EXPECT_THAT(Call(&proto::Ops::Stub::ListWorkers, proto::ListWorkersRequest()).workers(), SizeIs(1));
  const proto::GetTreeReply tree = Call(&proto::Ops::Stub::GetTree, proto::GetTreeRequest());
  ASSERT_THAT(tree.supervisors(), SizeIs(1));
  EXPECT_EQ(tree.supervisors(0).children(0).pid(), details.pid());
}

TEST_F(OpsTest, AnErrorComesWithItsCodeAndText) {
  StartOps();
  proto::GetActorRequest nobody;
  nobody.set_actor("nobody");
  proto::ActorDetails details;
  const grpc::Status status = CallStatus(&proto::Ops::Stub::GetActor, nobody, &details);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("'nobody' is neither a pid of node desk"));
}

TEST_F(OpsTest, ItAnswersWhileTheOnlyWorkerIsStuck) {
  StartOps();
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>()));
  ASSERT_TRUE(system_.AwaitStart(root.pid(), kWithin).ok());
  (void)Call(&proto::Ops::Stub::GetNode, proto::GetNodeRequest());  // connects
  const Ref<Blocker> blocker = system_.Spawn<Blocker>(&begun_, &go_on_);
  blocker[&Blocker::block].Tell(1);
  begun_.WaitForNotification();

  // The worker is stuck until go_on_ is notified, so these answers came while it was.
  proto::GetActorRequest request;
  request.set_actor(blocker.pid().ToString());
  const proto::ActorDetails details = Call(&proto::Ops::Stub::GetActor, request);
  EXPECT_THAT(details.doing(), HasSubstr("block"));
  const proto::GetTreeReply tree = Call(&proto::Ops::Stub::GetTree, proto::GetTreeRequest());
  go_on_.Notify();
  ASSERT_THAT(tree.supervisors(), SizeIs(1));
  ASSERT_THAT(tree.supervisors(0).children(), SizeIs(1));
  EXPECT_EQ(tree.supervisors(0).children(0).state(), "running");
}

TEST_F(OpsTest, AFollowerGetsWhatIsKeptAndThenWhatIsNew) {
  StartOps();
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  ASSERT_TRUE(system_.AwaitStart(root.pid(), kWithin).ok());
  grpc::ClientContext context;
  const auto events = stub_->FollowEvents(&context, proto::FollowRequest());
  proto::EventEntry event;
  ASSERT_TRUE(events->Read(&event));
  EXPECT_EQ(event.kind(), "started");
  EXPECT_EQ(event.child(), "clerk");
  Ref<Clerk>(*system_.WhereIs("clerk"))[&Clerk::crash].Tell(1);
  do {
    ASSERT_TRUE(events->Read(&event));
  } while (event.kind() != "exited");
  EXPECT_THAT(event.reason(), HasSubstr("the file is on fire"));
  context.TryCancel();
  EXPECT_EQ(events->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(OpsTest, AReaderOfTheKeptEntriesIsToldHowManyAreLost) {
  StartOps();
  constexpr int kLetters = 1500;
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  system_.Kill(clerk.pid());
  ASSERT_TRUE(system_.AwaitEnd(clerk.pid(), kWithin).ok());
  for (int i = 0; i < kLetters; ++i) clerk[&Clerk::file].Tell(i);
  grpc::ClientContext context;
  proto::FollowRequest kept;
  kept.set_kept_only(true);
  const auto letters = stub_->FollowDeadLetters(&context, kept);
  proto::DeadLetterEntry letter;
  uint64_t lost = 0;
  uint64_t got = 0;
  while (letters->Read(&letter)) {
    lost += letter.lost();
    ++got;
  }
  EXPECT_TRUE(letters->Finish().ok());
  EXPECT_EQ(got, 1000U);
  EXPECT_EQ(lost, 500U);
  EXPECT_EQ(letter.number(), static_cast<uint64_t>(kLetters));
  EXPECT_FALSE(letter.why().empty());
}

TEST_F(OpsTest, AnActionOfTheClientIsDone) {
  StartOps();
  const Ref<Clerk> clerk = system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  ASSERT_TRUE(system_.AwaitStart(clerk.pid(), kWithin).ok());
  proto::ActRequest request;
  request.set_action(proto::KILL);
  request.set_actor("clerk");
  EXPECT_THAT(Call(&proto::Ops::Stub::Act, request).done(), HasSubstr("kill clerk"));
  EXPECT_TRUE(system_.AwaitEnd(clerk.pid(), kWithin).ok());
}

TEST_F(OpsTest, ADrainMakesTheNodeReturn) {
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system_, {.listen = ""});
  ASSERT_TRUE(node.ok()) << node.status();
  StartOps({.node = node->get()});
  EXPECT_TRUE(Call(&proto::Ops::Stub::GetNode, proto::GetNodeRequest()).has_node());
  EXPECT_THAT(Call(&proto::Ops::Stub::ListPeers, proto::ListPeersRequest()).peers(), SizeIs(0));
  proto::ActRequest request;
  request.set_action(proto::DRAIN);
  (void)Call(&proto::Ops::Stub::Act, request);
  EXPECT_EQ((*node)->RunUntilSignal(), 0);
  ops_ = nullptr;
}

TEST_F(OpsTest, AClientReadsThePeersOfTheNode) {
  absl::Notification up;
  ActorSystem other({.name = "other", .log = &log_});
  const absl::StatusOr<std::unique_ptr<Node>> there = Node::Start(other);
  ASSERT_TRUE(there.ok()) << there.status();
  absl::StatusOr<std::unique_ptr<Node>> here =
      Node::Start(system_, {.peers = {{"other", (*there)->address()}}, .on_peer = [&up](const PeerEvent& event) {
                              if (event.kind == PeerEvent::Kind::kUp && !up.HasBeenNotified()) up.Notify();
                            }});
  ASSERT_TRUE(here.ok()) << here.status();
  ASSERT_TRUE(up.WaitForNotificationWithTimeout(kWithin));
  StartOps({.node = here->get()});
  const proto::ListPeersReply peers = Call(&proto::Ops::Stub::ListPeers, proto::ListPeersRequest());
  ASSERT_EQ(peers.peers_size(), 1);
  EXPECT_EQ(peers.peers(0).node(), "other");
  EXPECT_TRUE(peers.peers(0).is_live());
  EXPECT_GT(peers.peers(0).silence_timeout_nanos(), 0);
  ops_ = nullptr;
}

TEST_F(OpsTest, TheSocketIsOfThisUserAloneAndIsRemovedInTheEnd) {
  StartOps();
  struct stat file;
  ASSERT_EQ(stat(SocketPath().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
  ops_ = nullptr;
  EXPECT_NE(stat(SocketPath().c_str(), &file), 0);
}

TEST_F(OpsTest, ItEndsWhileAClientFollowsAndAnotherIsConnected) {
  StartOps();
  const std::unique_ptr<proto::Ops::Stub> other = NewStub();
  grpc::ClientContext node_context;
  proto::NodeDetails details;
  EXPECT_TRUE(other->GetNode(&node_context, proto::GetNodeRequest(), &details).ok());
  grpc::ClientContext context;
  const auto events = stub_->FollowEvents(&context, proto::FollowRequest());
  system_.Spawn(OneForOne().Child("clerk", Of<Clerk>()));
  proto::EventEntry event;
  ASSERT_TRUE(events->Read(&event));
  ops_ = nullptr;
  while (events->Read(&event)) {
  }
  EXPECT_FALSE(events->Finish().ok());
}

TEST_F(OpsTest, ItServesAgainAfterItsLastClientHasGone) {
  StartOps();
  for (int i = 0; i < 3; ++i) {
    stub_ = NewStub();
    EXPECT_EQ(Call(&proto::Ops::Stub::GetNode, proto::GetNodeRequest()).name(), "desk");
    stub_ = nullptr;
  }
}

TEST_F(OpsTest, AnAddressThatIsNoneIsRefusedAndSoIsTcpWithoutANode) {
  for (const char* listen : {"", "unix:", "127.0.0.1"}) {
    const absl::Status status = Ops::Start(system_, {.listen = listen}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << listen;
    EXPECT_THAT(std::string(status.message()), HasSubstr("expected unix:/path/to/socket, or host:port"));
  }
  const absl::Status status = Ops::Start(system_, {.listen = "127.0.0.1:0"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("expected OpsOptions::node too, whose grants say"));
}

TEST_F(OpsTest, AnAddressThatIsTakenIsRefused) {
  StartOps();
  const absl::StatusOr<std::unique_ptr<Ops>> second =
      Ops::Start(system_, {.listen = absl::StrCat("unix:", SocketPath())});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
}

}  // namespace
}  // namespace understudy
