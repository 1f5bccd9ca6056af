// grpc.health.v1.Health of a gateway, as a client with the public health.proto sees it.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.grpc.pb.h"
#include "understudy/tests/transport/gateway/desk.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/gateway/health.grpc.pb.h"
#include "understudy/tests/transport/gateway/health.pb.h"
#include "understudy/tests/transport/gateway/raw_call.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"
#include "understudy/transport/gateway/gateway_limits.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

HealthCheckRequest Of(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

class HealthTest : public ::testing::Test {
 protected:
  grpc::Status Check(const std::string& service, HealthCheckResponse* reply) {
    grpc::ClientContext context;
    return health_->Check(&context, Of(service), reply);
  }
  HealthCheckResponse::ServingStatus StatusOf(const std::string& service) {
    HealthCheckResponse reply;
    const grpc::Status status = Check(service, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply.status();
  }
  void TerminateDesk() {
    ASSERT_TRUE(front_.system.Ask(front_.tree.terminate_child(), TerminateChild{.id = "desk"}, kWithin).ok());
  }
  void RestartDesk() {
    ASSERT_TRUE(front_.system.Ask(front_.tree.restart_child(), RestartChild{.id = "desk"}, kWithin).ok());
  }

  Front front_{{.exports = {Export<desk::DeskRef>("desk"), Export<desk::AtticRef>("attic")}}};
  const std::unique_ptr<Health::Stub> health_ = Health::NewStub(front_.channel);
};

TEST_F(HealthTest, AServiceIsKnownByItsNameAndByItsActorsAndServesWhileAnActorHasTheName) {
  for (const char* name : {"desk.Desk", "desk"}) EXPECT_EQ(StatusOf(name), HealthCheckResponse::SERVING) << name;
  for (const char* name : {"desk.Attic", "attic"}) EXPECT_EQ(StatusOf(name), HealthCheckResponse::NOT_SERVING) << name;
  EXPECT_EQ(StatusOf(""), HealthCheckResponse::SERVING);
  HealthCheckResponse reply;
  const grpc::Status unknown = Check("desk.Cellar", &reply);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("desk.Cellar"));
}

TEST_F(HealthTest, AServiceDoesNotServeWhileItsActorIsDownAndWillBeRestarted) {
  front_.Crash();  // the first restart is immediate, the second waits an hour
  while (front_.Crash().error_code() == grpc::StatusCode::UNAVAILABLE) {
  }
  EXPECT_EQ(front_.EchoStatus().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(StatusOf("desk.Desk"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(StatusOf(""), HealthCheckResponse::SERVING);
  TerminateDesk();
  RestartDesk();
  EXPECT_EQ(StatusOf("desk.Desk"), HealthCheckResponse::SERVING);
}

TEST_F(HealthTest, WatchTellsEachChange) {
  grpc::ClientContext context;
  const auto watch = health_->Watch(&context, Of("desk.Desk"));
  HealthCheckResponse reply;
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::SERVING);
  TerminateDesk();
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::NOT_SERVING);
  RestartDesk();
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthTest, WatchOfAnUnknownServiceStaysAndSaysSo) {
  grpc::ClientContext context;
  const auto watch = health_->Watch(&context, Of("desk.Cellar"));
  HealthCheckResponse reply;
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthTest, ANameThatIsTooLongIsRefusedAndALongUnknownOneIsCutInTheError) {
  const std::string beyond(limits::kHealthRequestBytesMax, 'x');
  HealthCheckResponse reply;
  EXPECT_EQ(Check(beyond, &reply).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  grpc::ClientContext context;
  EXPECT_EQ(health_->Watch(&context, Of(beyond))->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const grpc::Status unknown = Check(beyond.substr(0, beyond.size() - 10), &reply);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(unknown.error_message().size(), limits::kStatusMessageBytesMax);
}

TEST_F(HealthTest, ADrainFirstTellsThoseWhoWatchAndCallsUnderWayGoOn) {
  WaitingCall call(front_);
  grpc::ClientContext context;
  const auto watch = health_->Watch(&context, Of(""));
  HealthCheckResponse reply;
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::SERVING);
  std::thread draining([&] { EXPECT_TRUE(front_.gateway->Drain(absl::Minutes(10))); });
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&reply));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(front_.events.cancelled.HasBeenNotified());
  call.context.TryCancel();
  draining.join();
}

// A call of Watch whose client reads nothing. The server is writing the first status when the function returns.
std::unique_ptr<RawCall> UnreadWatch(const Front& front) {
  auto call = std::make_unique<RawCall>(front.gateway->addresses()[0], "/grpc.health.v1.Health/Watch",
                                        RawCall::Options{.window = 0});
  call->SendLast(RawCall::MessageOf(Of("").SerializeAsString()));
  EXPECT_TRUE(call->Hears("application/grpc"));  // the headers before the status
  return call;
}

TEST_F(HealthTest, ADrainDoesNotWaitForAClientThatWatchesAndDoesNotRead) {
  const auto call = UnreadWatch(front_);
  EXPECT_TRUE(front_.gateway->Drain(absl::Hours(1)));  // without the bound the test would not end
}

TEST(GatewayWatchTest, AClientThatWatchesAndDoesNotReadKeepsItsPlaceForATimeOnly) {
  // A connection without a call is closed.
  Front front({.transfer_timeout = absl::Milliseconds(200), .connection_idle_max = absl::Milliseconds(100)});
  const auto call = UnreadWatch(front);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().connections == 0; }));
}

