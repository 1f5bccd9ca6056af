#include "understudy/tests/build/internal/greeter.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/tests/build/greeting.grpc.pb.h"
#include "understudy/tests/build/greeting.pb.h"

namespace understudy::build_test {

GreeterServer::GreeterServer() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

GreeterServer::~GreeterServer() = default;

std::string GreeterServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

grpc::Status GreeterServer::Greet(grpc::ServerContext*, const tests::build::GreetRequest* request,
                                  tests::build::GreetReply* reply) {
  reply->set_text(absl::StrCat("Good evening, ", request->name()));
  reply->mutable_at()->set_seconds(1);
  return grpc::Status::OK;
}

absl::StatusOr<std::string> Greet(const std::string& address, const std::string& name, absl::Duration timeout) {
  auto stub = tests::build::Greeter::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  context.set_wait_for_ready(true);
  tests::build::GreetRequest request;
  request.set_name(name);
  tests::build::GreetReply reply;
  grpc::Status status = stub->Greet(&context, request, &reply);
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  return reply.text();
}

}  // namespace understudy::build_test
