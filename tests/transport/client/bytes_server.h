// BytesServer: a gRPC server that reads nothing, and answers every call with the same bytes, however many messages
// these are, and then with OK.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLIENT_BYTES_SERVER_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLIENT_BYTES_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace understudy {

class BytesServer {
 public:
  explicit BytesServer(std::vector<std::string> answers) : service_(std::move(answers)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
  }
  ~BytesServer() { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  class Answering final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Answering(const std::vector<std::string>& answers) : answers_(answers) { Go(); }
    void OnWriteDone(bool /*ok*/) override { Go(); }
    void OnDone() override { delete this; }

   private:
    void Go() {
      if (next_ == answers_.size()) return Finish(grpc::Status::OK);
      const grpc::Slice slice(answers_[next_++]);
      answer_ = grpc::ByteBuffer(&slice, 1);
      StartWrite(&answer_);
    }

    const std::vector<std::string>& answers_;
    size_t next_ = 0;
    grpc::ByteBuffer answer_;
  };
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(std::vector<std::string> answers) : answers_(std::move(answers)) {}
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
      return new Answering(answers_);
    }

   private:
    const std::vector<std::string> answers_;
  };

  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLIENT_BYTES_SERVER_H_
