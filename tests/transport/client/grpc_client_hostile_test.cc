// Tests of GrpcClient with servers that die, fall silent, or send invalid data.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/client/bytes_server.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/trials/fault_proxy.h"
#include "understudy/transport/client/grpc_client.h"

namespace understudy {
namespace {

using net_testing::FaultProxy;
using ::testing::HasSubstr;

// A socket on which nothing that knows gRPC listens: connections wait in its backlog for ever, or are told `says`.
class StrangeServer {
 public:
  explicit StrangeServer(std::string says) : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(listening_, 100), 0);
    EXPECT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(at.sin_port));
    if (says.empty()) return;
    speaker_ = std::thread([this, says = std::move(says)] {
      for (;;) {
        const int connection = accept(listening_, nullptr, nullptr);
        if (connection < 0) return;
        (void)send(connection, says.data(), says.size(), MSG_NOSIGNAL);
        connections_.push_back(connection);
      }
    });
  }
  ~StrangeServer() {
    shutdown(listening_, SHUT_RDWR);  // ends accept
    if (speaker_.joinable()) speaker_.join();
    for (const int connection : connections_) close(connection);
    close(listening_);
  }
  StrangeServer(const StrangeServer&) = delete;
  StrangeServer& operator=(const StrangeServer&) = delete;
  const std::string& address() const { return address_; }

 private:
  const int listening_;
  std::string address_;
  std::vector<int> connections_;  // the speaker's until it has ended
  std::thread speaker_;
};

class GrpcClientHostileTest : public GrpcClientTest {
 protected:
  std::shared_ptr<Readings> Read(desk::DeskRef desk, const desk::CountRequest& request) {
    auto readings = std::make_shared<Readings>();
    system.Spawn<Reader>(desk, request, size_t{1'000'000}, readings);
    return readings;
  }
  static absl::Status EndOf(const std::shared_ptr<Readings>& readings) {
    if (!Eventually([&] { return readings->its_end().has_value(); })) return absl::UnknownError("the stream goes on");
    return *readings->its_end();
  }
};

TEST_F(GrpcClientHostileTest, TheDeathOfTheConnectionEndsCallsAndStreamsWithNoConnection) {
  FaultProxy proxy(server.address());
  const desk::DeskRef desk = Client({.target = proxy.address(), .connect_within = absl::Hours(1)});
  const std::vector<Outcome> calls = Wait(desk, 20);
  desk::CountRequest stays = Items(3);
  stays.set_stay(true);
  const auto stream = Read(desk, stays);
  ASSERT_TRUE(Eventually([&] { return server.counts.waits == 21 && stream->count() == 3; }));
  proxy.ResetAll();
  for (const Outcome& call : calls) EXPECT_TRUE(IsNoConnection(call.Await())) << call.Await();
  EXPECT_TRUE(IsNoConnection(EndOf(stream))) << EndOf(stream);
  // The client connects again by itself, and a call is not repeated.
  EXPECT_TRUE(Eventually([&] { return Echo(desk, "again").ok(); }));
  EXPECT_EQ(server.counts.waits, 21);
}

TEST_F(GrpcClientHostileTest, CallsOfAServerThatFallsSilentExpire) {
  FaultProxy proxy(server.address());
  const desk::DeskRef desk = Client({.target = proxy.address()});
  EXPECT_EQ(Echo(desk, "hello")->text(), "hello");
  proxy.Stall(FaultProxy::kBothWays);
  const absl::Status silent = Echo(desk, "silence", absl::Milliseconds(200)).status();
  EXPECT_TRUE(IsExpired(silent)) << silent;
  proxy.Heal();
  EXPECT_EQ(Echo(desk, "back")->text(), "back");
}

