// OpsClientTest: a system with the operator's service, and plain gRPC clients of it.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_OPS_OPS_CLIENT_H_
#define UNDERSTUDY_TESTS_TRANSPORT_OPS_OPS_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/socket_path.h"
#include "understudy/transport/ops/ops.h"

namespace understudy {

using Stub = proto::Ops::Stub;

inline constexpr absl::Duration kWithin = absl::Seconds(120);
// Erases a screen, turns the direction of text, is not UTF-8, and changes a colour.
inline constexpr char kHostile[] = "\x1b[2J\u202e\xff\\ \u009b31m";

class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [](int) {}),
                    On(crash, [this](int) { (void)Fail(absl::InternalError(kHostile)); })};
};

class OpsClientTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (!go_on_.HasBeenNotified()) go_on_.Notify();
    ops_ = nullptr;
  }
  void StartOps(OpsOptions options = {}) {
    options.listen = absl::StrCat("unix:", SocketPath());
    absl::StatusOr<std::unique_ptr<Ops>> started = Ops::Start(system_, std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    ops_ = *std::move(started);
    stub_ = NewStub();
  }
  // With a connection of its own.
  static std::unique_ptr<Stub> NewStub() { return proto::Ops::NewStub(NewChannel()); }
  static std::shared_ptr<grpc::Channel> NewChannel() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("unix:", SocketPath()), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  template <class Reply, class Request>
  static grpc::Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                           const Request& request, Reply* reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoSeconds(kWithin));
    return (stub.*method)(&context, request, reply);
  }
  static grpc::Status GetNode(Stub& stub) {
    proto::NodeDetails details;
    return Call(stub, &Stub::GetNode, proto::GetNodeRequest(), &details);
  }
  // Expects that a client that comes now is served, at the latest when the places of others are free again.
  static void ExpectServed() {
    const MonotonicTime until = Clock::Real().Now() + kWithin;
    grpc::Status status;
    do {
      status = GetNode(*NewStub());
    } while (!status.ok() && Clock::Real().Now() < until);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  static grpc::Status Act(Stub& stub, proto::Action action, const std::string& actor, const std::string& child = "") {
    proto::ActRequest request;
    request.set_action(action);
    request.set_actor(actor);
    request.set_child(child);
    proto::ActReply reply;
    return Call(stub, &Stub::Act, request, &reply);
  }
  // Waits until `holds` does.
  static bool Await(absl::FunctionRef<bool()> holds) {
    const MonotonicTime until = Clock::Real().Now() + kWithin;
    while (!holds()) {
      if (Clock::Real().Now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  SupervisorRef StartTree() {
    const SupervisorRef root =
        system_.Spawn(SpawnOptions{.registered_as = "root"},
                      OneForOne().Intensity(1000, absl::Seconds(1)).Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
    EXPECT_TRUE(system_.AwaitStart(root.pid(), kWithin).ok());
    return root;
  }

  absl::Notification go_on_;
  KeptLog log_;
  ActorSystem system_{
      {.name = "desk", .threads = {.threads = 2, .surplus_threads_max = 0, .log = &log_}, .log = &log_}};
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_OPS_OPS_CLIENT_H_
