// Tests of a gateway's queue with many calls at once, calls that end at any moment, and calls without a request.
#include "understudy/transport/gateway/incoming_call.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/stub_options.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/gateway/raw_call.h"
#include "understudy/transport/gateway/gateway_limits.h"

namespace understudy {
namespace {

constexpr char kEcho[] = "/desk.Desk/Echo";

TEST(IncomingCallTest, CallsThatComeAtOnceAreAllAnswered) {
  constexpr int kConnections = 4;
  constexpr int kCallsOfEach = 50;
  Front front;
  struct Call {
    grpc::ClientContext context;
    desk::Text request;
    desk::Text reply;
  };
  std::vector<std::unique_ptr<desk::Desk::Stub>> stubs;
  std::vector<std::unique_ptr<Call>> calls;
  absl::BlockingCounter left(kConnections * kCallsOfEach);
  std::atomic<int> answered{0};
  for (int i = 0; i < kConnections; ++i) {
    grpc::ChannelArguments own;
    own.SetInt("test.connection", i);  // channels with equal arguments would share a connection
    stubs.push_back(desk::Desk::NewStub(
        grpc::CreateCustomChannel(front.gateway->addresses()[0], grpc::InsecureChannelCredentials(), own)));
    for (int k = 0; k < kCallsOfEach; ++k) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      call.request = TextOf(std::to_string(k));
      stubs.back()->async()->Echo(&call.context, &call.request, &call.reply, [&](const grpc::Status& status) {
        if (status.ok() && call.reply.text() == call.request.text()) ++answered;
        left.DecrementCount();
      });
    }
  }
  left.Wait();
  EXPECT_EQ(answered, kConnections * kCallsOfEach);
  EXPECT_EQ(front.gateway->counters().calls, kConnections * kCallsOfEach);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
}

TEST(IncomingCallTest, UnaryCallsThatAreCancelledAtAnyMomentLeaveNothingBehind) {
  Front front;
  ExpectCancelsLeaveNothing(front, [&front](int client, int i) {
    grpc::ClientContext context;
    const desk::Text request = TextOf(std::string(static_cast<size_t>(i % 7) * 1000, 'x'));
    desk::Text reply;
    absl::Notification over;
    const auto end = [&over](const grpc::Status&) { over.Notify(); };
    if (i % 2 == 0) {
      front.stub->async()->Wait(&context, &request, &reply, end);
    } else {
      front.stub->async()->Echo(&context, &request, &reply, end);
    }
    Spin(i * client);
    context.TryCancel();
    over.WaitForNotification();
  });
}

// A call that half-closes without having sent a request.
class SilentCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit SilentCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& path) {
    grpc::GenericStub(channel).PrepareBidiStreamingCall(&context_, path, grpc::StubOptions(), this);
    StartWritesDone();
    StartCall();
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    over_.Notify();
  }
  const grpc::Status& Status() {
    over_.WaitForNotification();
    return status_;
  }

 private:
  grpc::ClientContext context_;
  grpc::Status status_;
  absl::Notification over_;
};

TEST(IncomingCallTest, ACallWithoutARequestIsInternal) {
  Front front;
  for (const char* path : {kEcho, "/desk.Desk/Count", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"}) {
    SilentCall call(front.channel, path);
    EXPECT_EQ(call.Status().error_code(), grpc::StatusCode::INTERNAL) << path << ": " << call.Status().error_message();
  }
  EXPECT_EQ(front.Echo("served"), "served");
}

TEST(IncomingCallTest, ACallThatBreaksOffBeforeItsRequestIsCompleteLeavesNothingBehind) {
  Front front;
  const std::string message = RawCall::MessageOf(TextOf("cut").SerializeAsString());
  for (const std::string& sent : {std::string(), message.substr(0, 3), message.substr(0, message.size() - 1)}) {
    RawCall reset(front.gateway->addresses()[0], kEcho);
    reset.Send(sent);
    reset.Reset(8);  // CANCEL
    RawCall cut(front.gateway->addresses()[0], kEcho);
    cut.Send(sent);
    cut.Close();
  }
  // The drain would wait if a call were left.
  EXPECT_TRUE(front.gateway->Drain(kWithin));
  EXPECT_EQ(front.gateway->counters().under_way, 0);
}

TEST(IncomingCallTest, ADrainEndsACallThatStaysWithoutItsRequest) {
  Front front;
  RawCall stays(front.gateway->addresses()[0], kEcho);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 1; }));
  EXPECT_FALSE(front.gateway->Drain(absl::Milliseconds(10)));
  EXPECT_EQ(front.gateway->counters().under_way, 0);
}