TEST_F(GrpcClientHostileTest, AServerThatDoesNotSpeakGrpcIsNoConnection) {
  for (const std::string& says :
       {std::string(), std::string("HTTP/1.1 200 OK\r\n\r\n"), std::string(100'000, '\xff')}) {
    const StrangeServer strange(says);
    const desk::DeskRef desk = Client({.target = strange.address(), .connect_within = absl::Milliseconds(300)});
    const Outcome call;
    system.Ask(desk.echo(), TextOf(""), absl::Hours(1), call.Callback());
    const absl::StatusOr<ExitReason> reason = system.AwaitEnd(desk.pid(), kWithin);
    ASSERT_TRUE(reason.ok()) << reason.status();
    EXPECT_EQ(reason->kind(), ExitReason::Kind::kNoConnection) << reason->ToString();
    EXPECT_TRUE(IsNoConnection(call.Await()) || IsCalleeExited(call.Await())) << call.Await();
  }
}

TEST_F(GrpcClientHostileTest, AnAnswerThatIsNotAMessageIsInternal) {
  const std::string invalid_utf8 = "\x0a\x01\xff";
  for (const std::string& answer : {std::string("\xff\xff\xff"), std::string(1 << 20, '\x0b'), invalid_utf8}) {
    const BytesServer bytes({answer});
    const desk::DeskRef desk = Client({.target = bytes.address()});
    const absl::Status reply = Echo(desk, "").status();
    EXPECT_EQ(reply.code(), absl::StatusCode::kInternal) << reply;
    EXPECT_THAT(std::string(reply.message()), HasSubstr("is not a valid desk.Text"));
    EXPECT_EQ(EndOf(Read(desk, Items(1))), reply);
  }
}

TEST_F(GrpcClientHostileTest, OkWithoutAnAnswerIsAnError) {
  const BytesServer none({});
  const desk::DeskRef desk = Client({.target = none.address()});
  const absl::Status reply = Echo(desk, "").status();
  EXPECT_EQ(reply.code(), absl::StatusCode::kInternal) << reply;
  EXPECT_THAT(std::string(reply.message()), HasSubstr("sent no message"));
  EXPECT_TRUE(EndOf(Read(desk, Items(1))).ok());  // a stream without items
}

TEST_F(GrpcClientHostileTest, AnAnswerBeyondTheBoundEndsItsCallOnly) {
  const desk::DeskRef desk = Client({.reply_bytes_max = 1000});
  const std::vector<Outcome> waiting = Wait(desk, 1);
  const absl::Status large = Echo(desk, std::string(1001, 'x')).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted) << large;
  EXPECT_FALSE(IsFull(large)) << large;
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
  EXPECT_EQ(server.counts.cancelled, 0);
}

TEST_F(GrpcClientHostileTest, AThousandCallsWithoutAServerEndWithNoConnection) {
  const desk::DeskRef desk = Client({.connect_within = absl::Hours(1)});
  server.Stop();
  EXPECT_TRUE(Eventually([&] { return IsNoConnection(Echo(desk, "nobody").status()); }));
  for (const Outcome& call : Wait(desk, 1000)) EXPECT_TRUE(IsNoConnection(call.Await())) << call.Await();
  server.Start();
  EXPECT_TRUE(Eventually([&] { return Echo(desk, "back").ok(); }));
}

TEST_F(GrpcClientHostileTest, TheEndOfTheClientEndsManyCallsAndStreams) {
  const desk::DeskRef desk = Client();
  const std::vector<Outcome> calls = Wait(desk, 200);
  std::vector<std::shared_ptr<Readings>> streams;
  desk::CountRequest stays = Items(1);
  stays.set_stay(true);
  for (int i = 0; i < 20; ++i) streams.push_back(Read(desk, stays));
  ASSERT_TRUE(Eventually([&] { return server.counts.waits == 220; }));
  system.Kill(desk.pid());
  for (const Outcome& call : calls) EXPECT_TRUE(IsCalleeExited(call.Await())) << call.Await();
  for (const auto& stream : streams) EXPECT_TRUE(IsCalleeExited(EndOf(stream))) << EndOf(stream);
  EXPECT_TRUE(Eventually([&] { return server.counts.cancelled == 220; }));
}

TEST_F(GrpcClientHostileTest, ManyLargeAnswersAtOnceAreAllAnswered) {
  const std::string large(1 << 20, 'x');
  const desk::DeskRef desk = Client({.replies_bytes_max = size_t{4} << 20});
  std::vector<Outcome> calls(16);
  for (const Outcome& call : calls) system.Ask(desk.echo(), TextOf(large), kWithin, call.Callback());
  for (const Outcome& call : calls) EXPECT_FALSE(IsExpired(call.Await())) << call.Await();
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
}

}  // namespace
}  // namespace understudy
