// An actor that stands for a plain gRPC service.
#include "understudy/transport/client/grpc_client.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/named.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

TEST_F(GrpcClientTest, AnAskIsACallOfTheServer) {
  const desk::DeskRef desk = Client();
  const absl::StatusOr<desk::Text> reply = Echo(desk, "hello");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "hello");
  EXPECT_EQ(Echo(desk, "")->text(), "");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(Echo(desk, large)->text(), large);
  EXPECT_EQ(server.counts.echoes, 3);
}

TEST_F(GrpcClientTest, AnErrorOfTheServerIsTheAsks) {
  const desk::DeskRef desk = Client();
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status = Provoke(desk, code, "its text");
    EXPECT_EQ(static_cast<int>(status.code()), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("its text"));
  }
  EXPECT_EQ(Provoke(desk, 9, "closed"), absl::FailedPreconditionError("closed"));
  // An rpc that the server's class does not implement.
  EXPECT_TRUE(IsNoMailbox(system.Ask(desk.extra(), TextOf(""), kWithin).status()));
}

TEST_F(GrpcClientTest, ErrorsOfAGatewayAreTheLibrarysAgain) {
  Front front;
  const desk::DeskRef desk = Client({.target = front.gateway->addresses()[0]});
  EXPECT_EQ(Echo(desk, "through both")->text(), "through both");
  desk::Provocation drop;
  drop.set_drop(true);
  EXPECT_TRUE(IsUnanswered(system.Ask(desk.provoke(), drop, kWithin).status()));
  EXPECT_TRUE(IsNoMailbox(system.Ask(desk.extra(), TextOf(""), kWithin).status()));
  EXPECT_TRUE(front.system.Ask(front.tree.terminate_child(), TerminateChild{.id = "desk"}, kWithin).ok());
  const absl::Status no_name = Echo(desk, "").status();
  EXPECT_TRUE(IsNoName(no_name)) << no_name;
}

TEST_F(GrpcClientTest, TheAsksDeadlineIsThatOfTheCallAndEndsIt) {
  const desk::DeskRef desk = Client();
  // A call may expire before it reaches the server.
  for (int i = 0; i < 20 && server.counts.waits == 0; ++i) {
    const absl::Status status = system.Ask(desk.wait(), TextOf(""), absl::Milliseconds(300)).status();
    EXPECT_TRUE(IsExpired(status)) << status;
  }
  EXPECT_GT(server.counts.waits, 0);
  EXPECT_TRUE(Eventually([&] { return server.counts.waits == server.counts.cancelled; }));
  system.Ask(desk.wait(), TextOf(""), absl::Minutes(90), [](absl::StatusOr<desk::Text>) {});
  EXPECT_TRUE(Eventually([&] { return server.counts.minutes >= 60; }));
  EXPECT_LE(server.counts.minutes, 120);
}

TEST_F(GrpcClientTest, AnAskThatIsCancelledCancelsTheCall) {
  const desk::DeskRef desk = Client();
  const Outcome outcome;
  const AskHandle asked = system.Ask(desk.wait(), TextOf(""), absl::Hours(1), outcome.Callback());
  ASSERT_TRUE(Eventually([&] { return server.counts.waits == 1; }));
  EXPECT_TRUE(asked.Cancel());
  EXPECT_TRUE(Eventually([&] { return server.counts.cancelled == 1; }));
  EXPECT_TRUE(understudy::IsCancelled(outcome.Await())) << outcome.Await();
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
}

TEST_F(GrpcClientTest, TheEndOfTheClientCancelsItsCalls) {
  const desk::DeskRef desk = Client();
  const Outcome outcome;
  system.Ask(desk.wait(), TextOf(""), absl::Hours(1), outcome.Callback());
  ASSERT_TRUE(Eventually([&] { return server.counts.waits == 1; }));
  system.Exit(desk.pid(), ExitReason::Shutdown());
  EXPECT_TRUE(Eventually([&] { return server.counts.cancelled == 1; }));
  EXPECT_TRUE(IsCalleeExited(outcome.Await())) << outcome.Await();
}

