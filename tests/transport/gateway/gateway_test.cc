// Calls of a plain gRPC client, their errors and their bounds.
#include "understudy/transport/gateway/gateway.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/proto/gateway.pb.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// The reason in the ErrorInfo of the status, or "" if it has none.
std::string ReasonIn(const grpc::Status& status) {
  proto::RpcStatus details;
  proto::RpcErrorInfo info;
  if (!details.ParseFromString(status.error_details()) || details.details_size() != 1) return "";
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(details.message(), status.error_message());
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.domain(), "understudy");
  return info.reason();
}

void ExpectError(const grpc::Status& status, grpc::StatusCode code, const std::string& reason) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_EQ(ReasonIn(status), reason);
  EXPECT_FALSE(status.error_message().empty());
}

grpc::Status Who(Front& front) {
  grpc::ClientContext context;
  desk::Text reply;
  return front.stub->Who(&context, TextOf(""), &reply);
}

int64_t AcceptedBy(ActorSystem& system, const std::string& mailbox) {
  for (const auto& ledger : system.MailboxLedgers()) {
    if (ledger.mailbox == mailbox) return ledger.messages.accepted;
  }
  return 0;
}

TEST(GatewayTest, AUnaryCallIsAnsweredByTheActor) {
  Front front;
  EXPECT_EQ(front.Echo("hello"), "hello");
  EXPECT_EQ(front.Echo(""), "");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(front.Echo(large), large);
  EXPECT_EQ(front.gateway->counters().calls, 3);
}

