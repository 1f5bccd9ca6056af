// Streams of requests of a plain gRPC client: items, their true end, flow control, early answers, cancellation, bounds
// and the drain.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/distant_desk.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/gateway/raw_call.h"
#include "understudy/transport/gateway/gateway.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

desk::Parcel ParcelOf(int number, size_t bytes = 0) {
  desk::Parcel parcel;
  parcel.set_text(absl::StrCat(number, " "));
  parcel.mutable_text()->resize(std::max(parcel.text().size(), bytes), '.');
  return parcel;
}

// A parcel after which the handler waits.
desk::Parcel StayingParcel(int number) {
  desk::Parcel parcel = ParcelOf(number);
  parcel.set_stay(true);
  return parcel;
}

// A parcel after which the handler ends.
desk::Parcel LastParcel(int number, int code = 0, const std::string& text = "") {
  desk::Parcel parcel = ParcelOf(number);
  parcel.mutable_end()->set_code(code);
  parcel.mutable_end()->set_text(text);
  return parcel;
}

// A call of Collect under way.
class Uploading {
 public:
  explicit Uploading(desk::Desk::Stub& stub, absl::Duration timeout = absl::InfiniteDuration()) {
    if (timeout != absl::InfiniteDuration()) {
      context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
    }
    writer_ = stub.Collect(&context, &reply_);
  }
  explicit Uploading(Front& front, absl::Duration timeout = absl::InfiniteDuration())
      : Uploading(*front.stub, timeout) {}
  ~Uploading() {
    if (writer_ == nullptr) return;
    context.TryCancel();
    (void)Status();
  }

  bool Send(const desk::Parcel& parcel) { return writer_->Write(parcel); }
  // Sends so many parcels, from that number on.
  void SendAll(int parcels, int from = 0, size_t bytes = 0) {
    for (int i = from; i < from + parcels; ++i) EXPECT_TRUE(Send(ParcelOf(i, bytes)));
  }
  // Waits for the status without half-closing the call.
  grpc::Status Status() {
    const grpc::Status status = writer_->Finish();
    writer_ = nullptr;
    return status;
  }
  // Half-closes the call, and waits for the status.
  grpc::Status End() {
    (void)writer_->WritesDone();
    return Status();
  }
  const std::string& reply() const { return reply_.text(); }

  grpc::ClientContext context;

 private:
  desk::Text reply_;
  std::unique_ptr<grpc::ClientWriter<desk::Parcel>> writer_;
};

void ExpectNothingUnderWay(Front& front) {
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
  EXPECT_EQ(front.gateway->counters().streams, 0);
}

// Expects that the actor saw `broken` streams end with an error, and none that was complete.
void ExpectBroken(Front& front, int broken) {
  EXPECT_TRUE(Eventually([&] { return front.events.broken + front.events.complete == broken; }));
  EXPECT_EQ(front.events.broken, broken);
}

TEST(GatewayUploadTest, TheItemsComeInOrderAndThenTheirEndAndTheClientGetsTheReply) {
  Front front;
  for (const int parcels : {0, 1, 1000}) {
    Uploading uploading(front);
    uploading.SendAll(parcels);
    EXPECT_TRUE(uploading.End().ok());
    EXPECT_EQ(uploading.reply(), absl::StrCat(parcels, " parcels"));
  }
  Uploading large(front);
  large.SendAll(3, 0, size_t{3} << 20);
  EXPECT_TRUE(large.End().ok());
  EXPECT_EQ(large.reply(), "3 parcels");
  EXPECT_EQ(front.events.complete, 4);
  EXPECT_EQ(front.gateway->counters().calls, 4);
  ExpectNothingUnderWay(front);
}

TEST(GatewayUploadTest, AnswersComeWhileItemsGo) {
  Front front;
  grpc::ClientContext context;
  const auto call = front.stub->Converse(&context);
  desk::Text answer;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(call->Write(ParcelOf(i)));
    ASSERT_TRUE(call->Read(&answer));
    EXPECT_EQ(answer.text(), absl::StrCat(i, " "));
  }
  EXPECT_TRUE(call->WritesDone());
  EXPECT_FALSE(call->Read(&answer));
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(front.events.complete, 1);
}

TEST(GatewayUploadTest, EachDirectionHasItsOwnFlow) {
  Front front;
  grpc::ClientContext context;
  const auto call = front.stub->Converse(&context);
  std::thread writing([&] {
    for (int i = 0; i < 300; ++i) EXPECT_TRUE(call->Write(ParcelOf(i, 16 << 10)));
    EXPECT_TRUE(call->WritesDone());
  });
  desk::Text answer;
  int read = 0;
  while (call->Read(&answer)) EXPECT_EQ(std::stoi(answer.text()), read++);
  writing.join();
  EXPECT_EQ(read, 300);
  EXPECT_TRUE(call->Finish().ok());
}