TEST_F(GrpcClientTest, ACastIsACallWhoseErrorRejectsTheTell) {
  const desk::DeskRef desk = Client();
  ASSERT_TRUE(desk.note().Send(TextOf("")).ok());
  ASSERT_TRUE(desk.note().Send(TextOf("bad")).ok());
  const auto rejected = [&] {
    for (const MailboxLedger& ledger : system.MailboxLedgers(desk.pid())) {
      if (ledger.mailbox != "desk.Desk/Note") continue;
      return ledger.messages.of(Disposition::kHandled) == 1 && ledger.messages.of(Disposition::kRejected) == 1;
    }
    return false;
  };
  EXPECT_TRUE(Eventually(rejected));
  EXPECT_EQ(server.counts.notes, 2);
}

TEST_F(GrpcClientTest, CallsBeyondTheBoundsWaitInTheMailboxes) {
  int waits = 0;
  for (const GrpcClientOptions& options : {GrpcClientOptions{.calls_max = 1}, {.requests_bytes_max = 10}}) {
    const desk::DeskRef desk = Client(options);
    const AskHandle waiting =
        system.Ask(desk.wait(), TextOf("ten bytes and more"), absl::Hours(1), [](absl::StatusOr<desk::Text>) {});
    ++waits;
    ASSERT_TRUE(Eventually([&] { return server.counts.waits == waits; }));
    EXPECT_TRUE(IsExpired(Echo(desk, "waits", absl::Milliseconds(100)).status()));
    EXPECT_EQ(server.counts.echoes, waits - 1);
    EXPECT_TRUE(waiting.Cancel());
    EXPECT_EQ(Echo(desk, "next")->text(), "next");
  }
}

TEST_F(GrpcClientTest, TheItemsOfAStreamComeInOrderAndThenItsEnd) {
  const desk::DeskRef desk = Client();
  const auto good = std::make_shared<Readings>(), bad = std::make_shared<Readings>();
  system.Spawn<Reader>(desk, Items(300), size_t{1000}, good);
  desk::CountRequest ends_badly = Items(2);
  ends_badly.mutable_end()->set_code(9);
  ends_badly.mutable_end()->set_text("closed");
  system.Spawn<Reader>(desk, ends_badly, size_t{1000}, bad);
  ASSERT_TRUE(Eventually([&] { return good->its_end().has_value() && bad->its_end().has_value(); }));
  EXPECT_TRUE(good->its_end()->ok()) << *good->its_end();
  EXPECT_EQ(*bad->its_end(), absl::FailedPreconditionError("closed"));
  absl::MutexLock lock(&good->mu);
  ASSERT_EQ(good->items.size(), 300U);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(good->items[static_cast<size_t>(i)], absl::StrCat(i));
  EXPECT_EQ(bad->count(), 2U);
}

TEST_F(GrpcClientTest, AStreamWhoseReaderEndsIsCancelledAtTheServer) {
  const desk::DeskRef desk = Client();
  desk::CountRequest stays = Items(3);
  stays.set_stay(true);
  const auto readings = std::make_shared<Readings>();
  const auto reader = system.Spawn<Reader>(desk, stays, size_t{1000}, readings);
  ASSERT_TRUE(Eventually([&] { return readings->count() == 3 && server.counts.waits == 1; }));
  system.Exit(reader.pid(), ExitReason::Shutdown());
  EXPECT_TRUE(Eventually([&] { return server.counts.cancelled == 1; }));
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
}

TEST_F(GrpcClientTest, AReaderThatDoesNotReadHoldsUpTheServer) {
  Front front;
  const desk::DeskRef desk = Client({.target = front.gateway->addresses()[0]});
  desk::CountRequest request = Items(2000);
  request.set_item_bytes(64 << 10);
  request.set_write_within_ms(500);
  const auto readings = std::make_shared<Readings>();
  system.Spawn<Reader>(desk, request, size_t{1}, readings);
  // The writer behind the gateway waited in vain for credit, long before it had written all of the 128 MB.
  ASSERT_TRUE(front.events.unwritten.WaitForNotificationWithTimeout(kWithin));
  EXPECT_LT(front.events.written, 1000);
}