TEST(GatewayTest, ACompressedRequestIsRefusedBecauseItMayDecompressToALargeOne) {
  Front front;
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  desk::Text reply;
  EXPECT_EQ(front.stub->Echo(&context, TextOf(std::string(100'000, 'x')), &reply).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(front.Echo("goes on"), "goes on");
}

TEST(GatewayTest, ACallWhoseReplyIsBeyondTheBoundOfRepliesIsResourceExhausted) {
  Front front({.replies_bytes_max = 100});
  const grpc::Status status = front.EchoStatus(std::string(100, 'x'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("the actor has handled the call"));
  EXPECT_EQ(front.gateway->counters().refused, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(front.Echo(std::string(90, 'y')), std::string(90, 'y'));
}

TEST(GatewayTest, AConnectionWithoutACallIsClosedAndTheClientConnectsAgain) {
  Front front({.connection_idle_max = absl::Milliseconds(100)});
  EXPECT_EQ(front.Echo("first"), "first");
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().connections == 0; }));
  EXPECT_EQ(front.Echo("again"), "again");
}

TEST(GatewayTest, ACastIsAnsweredWhenTheMailboxHasAcceptedItAndRefusedWhenTheMailboxIsFull) {
  Front front;
  ASSERT_TRUE(front.Open(false).ok());
  EXPECT_TRUE(front.Note().ok());  // nothing has handled it yet
  EXPECT_TRUE(front.Note().ok());
  ExpectError(front.Note(), grpc::StatusCode::RESOURCE_EXHAUSTED, "FULL");
  EXPECT_EQ(AcceptedBy(front.system, "desk.Desk/Note"), 2);
  ASSERT_TRUE(front.Open(true).ok());
}

TEST(GatewayTest, TheClientsDeadlineEndsTheAskAtTheActor) {
  Front front;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  desk::Text reply;
  const grpc::Status status = front.stub->Wait(&context, TextOf("late"), &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  // The handler's own ask, whose timeout is an hour, ends with the call.
  const auto has_ended = [&] {
    return front.events.expired.HasBeenNotified() || front.events.cancelled.HasBeenNotified();
  };
  const MonotonicTime until = Clock::Real().Now() + kWithin;
  while (!has_ended() && Clock::Real().Now() < until) std::this_thread::yield();
  EXPECT_TRUE(has_ended());
}

TEST(GatewayTest, ACallWithoutADeadlineHasTheDefaultTimeout) {
  Front front({.default_timeout = absl::Milliseconds(100)});
  grpc::ClientContext context;
  desk::Text reply;
  ExpectError(front.stub->Wait(&context, TextOf("late"), &reply), grpc::StatusCode::DEADLINE_EXCEEDED, "EXPIRED");
  EXPECT_TRUE(front.events.expired.WaitForNotificationWithTimeout(kWithin));
}

TEST(GatewayTest, ACallThatItsClientCancelsIsCancelledAtTheActor) {
  Front front;
  WaitingCall call(front);
  call.context.TryCancel();
  EXPECT_EQ(call.Status().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
}

TEST(GatewayTest, AStatusOfTheHandlerKeepsItsCodeAndText) {
  Front front;
  desk::Provocation request;
  for (int code = 1; code <= 16; ++code) {
    request.set_code(code);
    request.set_text("text\n\xC3\xA4");
    const grpc::Status status = front.Provoke(request);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), "text\n\xC3\xA4");
    EXPECT_EQ(status.error_details(), "");
  }
}

TEST(GatewayTest, ALongTextOfAnErrorIsCutAndArrives) {
  Front front;
  desk::Provocation request;
  request.set_code(9);
  request.set_text(std::string(1 << 20, '\x01'));
  const grpc::Status status = front.Provoke(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("cut: it had 1048576 bytes"));
}

TEST(GatewayTest, ErrorsOfTheLibraryHaveTheirKindInTheDetails) {
  Front front;
  desk::Provocation drop;
  drop.set_drop(true);
  ExpectError(front.Provoke(drop), grpc::StatusCode::INTERNAL, "UNANSWERED");
  grpc::ClientContext context;
  desk::Text reply;
  ExpectError(front.stub->Extra(&context, TextOf(""), &reply), grpc::StatusCode::UNIMPLEMENTED, "NO_MAILBOX");
  const grpc::Status crashed = front.Crash();
  ExpectError(crashed, grpc::StatusCode::ABORTED, "CALLEE_EXITED");
  EXPECT_THAT(crashed.error_message(), HasSubstr("the desk broke"));
}

TEST(GatewayTest, ANameWhoseActorIsDownIsUnavailableAndOneThatNobodyHasIsNotFound) {
  Front front;
  front.Crash();  // the first restart is immediate, the second waits an hour
  grpc::Status second = front.Crash();
  while (second.error_code() == grpc::StatusCode::UNAVAILABLE) second = front.Crash();
  EXPECT_EQ(second.error_code(), grpc::StatusCode::ABORTED) << second.error_message();
  ExpectError(front.EchoStatus(), grpc::StatusCode::UNAVAILABLE, "RESTARTING");
  ExpectError(front.Note(), grpc::StatusCode::UNAVAILABLE, "RESTARTING");
  ASSERT_TRUE(front.system.Ask(front.tree.terminate_child(), TerminateChild{.id = "desk"}, kWithin).ok());
  ExpectError(front.EchoStatus(), grpc::StatusCode::NOT_FOUND, "NO_NAME");
  ASSERT_TRUE(front.system.Ask(front.tree.restart_child(), RestartChild{.id = "desk"}, kWithin).ok());
  EXPECT_EQ(front.Echo("back"), "back");
}

TEST(GatewayTest, ACallBeyondTheRoomOfItsMailboxIsRefused) {
  Front front;
  ASSERT_TRUE(front.Open(false).ok());
  std::vector<std::thread> waiting;
  for (int i = 0; i < 2; ++i) waiting.emplace_back([&front] { EXPECT_EQ(ReasonIn(Who(front)), ""); });
  EXPECT_TRUE(Eventually([&] { return AcceptedBy(front.system, "desk.Desk/Who") == 2; }));
  ExpectError(Who(front), grpc::StatusCode::RESOURCE_EXHAUSTED, "FULL");
  ASSERT_TRUE(front.Open(true).ok());
  for (std::thread& each : waiting) each.join();
}

TEST(GatewayTest, ACallOfAnActorThatIsStoppingIsUnavailable) {
  absl::Notification may_end;
  Front front;
  front.events.may_end = &may_end;
  front.system.Exit(*front.system.WhereIs("desk"), ExitReason::Shutdown());
  ASSERT_TRUE(front.events.ends.WaitForNotificationWithTimeout(kWithin));
  ExpectError(front.EchoStatus(), grpc::StatusCode::UNAVAILABLE, "STOPPING");
  may_end.Notify();
}

TEST(GatewayTest, AMethodOrServiceThatIsNotExportedIsUnimplemented) {
  Front front;
  EXPECT_EQ(front.CallBytes("/desk.Desk/Burn", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(front.CallBytes("/desk.Attic/Echo", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(front.CallBytes("/", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(GatewayTest, ARequestThatCannotBeParsedIsInternalAndDoesNotReachTheActor) {
  Front front;
  for (const char* method : {"/desk.Desk/Echo", "/desk.Desk/Note"}) {
    const grpc::Status status = front.CallBytes(method, "\x0A\xFF");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
    EXPECT_THAT(status.error_message(), HasSubstr("not a valid desk.Text"));
  }
  EXPECT_EQ(AcceptedBy(front.system, "desk.Desk/Echo"), 0);
  EXPECT_EQ(AcceptedBy(front.system, "desk.Desk/Note"), 0);
}

TEST(GatewayTest, CallsBeyondTheBoundAreRefusedUntilOneEnds) {
  Front front({.calls_max = 1});
  WaitingCall call(front);
  const grpc::Status status = front.EchoStatus();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("1 calls under way"));
  EXPECT_EQ(front.gateway->counters().refused, 1);
  EXPECT_EQ(front.gateway->counters().under_way, 1);
  call.context.TryCancel();
  EXPECT_FALSE(call.Status().ok());
  const MonotonicTime until = Clock::Real().Now() + kWithin;
  while (!front.EchoStatus().ok()) ASSERT_LT(Clock::Real().Now(), until);
}

TEST(GatewayTest, CallsBeyondTheBoundOfAConnectionWaitAtTheClientUntilOneEnds) {
  Front front({.calls_per_connection_max = 1});
  WaitingCall call(front);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  desk::Text reply;
  const grpc::Status late = front.stub->Echo(&context, TextOf("waits"), &reply);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << late.error_message();
  EXPECT_EQ(late.error_details(), "");            // the client's own error
  EXPECT_EQ(front.gateway->counters().calls, 1);  // Echo has not come here
  EXPECT_EQ(front.EchoOnAnotherConnection().error_code(), grpc::StatusCode::OK);
  call.context.TryCancel();
  EXPECT_FALSE(call.Status().ok());
  EXPECT_EQ(front.Echo("next"), "next");
}

TEST(GatewayTest, AConnectionBeyondTheBoundIsClosedAndItsClientsCallIsUnavailable) {
  Front front({.connections_max = 1});
  EXPECT_EQ(front.Echo("first"), "first");
  const grpc::Status refused = front.EchoOnAnotherConnection();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  EXPECT_FALSE(refused.error_message().empty());
  EXPECT_EQ(front.gateway->counters().connections, 1);
  EXPECT_EQ(front.Echo("stays"), "stays");
}

TEST(GatewayTest, BytesBeyondTheBoundsAreRefused) {
  Front front({.request_bytes_max = 10'000, .requests_bytes_max = 1'000});
  EXPECT_EQ(front.Echo(std::string(900, 'x')).size(), 900U);
  const grpc::Status sum = front.EchoStatus(std::string(2'000, 'x'));
  EXPECT_EQ(sum.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(sum.error_message(), HasSubstr("more than 1000 bytes of requests"));
  EXPECT_EQ(front.EchoStatus(std::string(20'000, 'x')).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(front.Echo("small"), "small");
}

TEST(GatewayTest, AConnectionIsWithoutACallUntilItsFirstOneAlsoOfHealth) {
  for (const char* method : {"/desk.Desk/Echo", "/grpc.health.v1.Health/Check"}) {
    Front front;
    EXPECT_TRUE(front.CallBytes(method, "").ok());
    const GatewayCounters counters = front.gateway->counters();
    EXPECT_EQ(counters.connections, 1);
    EXPECT_EQ(counters.connections_without_call, 0);
  }
  Front silent;
  (void)silent.channel->GetState(/*try_to_connect=*/true);
  EXPECT_TRUE(silent.channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(silent.gateway->counters().connections_without_call, 1);
  EXPECT_EQ(silent.Echo("speaks"), "speaks");
  EXPECT_EQ(silent.gateway->counters().connections_without_call, 0);
}

TEST(GatewayTest, CallsUnderWayEndBeforeTheDrainAndNewOnesAreUnavailable) {
  Front front;
  WaitingCall call(front);
  bool in_time = false;
  std::thread draining([&] { in_time = front.gateway->Drain(absl::Minutes(10)); });
  while (front.EchoStatus().error_code() != grpc::StatusCode::UNAVAILABLE) {
  }
  EXPECT_FALSE(front.events.cancelled.HasBeenNotified());
  call.context.TryCancel();
  draining.join();
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(front.gateway->Drain(absl::ZeroDuration()));  // the first one's result
  EXPECT_EQ(front.EchoStatus().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(GatewayTest, CallsThatAreLeftAfterTheDrainsTimeAreCancelledAtTheActor) {
  Front front;
  WaitingCall call(front);
  EXPECT_FALSE(front.gateway->Drain(absl::Milliseconds(10)));
  EXPECT_FALSE(call.Status().ok());
  EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
}

TEST(GatewayTest, ANodeDrainsItsGatewayBeforeItsActors) {
  DeskEvents events;
  ActorSystem system({.name = "front"});
  const auto desk = system.Spawn<DeskKeeper>(SpawnOptions{.registered_as = "desk"}, &events);
  ASSERT_TRUE(system.AwaitStart(desk.pid(), kWithin).ok());
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  ASSERT_TRUE(node.ok()) << node.status();
  const absl::StatusOr<std::unique_ptr<Gateway>> gateway =
      Gateway::Start(system, {.exports = {Export<desk::DeskRef>("desk")}, .node = node->get()});
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  // Registered later, so it runs after the gateway's step.
  bool has_desk = false;
  (*node)->DrainFirst([&](absl::Duration) {
    has_desk = system.WhereIs("desk").has_value();
    EXPECT_TRUE((*gateway)->Drain(absl::ZeroDuration()));
  });
  const uint64_t forgotten = (*node)->DrainFirst([](absl::Duration) { FAIL() << "a step that was forgotten runs"; });
  (*node)->ForgetDrainFirst(forgotten);
  EXPECT_EQ((*node)->Drain(kWithin), 0);
  EXPECT_TRUE(has_desk);
  EXPECT_FALSE(system.WhereIs("desk").has_value());
}

absl::Status StartWith(GatewayOptions options) {
  ActorSystem system;
  return Gateway::Start(system, std::move(options)).status();
}

TEST(GatewayOptionsTest, EachInvalidOptionHasItsError) {
  const ExportedService exported = Export<desk::DeskRef>("desk");
  const auto expect = [](GatewayOptions options, absl::StatusCode code, const std::string& text) {
    const absl::Status status = StartWith(std::move(options));
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  expect({}, kInvalid, "exports is empty");
  expect({.exports = {exported, Export<desk::DeskRef>("other")}}, kInvalid, "desk.Desk is exported twice");
  expect({.exports = {Export<desk::DeskRef>("")}}, kInvalid, "the export of desk.Desk");
  expect({.listen = {}, .exports = {exported}}, kInvalid, "listen is empty");
  expect({.listen = {"127.0.0.1"}, .exports = {exported}}, kInvalid, "the port is missing");
  expect({.listen = {"unix:/tmp/desk"}, .exports = {exported}}, kInvalid, "expected a TCP address");
  expect({.exports = {exported}, .default_timeout = absl::ZeroDuration()}, kInvalid, "default_timeout is 0");
  expect({.exports = {exported}, .transfer_timeout = absl::ZeroDuration()}, kInvalid, "transfer_timeout is 0");
  expect({.exports = {exported}, .connection_idle_max = absl::Hours(25)}, kInvalid, "connection_idle_max is 25h");
  expect({.exports = {Export<desk::AtticRef>("desk.Desk"), exported}}, kInvalid,
         "the export of desk.Attic: its actor has the name of another exported service, desk.Desk");
  expect({.exports = {exported}, .calls_max = 0}, kInvalid, "calls_max is 0: expected 1 to 1048576");
  expect({.exports = {exported}, .streams_max = 0}, kInvalid, "streams_max is 0");
  expect({.exports = {exported}, .calls_per_connection_max = 0}, kInvalid, "calls_per_connection_max is 0");
  expect({.exports = {exported}, .connections_max = 0}, kInvalid, "connections_max is 0");
  expect({.exports = {exported}, .request_bytes_max = size_t{1} << 31}, kInvalid, "request_bytes_max is 2147483648");
  expect({.exports = {exported}, .requests_bytes_max = 0}, kInvalid, "requests_bytes_max is 0");
  expect({.exports = {exported}, .replies_bytes_max = 0}, kInvalid, "replies_bytes_max is 0");
  expect({.exports = {exported}, .drain_within = absl::Seconds(-1)}, kInvalid, "drain_within is -1s");
  expect({.exports = {ExportedService("grpc.health.v1.Health", "desk", {})}}, kInvalid,
         "the gateway serves grpc.health.v1.Health itself");
  expect({.exports = {ExportedService("grpc.reflection.v1.ServerReflection", "desk", {})}}, kInvalid,
         "the gateway serves reflection itself");
  ActorSystem another({.name = "another"});
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(another);
  ASSERT_TRUE(node.ok()) << node.status();
  expect({.node = node->get()}, kInvalid, "GatewayOptions::node is 'another', of another system");
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  expect({.listen = {"0.0.0.0:0"}, .exports = {exported}}, kFailed, "mutual TLS is required");
  expect({.exports = {ExportedService(exported).ForClients({"ops"})}}, kFailed, "no TLS credentials");
}

TEST(GatewayOptionsTest, AnAddressThatIsTakenIsAlreadyExists) {
  Front front;
  EXPECT_EQ(StartWith({.listen = {front.gateway->addresses()[0]}, .exports = {Export<desk::DeskRef>("desk")}}).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(GatewayOptionsTest, AGatewayListensOnEachOfItsAddresses) {
  Front front({.listen = {"127.0.0.1:0", "127.0.0.2:0"}});
  ASSERT_EQ(front.gateway->addresses().size(), 2U);
  for (const std::string& address : front.gateway->addresses()) {
    front.stub = desk::Desk::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    EXPECT_EQ(front.Echo(address), address);
  }
}

}  // namespace
}  // namespace understudy