TEST(GatewayUploadTest, AConversationEndsWithTheActorsStatus) {
  Front front;
  grpc::ClientContext context;
  const auto call = front.stub->Converse(&context);
  ASSERT_TRUE(call->Write(ParcelOf(0)));
  ASSERT_TRUE(call->Write(LastParcel(1, 9, "no more")));
  desk::Text answer;
  EXPECT_TRUE(call->Read(&answer));
  EXPECT_FALSE(call->Read(&answer));
  const grpc::Status status = call->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "no more");
}

TEST(GatewayUploadTest, AnUploadThatBreaksOffIsNotTakenForACompleteOne) {
  Front front;
  const std::string parcel = RawCall::MessageOf(ParcelOf(0).SerializeAsString());
  const std::string half = parcel.substr(0, parcel.size() / 2);
  const std::vector<std::function<void(RawCall&)>> breaks = {
      [&](RawCall& client) { client.Send(parcel), client.Close(); },
      [&](RawCall& client) { client.Send(parcel), client.Reset(/*CANCEL*/ 8); },
      [&](RawCall& client) { client.Send(parcel), client.Reset(/*NO_ERROR*/ 0); },
      [&](RawCall& client) { client.Send(parcel), client.Reset(/*INTERNAL_ERROR*/ 2), client.Close(); },
      [&](RawCall& client) { client.Close(); },
      [&](RawCall& client) { client.Send(half), client.Close(); },
      [&](RawCall& client) { client.Send(half), client.Reset(/*CANCEL*/ 8); },
  };
  for (int round = 0; round < 30; ++round) {
    for (const auto& breaks_off : breaks) {
      RawCall client(front.gateway->addresses()[0], "/desk.Desk/Collect");
      // In every second round the break may come before the call has begun.
      if (round % 2 == 0) EXPECT_TRUE(Eventually([&] { return front.gateway->counters().streams == 1; }));
      breaks_off(client);
      EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
    }
  }
  EXPECT_GT(front.events.broken, 0);
  EXPECT_EQ(front.events.complete, 0);
  // The same client, but its last parcel also half-closes the call.
  RawCall client(front.gateway->addresses()[0], "/desk.Desk/Collect");
  client.SendLast(parcel);
  EXPECT_TRUE(Eventually([&] { return front.events.complete == 1; }));
}

TEST(GatewayUploadTest, ACancelReachesTheHandlerWhereItWaits) {
  for (const bool is_reading : {true, false}) {
    Front front;
    Uploading uploading(front);
    EXPECT_TRUE(uploading.Send(is_reading ? ParcelOf(0) : StayingParcel(0)));
    ASSERT_TRUE(Eventually([&] { return front.events.parcels == 1; }));
    uploading.context.TryCancel();
    EXPECT_EQ(uploading.Status().error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
    EXPECT_EQ(front.events.complete, 0);
    ExpectNothingUnderWay(front);
  }
}

TEST(GatewayUploadTest, ACancelAfterTheEndOfTheItemsReachesTheHandler) {
  Front front;
  grpc::ClientContext context;
  desk::Text reply;
  const auto writer = front.stub->Collect(&context, &reply);
  EXPECT_TRUE(writer->Write(StayingParcel(0)));
  EXPECT_TRUE(writer->WritesDone());
  ASSERT_TRUE(front.events.waits.WaitForNotificationWithTimeout(kWithin));
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
}

TEST(GatewayUploadTest, TheClientsDeadlineEndsTheUploadAtTheActor) {
  Front front;
  Uploading uploading(front, absl::Milliseconds(500));
  (void)uploading.Send(ParcelOf(0));
  EXPECT_EQ(uploading.Status().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ExpectNothingUnderWay(front);
  if (front.events.parcels == 1) ExpectBroken(front, 1);  // the deadline may have passed before the call came
}

TEST(GatewayUploadTest, AnUploadHasNoDefaultTimeout) {
  Front front({.default_timeout = absl::Milliseconds(1)});
  Uploading uploading(front);
  EXPECT_TRUE(uploading.Send(StayingParcel(0)));
  ASSERT_TRUE(front.events.waits.WaitForNotificationWithTimeout(kWithin));
  EXPECT_FALSE(front.events.cancelled.WaitForNotificationWithTimeout(absl::Milliseconds(100)));
}

TEST(GatewayUploadTest, AnActorThatDoesNotReadHoldsUpItsClientAndNobodyElse) {
  Front front;
  Uploading uploading(front, absl::Seconds(2));
  EXPECT_TRUE(uploading.Send(StayingParcel(0)));
  ASSERT_TRUE(front.events.waits.WaitForNotificationWithTimeout(kWithin));
  EXPECT_EQ(front.Echo("other"), "other");
  // The client waits for room, and its deadline ends that, long before it has written 256 MB.
  int written = 1;
  while (written < 4000 && uploading.Send(ParcelOf(written, 64 << 10))) ++written;
  // 256 KiB of credit, one item, and what gRPC has in hand, whose window grows as it measures the connection.
  EXPECT_LE(written, 1000);
  EXPECT_EQ(uploading.Status().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(front.events.parcels, 1);
}

TEST(GatewayUploadTest, AnUploadThatWaitsInItsMailboxHasNoItemsThere) {
  Front front;
  ASSERT_TRUE(front.Open(false).ok());
  Uploading uploading(front);
  uploading.SendAll(3);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().streams == 1; }));
  ASSERT_TRUE(front.Open(true).ok());
  EXPECT_TRUE(uploading.End().ok());
  EXPECT_EQ(uploading.reply(), "3 parcels");
}