TEST(GatewayReadyTest, UntilTheNodeIsReadyCallsAreUnavailableAndNothingServes) {
  DeskEvents events;
  ActorSystem system({.name = "front"});
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  ASSERT_TRUE(node.ok()) << node.status();
  const absl::StatusOr<std::unique_ptr<Gateway>> gateway =
      Gateway::Start(system, {.exports = {Export<desk::DeskRef>("desk")}, .node = node->get()});
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  const auto channel = grpc::CreateChannel((*gateway)->addresses()[0], grpc::InsecureChannelCredentials());
  const auto stub = desk::Desk::NewStub(channel);
  const auto health = Health::NewStub(channel);
  const auto echo = [&] {
    grpc::ClientContext context;
    desk::Text reply;
    return stub->Echo(&context, TextOf("hello"), &reply);
  };
  const auto count = [&] {
    grpc::ClientContext context;
    return stub->Count(&context, desk::CountRequest())->Finish();
  };
  grpc::ClientContext context;
  const auto watch = health->Watch(&context, Of(""));
  HealthCheckResponse reply;
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::NOT_SERVING);
  const auto expect_unavailable = [&] {
    for (const grpc::Status& status : {echo(), count()}) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr("have not started yet"));
    }
  };
  expect_unavailable();
  const auto desk = system.Spawn<DeskKeeper>(SpawnOptions{.registered_as = "desk"}, &events);
  ASSERT_TRUE(system.AwaitStart(desk.pid(), kWithin).ok());
  expect_unavailable();  // others of the tree may still be starting
  (*node)->Ready();
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::SERVING);
  EXPECT_TRUE(echo().ok());
  EXPECT_TRUE(count().ok());
  context.TryCancel();
  (void)watch->Finish();
}

TEST(GatewayReadyTest, AGatewayWithoutExportsServesTheHealthOfItsNode) {
  ActorSystem system({.name = "front"});
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  ASSERT_TRUE(node.ok()) << node.status();
  const absl::StatusOr<std::unique_ptr<Gateway>> gateway = Gateway::Start(system, {.node = node->get()});
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  const auto health =
      Health::NewStub(grpc::CreateChannel((*gateway)->addresses()[0], grpc::InsecureChannelCredentials()));
  const auto expect_status = [&](HealthCheckResponse::ServingStatus expected) {
    grpc::ClientContext context;
    HealthCheckResponse reply;
    EXPECT_TRUE(health->Check(&context, Of(""), &reply).ok());
    EXPECT_EQ(reply.status(), expected);
  };
  expect_status(HealthCheckResponse::NOT_SERVING);
  (*node)->Ready();
  expect_status(HealthCheckResponse::SERVING);
}

