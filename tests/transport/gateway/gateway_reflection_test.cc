// Reflection of a gateway, as grpcurl and others ask for it.
#include <grpcpp/client_context.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "understudy/proto/reflection.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/gateway/raw_call.h"
#include "understudy/transport/gateway/gateway.h"
#include "understudy/transport/gateway/gateway_limits.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// A client's call of the reflection service.
class Asking {
 public:
  explicit Asking(const Front& front, const char* version = "v1") {
    path_ = absl::StrCat("/grpc.reflection.", version, ".ServerReflection/ServerReflectionInfo");
    const grpc::internal::RpcMethod method(path_.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, front.channel);
    stream_.reset(grpc::internal::ClientReaderWriterFactory<proto::ReflectionRequest, proto::ReflectionReply>::Create(
        front.channel.get(), method, &context));
  }
  ~Asking() {
    context.TryCancel();
    if (stream_ != nullptr) (void)End();
  }

  proto::ReflectionReply Ask(const proto::ReflectionRequest& request) {
    proto::ReflectionReply reply;
    EXPECT_TRUE(stream_->Write(request) && stream_->Read(&reply));
    return reply;
  }
  proto::ReflectionReply AskForServices() {
    proto::ReflectionRequest request;
    request.set_list_services("*");
    return Ask(request);
  }
  proto::ReflectionReply AskForSymbol(const std::string& name) {
    proto::ReflectionRequest request;
    request.set_file_containing_symbol(name);
    return Ask(request);
  }
  proto::ReflectionReply AskForFile(const std::string& name) {
    proto::ReflectionRequest request;
    request.set_file_by_filename(name);
    return Ask(request);
  }
  void Write(const proto::ReflectionRequest& request) { EXPECT_TRUE(stream_->Write(request)); }
  // Waits until the server ends the call.
  grpc::Status End() {
    proto::ReflectionReply reply;
    while (stream_->Read(&reply)) {
    }
    const grpc::Status status = stream_->Finish();
    stream_ = nullptr;
    return status;
  }
  void HalfClose() { stream_->WritesDone(); }

  grpc::ClientContext context;

 private:
  std::string path_;
  std::unique_ptr<grpc::ClientReaderWriter<proto::ReflectionRequest, proto::ReflectionReply>> stream_;
};

std::vector<std::string> FilesIn(const proto::ReflectionReply& reply) {
  std::vector<std::string> names;
  for (const std::string& bytes : reply.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  return names;
}

constexpr char kDeskFile[] = "understudy/tests/transport/gateway/desk.proto";

TEST(GatewayReflectionTest, ItTellsTheExportedServicesAndTheFilesThatTheyNeed) {
  Front front;
  for (const char* version : {"v1", "v1alpha"}) {
    Asking asking(front, version);
    const proto::ReflectionReply services = asking.AskForServices();
    ASSERT_EQ(services.list_services_response().service_size(), 1);
    EXPECT_EQ(services.list_services_response().service(0).name(), "desk.Desk");
    EXPECT_EQ(services.original_request().list_services(), "*");
    for (const char* symbol : {"desk.Desk", "desk.Desk.Echo", "desk.Text", "desk.Text.text"}) {
      const std::vector<std::string> files = FilesIn(asking.AskForSymbol(symbol));
      ASSERT_FALSE(files.empty()) << symbol;
      EXPECT_EQ(files[0], kDeskFile);
      EXPECT_THAT(files, Contains("google/protobuf/empty.proto"));
    }
    EXPECT_EQ(FilesIn(asking.AskForFile(kDeskFile))[0], kDeskFile);
    EXPECT_THAT(FilesIn(asking.AskForFile("google/protobuf/empty.proto")), ElementsAre("google/protobuf/empty.proto"));
    asking.HalfClose();
    EXPECT_TRUE(asking.End().ok());
  }
}

TEST(GatewayReflectionTest, WhatNoExportedServiceNeedsIsNotFound) {
  Front front;
  Asking asking(front);
  for (const proto::ReflectionReply& reply :
       {asking.AskForSymbol("understudy.proto.HealthReply"), asking.AskForSymbol(""),
        asking.AskForFile("understudy/proto/gateway.proto"), asking.AskForFile(std::string(4000, 'x'))}) {
    EXPECT_EQ(reply.error_response().error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_LE(reply.error_response().error_message().size(), 2000U);
  }
  proto::ReflectionRequest extension;
  extension.set_all_extension_numbers_of_type("desk.Text");
  EXPECT_EQ(asking.Ask(extension).error_response().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(GatewayReflectionTest, ALongRequestEndsItsCall) {
  Front front;
  Asking asking(front);
  proto::ReflectionRequest request;
  request.set_file_by_filename(std::string(1 << 20, 'x'));
  asking.Write(request);
  EXPECT_EQ(asking.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(GatewayReflectionTest, ItIsServedOnLoopbackUnlessAnOptionSaysOtherwise) {
  Front never({.reflection = ServeReflection::kNever});
  EXPECT_EQ(Asking(never).End().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(GatewayReflectionTest, ItsCallsAreBoundedAndADrainEndsThem) {
  Front front;
  std::vector<std::unique_ptr<Asking>> calls;
  for (size_t i = 0; i < limits::kReflectionCallsMax; ++i) {
    calls.push_back(std::make_unique<Asking>(front));
    (void)calls.back()->AskForServices();
  }
  EXPECT_EQ(Asking(front).End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  calls.pop_back();
  EXPECT_TRUE(front.gateway->Drain(absl::Minutes(10)));
  for (const auto& call : calls) EXPECT_EQ(call->End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

constexpr char kPath[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

// Begins a call whose client asks and reads nothing. The server is writing the reply when the function returns.
std::unique_ptr<RawCall> UnreadCall(const Front& front) {
  auto call = std::make_unique<RawCall>(front.gateway->addresses()[0], kPath, RawCall::Options{.window = 0});
  proto::ReflectionRequest request;
  request.set_file_by_filename(kDeskFile);
  call->Send(RawCall::MessageOf(request.SerializeAsString()));
  EXPECT_TRUE(call->Hears("application/grpc"));  // the headers before the reply
  return call;
}

TEST(GatewayReflectionTest, ADrainDoesNotWaitForAClientThatDoesNotRead) {
  Front front;
  const auto call = UnreadCall(front);
  EXPECT_TRUE(front.gateway->Drain(absl::Hours(1)));  // without the bound the test would not end
}

TEST(GatewayReflectionTest, AClientThatReadsNothingOrAsksNothingKeepsItsPlaceForATimeOnly) {
  // A connection without a call is closed.
  Front front({.transfer_timeout = absl::Milliseconds(200), .connection_idle_max = absl::Milliseconds(100)});
  const auto unread = UnreadCall(front);
  const RawCall silent(front.gateway->addresses()[0], kPath);
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().connections_without_call == 0; }));
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().connections == 0; }));
}

}  // namespace
}  // namespace understudy