TEST(GatewayUploadTest, AnAnswerBeforeTheEndOfTheItemsEndsTheCall) {
  for (const int code : {0, 9}) {
    Front front;
    Uploading uploading(front);
    uploading.SendAll(5);
    EXPECT_TRUE(uploading.Send(LastParcel(5, code, "no more")));
    int more = 6;
    while (uploading.Send(ParcelOf(more, 1000))) ++more;
    const grpc::Status status = uploading.Status();
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    if (code == 0) EXPECT_EQ(uploading.reply(), "5 parcels");
    if (code != 0) EXPECT_EQ(status.error_message(), "no more");
    EXPECT_EQ(front.events.complete, 0);
    EXPECT_EQ(front.events.broken, 0);
    ExpectNothingUnderWay(front);
  }
}

TEST(GatewayUploadTest, AnActorThatEndsOrDropsTheCallEndsItWithTheLibrarysError) {
  Front front;
  const auto end = [&](const desk::Parcel& last, grpc::StatusCode code, const std::string& reason) {
    Uploading uploading(front);
    uploading.SendAll(3);
    (void)uploading.Send(last);
    const grpc::Status status = uploading.Status();
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_details(), HasSubstr(reason));
  };
  desk::Parcel drop = ParcelOf(3), crash = ParcelOf(3);
  drop.mutable_end()->set_drop(true);
  end(drop, grpc::StatusCode::INTERNAL, "UNANSWERED");
  crash.mutable_end()->set_crash(true);
  end(crash, grpc::StatusCode::ABORTED, "CALLEE_EXITED");
  ExpectNothingUnderWay(front);
}