TEST(GatewayReadyTest, FromTheBeginOfItsDrainTheNodeDoesNotServeAndCallsGoOn) {
  DeskEvents events;
  ActorSystem system({.name = "front"});
  const auto desk = system.Spawn<DeskKeeper>(SpawnOptions{.registered_as = "desk"}, &events);
  ASSERT_TRUE(system.AwaitStart(desk.pid(), kWithin).ok());
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  ASSERT_TRUE(node.ok()) << node.status();
  // A step that comes before the gateway's own.
  std::function<void()> during_drain;
  (*node)->DrainFirst([&](absl::Duration) { during_drain(); });
  const absl::StatusOr<std::unique_ptr<Gateway>> gateway =
      Gateway::Start(system, {.exports = {Export<desk::DeskRef>("desk")}, .node = node->get()});
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  (*node)->Ready();
  const auto channel = grpc::CreateChannel((*gateway)->addresses()[0], grpc::InsecureChannelCredentials());
  const auto stub = desk::Desk::NewStub(channel);
  const auto health = Health::NewStub(channel);
  const auto status_of = [&](const std::string& service) {
    grpc::ClientContext context;
    HealthCheckResponse reply;
    EXPECT_TRUE(health->Check(&context, Of(service), &reply).ok());
    return reply.status();
  };
  for (const char* service : {"", "desk"}) EXPECT_EQ(status_of(service), HealthCheckResponse::SERVING) << service;
  grpc::ClientContext context;
  const auto watch = health->Watch(&context, Of(""));
  HealthCheckResponse reply;
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.status(), HealthCheckResponse::SERVING);
  bool has_drained = false;
  during_drain = [&] {
    has_drained = true;
    for (const char* service : {"", "desk"}) EXPECT_EQ(status_of(service), HealthCheckResponse::NOT_SERVING) << service;
    EXPECT_TRUE(watch->Read(&reply));
    EXPECT_EQ(reply.status(), HealthCheckResponse::NOT_SERVING);
    grpc::ClientContext of_echo;
    desk::Text text;
    EXPECT_TRUE(stub->Echo(&of_echo, TextOf("hello"), &text).ok());
  };
  EXPECT_EQ((*node)->Drain(kWithin), 0);
  EXPECT_TRUE(has_drained);
  (void)watch->Finish();
}

TEST_F(HealthTest, WhenTheSystemStopsNothingServes) {
  EXPECT_EQ(StatusOf(""), HealthCheckResponse::SERVING);
  EXPECT_TRUE(front_.system.Shutdown(kWithin));
  EXPECT_EQ(StatusOf(""), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthTest, CallsOfWatchAreBounded) {
  // More than one connection allows at once.
  std::vector<std::unique_ptr<Health::Stub>> stubs;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> watches;
  HealthCheckResponse reply;
  for (size_t i = 0; i < limits::kHealthWatchesMax; ++i) {
    if (i % 64 == 0) {
      grpc::ChannelArguments own;
      own.SetInt("test.connection", static_cast<int>(i));  // channels with equal arguments share a connection
      stubs.push_back(Health::NewStub(
          grpc::CreateCustomChannel(front_.gateway->addresses()[0], grpc::InsecureChannelCredentials(), own)));
    }
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    watches.push_back(stubs.back()->Watch(contexts.back().get(), Of("")));
    ASSERT_TRUE(watches.back()->Read(&reply)) << i;
  }
  grpc::ClientContext context;
  const auto refused = health_->Watch(&context, Of(""));
  EXPECT_FALSE(refused->Read(&reply));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& each : contexts) each->TryCancel();
  for (const auto& watch : watches) EXPECT_FALSE(watch->Finish().ok());
}

}  // namespace
}  // namespace understudy
