// TestCollector: a collector of traces on loopback, as OpenTelemetry's would be.
//
//   TestCollector collector;
//   … an exporter sends to collector.address() …
//   EXPECT_TRUE(collector.Await([](const TestCollector::Spans& spans) { return spans.size() == 7; }));
//
// Any thread, but for the constructor and the destructor.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRACING_TEST_COLLECTOR_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRACING_TEST_COLLECTOR_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/proto/otlp/otlp.grpc.pb.h"
#include "understudy/proto/otlp/otlp.pb.h"
#include "understudy/proto/otlp/trace.pb.h"

namespace understudy {

class TestCollector {
 public:
  // A span and the name of the service that sent it.
  struct Received {
    std::string service;
    opentelemetry::proto::trace::v1::Span span;
  };
  using Spans = std::vector<Received>;

  // Port 0: a free one. If the port is taken, port() is 0.
  explicit TestCollector(
      int port = 0, const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~TestCollector() {
    Resume();
    if (server_ == nullptr) return;
    server_->Shutdown();
    server_->Wait();
  }
  TestCollector(const TestCollector&) = delete;
  TestCollector& operator=(const TestCollector&) = delete;

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // From now on answers no request, until Resume.
  void Pause() { service_.SetPaused(true); }
  void Resume() { service_.SetPaused(false); }
  // From now on says that it did not take so many spans of each request.
  void RejectOfEach(int64_t spans) { service_.RejectOfEach(spans); }

  // Waits until `done` holds of the spans that came.
  bool Await(const std::function<bool(const Spans&)>& done) { return service_.Await(done); }
  Spans spans() { return service_.spans(); }
  // How many spans each request had.
  std::vector<int> requests() { return service_.requests(); }

 private:
  using Request = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
  using Response = opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;

  class Service final : public opentelemetry::proto::collector::trace::v1::TraceService::Service {
   public:
    grpc::Status Export(grpc::ServerContext* /*context*/, const Request* request, Response* response) override {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(+[](bool* paused) { return !*paused; }, &is_paused_));
      int spans = 0;
      for (const auto& source : request->resource_spans()) {
        std::string name;
        for (const auto& attribute : source.resource().attributes()) {
          if (attribute.key() == "service.name") name = attribute.value().string_value();
        }
        for (const auto& scope : source.scope_spans()) {
          for (const auto& span : scope.spans()) spans_.push_back({.service = name, .span = span});
          spans += scope.spans_size();
        }
      }
      requests_.push_back(spans);
      response->mutable_partial_success()->set_rejected_spans(rejected_of_each_);
      return grpc::Status::OK;
    }
    void SetPaused(bool is_paused) {
      absl::MutexLock lock(&mu_);
      is_paused_ = is_paused;
    }
    void RejectOfEach(int64_t spans) {
      absl::MutexLock lock(&mu_);
      rejected_of_each_ = spans;
    }
    bool Await(const std::function<bool(const Spans&)>& done) {
      absl::MutexLock lock(&mu_);
      const auto is_done = [&] {
        mu_.AssertReaderHeld();
        return done(spans_);
      };
      return mu_.AwaitWithTimeout(absl::Condition(&is_done), absl::Seconds(60));
    }
    Spans spans() {
      absl::MutexLock lock(&mu_);
      return spans_;
    }
    std::vector<int> requests() {
      absl::MutexLock lock(&mu_);
      return requests_;
    }

   private:
    absl::Mutex mu_;
    bool is_paused_ ABSL_GUARDED_BY(mu_) = false;
    int64_t rejected_of_each_ ABSL_GUARDED_BY(mu_) = 0;
    Spans spans_ ABSL_GUARDED_BY(mu_);
    std::vector<int> requests_ ABSL_GUARDED_BY(mu_);
  };

  int port_ = 0;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRACING_TEST_COLLECTOR_H_