TEST(GatewayUploadTest, AnUploadThatCannotBeginEndsWithItsStatus) {
  Front front;
  ASSERT_TRUE(front.system.Ask(front.tree.terminate_child(), TerminateChild{.id = "desk"}, kWithin).ok());
  Uploading uploading(front);
  while (uploading.Send(ParcelOf(0))) {
  }
  const grpc::Status nobody = uploading.Status();
  EXPECT_EQ(nobody.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(nobody.error_details(), HasSubstr("NO_NAME"));
}

TEST(GatewayUploadTest, AnItemThatCannotBeParsedEndsTheCallAndTheUploadIsNotComplete) {
  Front front;
  const grpc::Status unparsable = front.CallBytes("/desk.Desk/Collect", "\x0a\xff");
  EXPECT_EQ(unparsable.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(unparsable.error_message(), HasSubstr("not a valid desk.Parcel"));
  ExpectNothingUnderWay(front);
  EXPECT_EQ(front.events.complete, 0);
}

TEST(GatewayUploadTest, AnItemBeyondItsBoundEndsTheCallAndTheUploadIsNotComplete) {
  Front front({.request_bytes_max = 10'000});
  for (int i = 1; i <= 20; ++i) {
    Uploading uploading(front);
    uploading.SendAll(1);
    EXPECT_TRUE(Eventually([&] { return front.events.parcels == i; }));
    (void)uploading.Send(ParcelOf(1, 20'000));
    EXPECT_EQ(uploading.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    ExpectBroken(front, i);
  }
  EXPECT_EQ(front.Echo("small"), "small");
}

TEST(GatewayUploadTest, TheBytesOfItemsCountAmongThoseOfRequests) {
  Front front({.requests_bytes_max = 10'000});
  Uploading many(front);
  many.SendAll(100, 0, 4'000);  // two of them count at a time
  EXPECT_TRUE(many.End().ok());
  Uploading beyond(front);
  EXPECT_TRUE(beyond.Send(ParcelOf(0, 6'000)));
  (void)beyond.Send(ParcelOf(1, 6'000));
  const grpc::Status status = beyond.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("more than 10000 bytes of requests"));
  ExpectNothingUnderWay(front);
  EXPECT_EQ(front.events.complete, 1);
  EXPECT_EQ(front.Echo(std::string(9'000, 'x')).size(), 9'000U);  // nothing is left of them
}

TEST(GatewayUploadTest, UploadsCountAsStreams) {
  Front front({.streams_max = 1});
  Uploading first(front);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().streams == 1; }));
  const grpc::Status second = Uploading(front).Status();
  EXPECT_EQ(second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(second.error_message(), HasSubstr("1 streams under way"));
  EXPECT_TRUE(first.End().ok());
}

TEST(GatewayUploadTest, AnUploadUnderWayEndsBeforeTheDrain) {
  Front front;
  Uploading uploading(front);
  uploading.SendAll(1);
  ASSERT_TRUE(Eventually([&] { return front.events.parcels == 1; }));
  bool in_time = false;
  std::thread draining([&] { in_time = front.gateway->Drain(absl::Minutes(10)); });
  while (Uploading(front, absl::Milliseconds(20)).Status().error_code() != grpc::StatusCode::UNAVAILABLE) {
  }
  uploading.SendAll(199, 1, 10'000);
  EXPECT_TRUE(uploading.End().ok());
  EXPECT_EQ(uploading.reply(), "200 parcels");
  draining.join();
  EXPECT_TRUE(in_time);
}

TEST(GatewayUploadTest, AnUploadThatIsLeftAfterTheDrainsTimeIsCancelledAtTheActor) {
  for (const bool is_reading : {true, false}) {
    Front front;
    Uploading uploading(front);
    EXPECT_TRUE(uploading.Send(is_reading ? ParcelOf(0) : StayingParcel(0)));
    ASSERT_TRUE(Eventually([&] { return front.events.parcels == 1; }));
    EXPECT_FALSE(front.gateway->Drain(absl::Milliseconds(10)));
    EXPECT_FALSE(uploading.Status().ok());
    EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
    EXPECT_EQ(front.events.complete, 0);
  }
}

TEST(GatewayUploadTest, AnUploadOutlivesNeitherItsActorNorItsSystem) {
  Front front;
  Uploading uploading(front);
  uploading.SendAll(1);
  ASSERT_TRUE(Eventually([&] { return front.events.parcels == 1; }));
  EXPECT_TRUE(front.system.Shutdown(kWithin));
  EXPECT_FALSE(uploading.Status().ok());
  EXPECT_FALSE(Uploading(front).Status().ok());
  ExpectNothingUnderWay(front);
}

TEST(GatewayUploadTest, UploadsThatAreCancelledAtAnyMomentAreNotCompleteAndLeaveNothingBehind) {
  Front front;
  ExpectCancelsLeaveNothing(front, [&front](int client, int i) {
    Uploading uploading(front);
    for (int sent = 0; sent < (i + client) % 7; ++sent)
      (void)uploading.Send(ParcelOf(sent, static_cast<size_t>(i) * 500));
    Spin(i * client);
    uploading.context.TryCancel();
    if (i % 2 == 0) (void)uploading.Status();
  });
  EXPECT_EQ(front.events.complete, 0);
}

TEST(GatewayUploadTest, ItReachesAnActorOnAnotherNode) {
  DistantDesk back;
  Uploading uploading(*back.stub);
  uploading.SendAll(200, 0, 5'000);
  EXPECT_TRUE(uploading.End().ok());
  EXPECT_EQ(uploading.reply(), "200 parcels");
  Uploading cut(*back.stub);
  cut.SendAll(1);
  ASSERT_TRUE(Eventually([&] { return back.events.parcels == 201; }));
  cut.context.TryCancel();
  EXPECT_FALSE(cut.Status().ok());
  EXPECT_TRUE(Eventually([&] { return back.events.broken == 1; }));
  EXPECT_EQ(back.events.complete, 1);
}

}  // namespace
}  // namespace understudy