// The only place for a call of a gateway is taken by one whose client does nothing more.
void ExpectThePlaceIsFreeAgain(const std::string& path, const std::string& request, const RawCall::Options& options) {
  SCOPED_TRACE(path);
  Front front({.transfer_timeout = absl::Milliseconds(200), .calls_max = 1});
  RawCall stays(front.gateway->addresses()[0], path, options);
  if (!request.empty()) stays.SendLast(request);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().calls == 1; }));
  EXPECT_TRUE(Eventually([&] { return front.EchoStatus().ok(); }));
}

TEST(IncomingCallTest, ACallWhoseRequestDoesNotComeIsCancelledInTime) {
  for (const char* path : {kEcho, "/desk.Desk/Count"}) ExpectThePlaceIsFreeAgain(path, "", {});
}

TEST(IncomingCallTest, ACallWhoseClientDoesNotTakeTheReplyIsCancelledInTime) {
  ExpectThePlaceIsFreeAgain(kEcho, RawCall::MessageOf(TextOf("hello").SerializeAsString()), {.window = 0});
  desk::Parcel parcel;
  parcel.set_text("0 ");
  ExpectThePlaceIsFreeAgain("/desk.Desk/Collect", RawCall::MessageOf(parcel.SerializeAsString()), {.window = 0});
}

TEST(IncomingCallTest, ADrainDoesNotWaitForAClientThatKeepsAnIdleConnectionOpen) {
  Front front;
  RawCall call(front.gateway->addresses()[0], kEcho);
  call.SendLast(RawCall::MessageOf(TextOf("answered").SerializeAsString()));
  ASSERT_TRUE(call.Hears("answered"));
  EXPECT_TRUE(front.gateway->Drain(absl::Hours(1)));  // without the bound the test would not end
}

TEST(IncomingCallTest, ADrainWhoseCallsEndInTimeSaysSoThoughAConnectionStaysOpen) {
  // The call must end within the last second of the drain, so that the connection stays until its time is over.
  constexpr absl::Duration kDrain = limits::kConnectionsCloseWithin;
  bool ended_in_time = false;
  while (!ended_in_time) {  // again if this machine was too slow
    Front front;
    RawCall idle(front.gateway->addresses()[0], kEcho);
    idle.SendLast(RawCall::MessageOf(TextOf("answered").SerializeAsString()));
    ASSERT_TRUE(idle.Hears("answered"));
    WaitingCall call(front);
    const MonotonicTime began = Clock::Real().Now();
    bool drained = false;
    std::thread draining([&] { drained = front.gateway->Drain(kDrain); });
    while (front.EchoStatus().error_code() != grpc::StatusCode::UNAVAILABLE) {
    }
    call.context.TryCancel();
    EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
    ended_in_time = Clock::Real().Now() - began < kDrain;
    draining.join();
    if (ended_in_time) EXPECT_TRUE(drained);
  }
}

TEST(IncomingCallTest, ADeadlineBeyondTheYear2262HasNotPassed) {
  Front front;
  for (const char* timeout : {"2562047H", "99999999H"}) {
    RawCall call(front.gateway->addresses()[0], kEcho, {.timeout = timeout});
    call.SendLast(RawCall::MessageOf(TextOf("far away").SerializeAsString()));
    EXPECT_TRUE(call.Hears("far away")) << timeout;
  }
}

TEST(IncomingCallTest, ACallThatComesWhenADrainBeginsIsNotKeptUntilTheDrainEnds) {
  constexpr int kRounds = 30;  // about one drain in nine meets such a call
  for (int round = 0; round < kRounds; ++round) {
    Front front;
    WaitingCall call(front);  // the drain waits for it
    std::thread draining([&] { EXPECT_TRUE(front.gateway->Drain(absl::Minutes(10))); });
    grpc::Status status;
    while (status.error_code() != grpc::StatusCode::UNAVAILABLE &&
           status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
      desk::Text reply;
      status = front.stub->Echo(&context, TextOf("comes"), &reply);
    }
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    call.context.TryCancel();
    draining.join();
  }
}

}  // namespace
}  // namespace understudy
