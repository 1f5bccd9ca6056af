// Tests of what an actor can learn about the client whose call it handles.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/distant_desk.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

GatewayOptions TellingCallers(std::vector<std::string> keys = {}) {
  return {.exports = {Export<desk::DeskRef>("desk").WithCaller(std::move(keys))}};
}

// Calls Who. The text of its reply, or of the error.
std::string Who(Front& front, grpc::ClientContext& context, grpc::Status* status = nullptr) {
  desk::Text reply;
  const grpc::Status ended = front.stub->Who(&context, TextOf(""), &reply);
  if (status != nullptr) *status = ended;
  return ended.ok() ? reply.text() : ended.error_message();
}

void ExpectNoCallersLeft(Front& front) {
  const MonotonicTime until = Clock::Real().Now() + kWithin;
  while (front.system.callers().size() > 0 && Clock::Real().Now() < until) std::this_thread::yield();
  EXPECT_EQ(front.system.callers().size(), 0U);
}

TEST(GatewayCallerTest, AHandlerIsToldTheClientsDeadlineAndTheMetadataThatTheExportNames) {
  Front front(TellingCallers({"trace-bin", "x-request-id", "x-absent"}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(3));
  context.AddMetadata("x-request-id", "first");
  context.AddMetadata("x-secret", "not for the actor");
  context.AddMetadata("x-request-id", "second");
  context.AddMetadata("trace-bin", "\x01\x7F");
  EXPECT_EQ(Who(front, context), "names:\ndeadline:3h\ntrace-bin=\x01\x7F\nx-request-id=first\nx-request-id=second");
  ExpectNoCallersLeft(front);
}

TEST(GatewayCallerTest, AClientWithoutADeadlineHasNone) {
  Front front(TellingCallers());
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", "not named");
  EXPECT_EQ(Who(front, context), "names:\ndeadline:none");
}

TEST(GatewayCallerTest, TheHandlerOfAStreamIsToldItsCaller) {
  Front front(TellingCallers({"x-request-id"}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(2));
  context.AddMetadata("x-request-id", "7");
  const auto reader = front.stub->Whose(&context, TextOf(""));
  desk::Text item;
  ASSERT_TRUE(reader->Read(&item));
  EXPECT_EQ(item.text(), "names:\ndeadline:2h\nx-request-id=7");
  EXPECT_FALSE(reader->Read(&item));
  EXPECT_TRUE(reader->Finish().ok());
  ExpectNoCallersLeft(front);
}

TEST(GatewayCallerTest, TheHandlerOfAnUploadIsToldItsCaller) {
  Front front(TellingCallers({"x-request-id"}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(2));
  context.AddMetadata("x-request-id", "8");
  desk::Text reply;
  const auto writer = front.stub->Collect(&context, &reply);
  desk::Parcel parcel;
  parcel.set_text("0 ");
  EXPECT_TRUE(writer->Write(parcel));
  parcel.set_text("1 ");
  parcel.set_who(true);
  EXPECT_TRUE(writer->Write(parcel));
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(reply.text(), "names:\ndeadline:2h\nx-request-id=8");
  ExpectNoCallersLeft(front);
}

TEST(GatewayCallerTest, WithoutWithCallerTheActorIsToldNothing) {
  Front front;
  grpc::ClientContext context;
  grpc::Status status;
  EXPECT_THAT(Who(front, context, &status), HasSubstr("not known as a client's"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(GatewayCallerTest, ACastHasNoCaller) {
  Front front(TellingCallers());
  ASSERT_TRUE(front.Note().ok());
  ASSERT_TRUE(front.events.noted.WaitForNotificationWithTimeout(kWithin));
  EXPECT_EQ(front.events.noted_for.code(), absl::StatusCode::kFailedPrecondition) << front.events.noted_for;
}

TEST(GatewayCallerTest, AThreadThatAsksIsNoClient) {
  Front front(TellingCallers());
  const absl::StatusOr<desk::DeskRef> desk = front.system.Lookup<desk::DeskRef>("desk", kWithin);
  ASSERT_TRUE(desk.ok()) << desk.status();
  const absl::StatusOr<desk::Text> who = front.system.Ask(desk->who(), TextOf(""), kWithin);
  EXPECT_EQ(who.status().code(), absl::StatusCode::kNotFound) << who.status();
}

TEST(GatewayCallerTest, MoreMetadataThanTheBoundIsRefusedAndDoesNotReachTheActor) {
  Front front(TellingCallers({"x-many"}));
  for (const int values : {64, 65}) {
    grpc::ClientContext context;
    for (int i = 0; i < values; ++i) context.AddMetadata("x-many", absl::StrCat(i));
    grpc::Status status;
    const std::string text = Who(front, context, &status);
    if (values == 64) {
      EXPECT_TRUE(status.ok()) << text;
      EXPECT_THAT(text, HasSubstr("x-many=63"));
    } else {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_THAT(text, HasSubstr("65 values of metadata"));
    }
  }
  grpc::ClientContext context;
  for (int i = 0; i < 65; ++i) context.AddMetadata("x-many", absl::StrCat(i));
  const auto reader = front.stub->Whose(&context, TextOf(""));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const MonotonicTime until = Clock::Real().Now() + kWithin;
  while (front.gateway->counters().under_way > 0 && Clock::Real().Now() < until) std::this_thread::yield();
  EXPECT_EQ(front.gateway->counters().under_way, 0);  // those that were refused too
}

TEST(GatewayCallerTest, EachInvalidKeyHasItsError) {
  const auto expect = [](std::vector<std::string> keys, const std::string& text) {
    ActorSystem system;
    const absl::Status status = Gateway::Start(system, TellingCallers(std::move(keys))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  expect({""}, "'' is not a metadata key");
  expect({"X-Upper"}, "'X-Upper' is not a metadata key");
  expect({":path"}, "':path' is not a metadata key");
  expect({"grpc-timeout"}, "'grpc-timeout' is not a metadata key");
  expect({"x-a", "x-a"}, "'x-a' is there twice");
  expect(std::vector<std::string>(17, "x"), "17 metadata keys");
}

TEST(GatewayCallerTest, AHandlerOnAnotherNodeIsToldNothing) {
  const DistantDesk back(Export<desk::DeskRef>(DistantDesk::kName).WithCaller());
  grpc::ClientContext context;
  desk::Text reply;
  EXPECT_EQ(back.stub->Who(&context, TextOf(""), &reply).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace understudy
