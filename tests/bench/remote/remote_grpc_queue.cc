// Raw gRPC with one completion queue a process, served by one thread: the cheapest way to use a gRPC stream.
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/tests/bench/remote/remote_grpc.h"
#include "understudy/tests/bench/remote/remote_run.h"

namespace understudy::bench {
namespace {

using Tag = std::function<void(bool)>;

// Takes the next completion from the queue and calls its tag. Returns false if the queue has ended.
bool Step(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return false;
  (*static_cast<Tag*>(tag))(ok);
  return true;
}

// An accepted call. Calls live until the process ends.
class ServerCall {
 public:
  ServerCall(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue) {
    accepted_ = [this, &service, &queue](bool ok) {
      if (!ok) return;
      new ServerCall(service, queue);  // accepts the next call; lives until the process ends
      call_.Read(&read_, &was_read_);
    };
    was_read_ = [this](bool ok) {
      if (!ok) {
        call_.Finish(grpc::Status::OK, &nothing_);
        return;
      }
      if (side_.OnMessage(&read_)) {
        answer_.Swap(&read_);
        has_answer_ = true;
        Answer();
      }
      call_.Read(&read_, &was_read_);
    };
    was_written_ = [this](bool) {
      is_writing_ = false;
      Answer();
    };
    service.RequestCall(&context_, &call_, &queue, &queue, &accepted_);
  }

 private:
  void Answer() {
    if (!has_answer_ || is_writing_) return;
    has_answer_ = false;
    is_writing_ = true;
    written_.Swap(&answer_);
    call_.Write(written_, &was_written_);
  }

  bool has_answer_ = false;
  bool is_writing_ = false;
  grpc::ByteBuffer answer_;
  Tag was_written_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_{&context_};
  RemoteServerSide side_;
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
  Tag accepted_;
  Tag was_read_;
  Tag nothing_ = [](bool) {};
};

class ClientCall {
 public:
  ClientCall(const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue& queue, const RemoteRun& run)
      : stub_(channel),
        run_(run),
        one_way_(run.kind == RemoteRun::Kind::kOneWay),
        messages_(run.operations / run.pairs / run.envelopes),
        message_(RemoteBuffer(kRemoteMessageBytes * run.envelopes)),
        call_(stub_.PrepareCall(&context_, kRemoteMethod, &queue)) {
    started_ = [this](bool ok) {
      UNDERSTUDY_CHECK(ok, "the call does not start");
      call_->Write(RemoteBegin(one_way_ ? messages_ * kRemoteMessageBytes * run_.envelopes : 0), &written_);
      call_->Read(&read_, &was_read_);
    };
    written_ = [this](bool ok) {
      UNDERSTUDY_CHECK(ok, "a write failed");
      is_writing_ = false;
      if (one_way_ ? sent_ < messages_ : sent_ == 0 || wants_) Next();
    };
    was_read_ = [this](bool ok) {
      if (!ok) return;
      if (run_.kind == RemoteRun::Kind::kAsk) {
        latencies.push_back(absl::Nanoseconds(NowNanos() - began_));
        RemotePause(kRemoteAskPause);
      }
      if (!one_way_ && sent_ < messages_) {
        call_->Read(&read_, &was_read_);
        Next();
      } else {
        is_done = true;
      }
    };
    call_->StartCall(&started_);
  }

  bool is_done = false;
  std::vector<absl::Duration> latencies;

 private:
  void Next() {
    wants_ = is_writing_;
    if (is_writing_) return;  // until the message before is written
    is_writing_ = true;
    ++sent_;
    began_ = NowNanos();
    call_->Write(message_, &written_);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const RemoteRun run_;
  const bool one_way_;
  const int64_t messages_;
  const grpc::ByteBuffer message_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer read_;
  bool is_writing_ = true;
  bool wants_ = false;
  int64_t sent_ = 0;
  int64_t began_ = 0;
  Tag started_;
  Tag written_;
  Tag was_read_;
};

}  // namespace

void ServeGrpcQueue(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended) {
  int port = 0;
  auto* const service = new grpc::AsyncGenericService;  // lives until the process ends, as the queue does
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(service);
  builder.AddListeningPort(serve.address, RemoteServerCredentials(serve), &port);
  grpc::ServerCompletionQueue* const queue = builder.AddCompletionQueue().release();
  UNDERSTUDY_CHECK(builder.BuildAndStart().release() != nullptr, "the server does not start");
  new ServerCall(*service, *queue);
  std::thread([queue] {
    while (Step(*queue)) {
    }
  }).detach();
  ready(absl::StartsWith(serve.address, "unix:") ? serve.address : absl::StrCat("127.0.0.1:", port));
  ended();
  _exit(0);
}

RemoteMeasurement MeasureGrpcQueue(const RemoteRun& run) {
  auto* const queue = new grpc::CompletionQueue;
  const std::shared_ptr<grpc::Channel> channel = RemoteChannel(run, 0);
  const int64_t began = NowNanos();
  std::vector<ClientCall*> calls;
  for (int pair = 0; pair < run.pairs; ++pair) calls.push_back(new ClientCall(channel, *queue, run));
  RemoteMeasurement measured{.count = run.operations};
  for (ClientCall* call : calls) {
    while (!call->is_done) UNDERSTUDY_CHECK(Step(*queue), "the queue ended");
    measured.latencies.insert(measured.latencies.end(), call->latencies.begin(), call->latencies.end());
  }
  measured.seconds = static_cast<double>(NowNanos() - began) / 1e9;
  return measured;
}

}  // namespace understudy::bench
