// Front: a system with a supervised desk, its gateway, and a plain gRPC client of it.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_FRONT_H_
#define UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_FRONT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/stub_options.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.grpc.pb.h"
#include "understudy/tests/transport/gateway/desk.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"

namespace understudy {

inline constexpr absl::Duration kWithin = absl::Seconds(60);

// Waits, for kWithin at most, until `holds` is true; returns whether it is.
template <class Condition>
bool Eventually(const Condition& holds) {
  const MonotonicTime until = Clock::Real().Now() + kWithin;
  while (!holds()) {
    if (Clock::Real().Now() >= until) return false;
    std::this_thread::yield();
  }
  return true;
}

inline desk::Text TextOf(std::string text) {
  desk::Text message;
  message.set_text(std::move(text));
  return message;
}

class Front {
 public:
  explicit Front(GatewayOptions options = {},
                 const std::shared_ptr<grpc::ChannelCredentials>& client = grpc::InsecureChannelCredentials(),
                 const grpc::ChannelArguments& arguments = {}) {
    if (options.exports.empty()) options.exports = {Export<desk::DeskRef>("desk")};
    absl::StatusOr<std::unique_ptr<Gateway>> started = Gateway::Start(system, std::move(options));
    EXPECT_TRUE(started.ok()) << started.status();
    gateway = *std::move(started);
    channel = grpc::CreateCustomChannel(gateway->addresses()[0], client, arguments);
    stub = desk::Desk::NewStub(channel);
    EXPECT_TRUE(system.AwaitStart(tree.pid(), kWithin).ok());
  }

  // Calls Echo, and expects it to succeed.
  std::string Echo(const std::string& text) {
    grpc::ClientContext context;
    desk::Text reply;
    const grpc::Status status = stub->Echo(&context, TextOf(text), &reply);
    EXPECT_TRUE(status.ok()) << status.error_code() << ": " << status.error_message();
    return reply.text();
  }
  grpc::Status EchoStatus(const std::string& text = "hello") {
    grpc::ClientContext context;
    desk::Text reply;
    return stub->Echo(&context, TextOf(text), &reply);
  }
  // Calls Echo on a connection of its own.
  grpc::Status EchoOnAnotherConnection() {
    grpc::ChannelArguments own;
    own.SetInt("test.connection", 1);  // channels with equal arguments would share a connection
    const auto other = desk::Desk::NewStub(
        grpc::CreateCustomChannel(gateway->addresses()[0], grpc::InsecureChannelCredentials(), own));
    grpc::ClientContext context;
    desk::Text reply;
    return other->Echo(&context, TextOf("other"), &reply);
  }
  grpc::Status Note() {
    grpc::ClientContext context;
    google::protobuf::Empty reply;
    return stub->Note(&context, TextOf("note"), &reply);
  }
  grpc::Status Open(bool is_open) {
    grpc::ClientContext context;
    desk::OpenRequest request;
    request.set_is_open(is_open);
    google::protobuf::Empty reply;
    return stub->Open(&context, request, &reply);
  }
  grpc::Status Provoke(const desk::Provocation& request) {
    grpc::ClientContext context;
    desk::Text reply;
    return stub->Provoke(&context, request, &reply);
  }
  grpc::Status Crash() {
    desk::Provocation request;
    request.set_crash(true);
    return Provoke(request);
  }

  // A unary call of any method, as bytes.
  grpc::Status CallBytes(const std::string& path, const std::string& request, std::string* reply = nullptr) {
    grpc::ClientContext context;
    const grpc::Slice slice(request.data(), request.size());
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer got;
    grpc::Status status;
    absl::Notification over;
    grpc::GenericStub(channel).UnaryCall(&context, path, grpc::StubOptions(), &sent, &got, [&](grpc::Status ended) {
      status = std::move(ended);
      over.Notify();
    });
    over.WaitForNotification();
    grpc::Slice bytes;
    if (status.ok() && reply != nullptr && got.DumpToSingleSlice(&bytes).ok()) {
      reply->assign(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    }
    return status;
  }

  KeptLog log;
  DeskEvents events;
  ActorSystem system{{.name = "front", .log = &log}};
  const SupervisorRef tree = system.Spawn(OneForOne()
                                              .Intensity(100, absl::Seconds(1))
                                              .Child("desk", Of<DeskKeeper>(&events).RegisteredAs("desk").Backoff(
                                                                 {.min = absl::Hours(1), .max = absl::Hours(1)})));
  std::unique_ptr<Gateway> gateway;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<desk::Desk::Stub> stub;
};

// Lets each of three clients make 100 calls by `call`, which gets the numbers of the client and of the call, begins a
// call and cancels it. Expects that the gateway then has no calls left.
inline void ExpectCancelsLeaveNothing(Front& front, const std::function<void(int client, int i)>& call) {
  EXPECT_EQ(front.Echo("first"), "first");
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
  const int64_t actors = front.system.live_actors();
  std::vector<std::thread> clients;
  for (int client = 0; client < 3; ++client) {
    clients.emplace_back([&call, client] {
      for (int i = 0; i < 100; ++i) call(client, i);
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
  EXPECT_TRUE(Eventually([&] { return front.system.live_actors() <= actors; }));
  EXPECT_EQ(front.gateway->counters().streams, 0);
  EXPECT_EQ(front.Echo("goes on"), "goes on");
}

// Takes a little time, which grows with `n`.
inline void Spin(int n) {
  for (int spin = 0; spin < n * 100; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
}

// A call of Wait under way, which the desk has when the constructor returns.
class WaitingCall {
 public:
  explicit WaitingCall(Front& front) {
    front.stub->async()->Wait(&context, &request_, &reply_, [this](grpc::Status ended) {
      status_ = std::move(ended);
      over_.Notify();
    });
    EXPECT_TRUE(front.events.waits.WaitForNotificationWithTimeout(kWithin));
  }
  ~WaitingCall() { context.TryCancel(), (void)Status(); }

  const grpc::Status& Status() {
    over_.WaitForNotification();
    return status_;
  }

  grpc::ClientContext context;

 private:
  const desk::Text request_;
  desk::Text reply_;
  grpc::Status status_;
  absl::Notification over_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_FRONT_H_