TEST_F(GrpcClientTest, WithoutAServerTheClientEndsAndItsSupervisorStartsItAgain) {
  system.Spawn(OneForOne().Child(
      "desk", Of<DeskClient>(GrpcClientOptions{.target = server.address(), .connect_within = absl::Milliseconds(300)})
                  .RegisteredAs("desk")
                  .Backoff({.min = absl::Milliseconds(20), .max = absl::Milliseconds(50)})));
  const absl::StatusOr<desk::DeskRef> first = system.Lookup<desk::DeskRef>("desk", kWithin);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Echo(*first, "hello")->text(), "hello");
  const Outcome broken;
  system.Ask(first->wait(), TextOf(""), absl::Hours(1), broken.Callback());
  ASSERT_TRUE(Eventually([&] { return server.counts.waits == 1; }));
  server.Stop();
  const absl::StatusOr<ExitReason> reason = system.AwaitEnd(first->pid(), kWithin);
  ASSERT_TRUE(reason.ok()) << reason.status();
  EXPECT_EQ(reason->kind(), ExitReason::Kind::kNoConnection) << reason->ToString();
  EXPECT_THAT(reason->ToString(), HasSubstr(server.address()));
  EXPECT_FALSE(broken.Await().ok());
  // Meanwhile a caller hears that nothing is there: the client has no connection, is being started again, or ends.
  const Named<desk::DeskRef> named(system, "desk");
  const absl::Status absent = Echo(named.Resolve(), "nobody").status();
  EXPECT_TRUE(IsNoConnection(absent) || IsRestarting(absent) || IsCalleeExited(absent) || IsNoProcess(absent) ||
              IsStopping(absent))
      << absent;
  server.Start();
  EXPECT_TRUE(Eventually([&] { return Echo(named.Resolve(), "back").ok(); }));
  EXPECT_NE(named.Resolve().pid(), first->pid());
}

TEST_F(GrpcClientTest, AConnectionThatComesBackInTimeEndsNothing) {
  const desk::DeskRef desk = Client({.connect_within = absl::Hours(1)});
  EXPECT_EQ(Echo(desk, "hello")->text(), "hello");
  server.Stop();
  EXPECT_TRUE(Eventually([&] { return IsNoConnection(Echo(desk, "nobody").status()); }));
  server.Start();
  EXPECT_TRUE(Eventually([&] { return Echo(desk, "back").ok(); }));
  EXPECT_FALSE(system.AwaitEnd(desk.pid(), absl::ZeroDuration()).ok());
}

TEST_F(GrpcClientTest, EachInvalidOptionFailsTheStart) {
  const auto expect = [&](GrpcClientOptions options, absl::StatusCode code, const std::string& text) {
    const absl::Status status = options.Check();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    const absl::Status started = system.AwaitStart(system.Spawn<DeskClient>(options).pid(), kWithin);
    EXPECT_TRUE(IsCalleeExited(started)) << started;
    EXPECT_THAT(ExitReasonOf(started)->ToString(), HasSubstr(text));
  };
  const std::string good = server.address();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  expect({}, kInvalid, "GrpcClientOptions::target");
  expect({.target = "127.0.0.1"}, kInvalid, "the port is missing");
  expect({.target = "unix:/tmp/desk"}, kInvalid, "expected a TCP address");
  expect({.target = "0.0.0.0:1"}, kInvalid, "expected a TCP address");
  expect({.target = "192.0.2.1:1"}, absl::StatusCode::kFailedPrecondition, "mutual TLS is required");
  expect({.target = good, .connect_within = absl::ZeroDuration()}, kInvalid, "connect_within is 0");
  expect({.target = good, .cast_timeout = -absl::Seconds(1)}, kInvalid, "cast_timeout is -1s");
  expect({.target = good, .calls_max = 0}, kInvalid, "calls_max is 0: expected 1 to 50000");
  expect({.target = good, .requests_bytes_max = 0}, kInvalid, "requests_bytes_max is 0");
  expect({.target = good, .reply_bytes_max = size_t{1} << 31}, kInvalid, "reply_bytes_max is 2147483648");
  expect({.target = good, .replies_bytes_max = 0}, kInvalid, "replies_bytes_max is 0");
}

}  // namespace
}  // namespace understudy
