// PlainDesk: desk.proto's service on gRPC alone, with a server that can go and come back at its port.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLIENT_PLAIN_DESK_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLIENT_PLAIN_DESK_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/client/plain_uploads.h"
#include "understudy/tests/transport/gateway/desk.grpc.pb.h"
#include "understudy/tests/transport/gateway/desk.pb.h"

namespace understudy {

// Counts of the calls that the service got. A call is counted last, after its other data was stored, so a test that
// waits for the count may read the data.
struct DeskCounts {
  std::atomic<int> echoes{0};
  std::atomic<int> notes{0};
  std::atomic<int> waits{0};      // calls of Wait, and of Count that stays, that have arrived
  std::atomic<int> cancelled{0};  // those of them that were cancelled
  std::atomic<int> minutes{-1};   // from the last Wait to its deadline, rounded up
  UploadCounts uploads;

  absl::Mutex mu;
  std::vector<std::string> traces ABSL_GUARDED_BY(mu);  // the `traceparent` of each Echo, Note and stream; empty: none

  void NoteTrace(const grpc::CallbackServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find("traceparent");
    absl::MutexLock lock(&mu);
    traces.emplace_back(found == metadata.end() ? "" : std::string(found->second.data(), found->second.size()));
  }
  std::vector<std::string> its_traces() {
    absl::MutexLock lock(&mu);
    return traces;
  }
};

class PlainDeskService final : public desk::Desk::CallbackService {
 public:
  explicit PlainDeskService(DeskCounts& counts) : counts_(counts) {}

 private:
  // Ends when it is cancelled.
  class Waiting final : public grpc::ServerUnaryReactor {
   public:
    explicit Waiting(DeskCounts& counts) : counts_(counts) { ++counts_.waits; }
    void OnCancel() override {
      ++counts_.cancelled;
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    DeskCounts& counts_;
  };

  // Writes the items, and then ends as the request says.
  class Counting final : public grpc::ServerWriteReactor<desk::Text> {
   public:
    Counting(DeskCounts& counts, desk::CountRequest request) : counts_(counts), request_(std::move(request)) { Go(); }
    void OnWriteDone(bool ok) override {
      {
        absl::MutexLock lock(&mu_);
        is_writing_ = false;
        if (!ok) is_cancelled_ = true;
      }
      Go();
    }
    void OnCancel() override {
      ++counts_.cancelled;
      {
        absl::MutexLock lock(&mu_);
        is_cancelled_ = true;
        if (is_writing_ || std::exchange(has_ended_, true)) return;
      }
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    // Nothing of this object is used after a Finish, or after it waits for OnCancel.
    void Go() {
      absl::optional<grpc::Status> end;
      {
        absl::MutexLock lock(&mu_);
        if (is_cancelled_) {
          end = grpc::Status::CANCELLED;
        } else if (next_ < request_.items()) {
          is_writing_ = true;
        } else if (request_.stay()) {
          ++counts_.waits;
          return;
        } else {
          end = grpc::Status(static_cast<grpc::StatusCode>(request_.end().code()), request_.end().text());
        }
        if (end.has_value() && std::exchange(has_ended_, true)) return;
      }
      if (end.has_value()) return Finish(*end);
      item_.set_text(absl::StrCat(next_++));
      StartWrite(&item_);
    }

    DeskCounts& counts_;
    const desk::CountRequest request_;
    int next_ = 0;
    desk::Text item_;
    absl::Mutex mu_;
    bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
    bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
    bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
  };

  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const desk::Text* request,
                                 desk::Text* reply) override {
    counts_.NoteTrace(*context);
    ++counts_.echoes;
    *reply = *request;
    return Ended(*context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* Note(grpc::CallbackServerContext* context, const desk::Text* request,
                                 google::protobuf::Empty*) override {
    counts_.NoteTrace(*context);
    ++counts_.notes;
    return Ended(*context, request->text().empty() ? grpc::Status::OK
                                                   : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a bad note"));
  }
  grpc::ServerUnaryReactor* Provoke(grpc::CallbackServerContext* context, const desk::Provocation* request,
                                    desk::Text*) override {
    return Ended(*context, grpc::Status(static_cast<grpc::StatusCode>(request->code()), request->text()));
  }
  grpc::ServerUnaryReactor* Wait(grpc::CallbackServerContext* context, const desk::Text*, desk::Text*) override {
    const auto left = context->deadline() - std::chrono::system_clock::now();
    counts_.minutes = static_cast<int>(std::chrono::ceil<std::chrono::minutes>(left).count());
    return new Waiting(counts_);
  }
  grpc::ServerWriteReactor<desk::Text>* Count(grpc::CallbackServerContext* context,
                                              const desk::CountRequest* request) override {
    counts_.NoteTrace(*context);
    return new Counting(counts_, *request);
  }
  grpc::ServerReadReactor<desk::Parcel>* Collect(grpc::CallbackServerContext* context, desk::Text* reply) override {
    counts_.NoteTrace(*context);
    return new Collecting(counts_.uploads, *context, *reply);
  }
  grpc::ServerBidiReactor<desk::Parcel, desk::Text>* Converse(grpc::CallbackServerContext* context) override {
    counts_.NoteTrace(*context);
    return new Conversing(counts_.uploads, *context);
  }
  static grpc::ServerUnaryReactor* Ended(grpc::CallbackServerContext& context, const grpc::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  DeskCounts& counts_;
};

class PlainDesk {
 public:
  explicit PlainDesk(std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials())
      : credentials_(std::move(credentials)) {
    Start();
  }
  ~PlainDesk() { Stop(); }

  // Serves, at the port of before if there was one.
  void Start() {
    service_ = std::make_unique<PlainDeskService>(counts);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), credentials_, &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ASSERT_GT(port_, 0);
  }
  // Cancels the calls that are under way, and closes the port.
  void Stop() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_ = nullptr;
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  DeskCounts counts;

 private:
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  int port_ = 0;
  std::unique_ptr<PlainDeskService> service_;
  std::unique_ptr<grpc::Server> server_;  // null when it has gone
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLIENT_PLAIN_DESK_H_
