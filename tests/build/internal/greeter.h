#ifndef UNDERSTUDY_TESTS_BUILD_INTERNAL_GREETER_H_
#define UNDERSTUDY_TESTS_BUILD_INTERNAL_GREETER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/tests/build/greeting.grpc.pb.h"

namespace understudy::build_test {

// A gRPC service on a free port of the loopback, for as long as it lives.
class GreeterServer : public tests::build::Greeter::Service {
 public:
  GreeterServer();
  ~GreeterServer() override;

  [[nodiscard]] std::string address() const;
  grpc::Status Greet(grpc::ServerContext* context, const tests::build::GreetRequest* request,
                     tests::build::GreetReply* reply) override;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Asks the service at `address`; the reply's text, or how the call failed.
absl::StatusOr<std::string> Greet(const std::string& address, const std::string& name, absl::Duration timeout);

}  // namespace understudy::build_test

#endif  // UNDERSTUDY_TESTS_BUILD_INTERNAL_GREETER_H_
