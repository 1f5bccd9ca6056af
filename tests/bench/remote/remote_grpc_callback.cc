// Raw gRPC, callback API: a bidirectional stream for each pair.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/tests/bench/remote/remote_grpc.h"
#include "understudy/tests/bench/remote/remote_run.h"

namespace understudy::bench {
namespace {

class ServerReactor final : public grpc::ServerGenericBidiReactor {
 public:
  ServerReactor() { StartRead(&read_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    if (side_.OnMessage(&read_)) {
      answer_.Swap(&read_);
      Answer();
    }
    StartRead(&read_);
  }
  void OnWriteDone(bool) override { Answer(); }
  void OnDone() override { delete this; }

 private:
  // Called once for the message and once for the end of the write before; the second of these calls starts the write.
  void Answer() {
    if (halves_.fetch_xor(1, std::memory_order_acq_rel) == 1) {
      written_.Swap(&answer_);
      StartWrite(&written_);
    }
  }

  std::atomic<int> halves_{1};
  grpc::ByteBuffer answer_;
  RemoteServerSide side_;
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new ServerReactor;  // it deletes itself when the call is done
  }
};

// The client's side of one pair, or one sender.
class ClientReactor final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Sends the client's share of the run's messages: each after the answer to the one before, or with kOneWay each after
  // the one before is written.
  ClientReactor(const std::shared_ptr<grpc::Channel>& channel, const RemoteRun& run, absl::BlockingCounter* done)
      : stub_(channel),
        one_way_(run.kind == RemoteRun::Kind::kOneWay),
        messages_(run.operations / run.pairs / run.envelopes),
        message_(RemoteBuffer(kRemoteMessageBytes * run.envelopes)),
        begin_(RemoteBegin(one_way_ ? messages_ * kRemoteMessageBytes * run.envelopes : 0)),
        done_(done) {
    stub_.PrepareBidiStreamingCall(&context_, kRemoteMethod, grpc::StubOptions(), this);
    StartRead(&read_);
    StartWrite(&begin_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    UNDERSTUDY_CHECK(ok, "a write failed");
    if (!one_way_) {
      Exchange();
    } else if (sent_ < messages_) {
      Next();
    }
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (!one_way_ && sent_ < messages_) {
      StartRead(&read_);
      Exchange();
      return;
    }
    StartWritesDone();
    done_->DecrementCount();
  }
  void OnDone(const grpc::Status&) override {
    absl::MutexLock lock(&mu_);
    is_over_ = true;
  }
  void AwaitOver() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&is_over_));
  }

 private:
  // Called once for the answer and once for the end of the write; the second of these calls sends the next message.
  void Exchange() {
    if (halves_.fetch_xor(1, std::memory_order_acq_rel) == 1) Next();
  }
  void Next() {
    ++sent_;
    StartWrite(&message_);
  }

  std::atomic<int> halves_{1};  // what comes before the first message is no exchange
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const bool one_way_;
  const int64_t messages_;
  const grpc::ByteBuffer message_;
  const grpc::ByteBuffer begin_;
  absl::BlockingCounter* const done_;
  grpc::ByteBuffer read_;
  int64_t sent_ = 0;
  absl::Mutex mu_;
  bool is_over_ = false;
};

// Asks, and pauses after each answer.
class AskReactor final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit AskReactor(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    stub_.PrepareBidiStreamingCall(&context_, kRemoteMethod, grpc::StubOptions(), this);
    StartWrite(&begin_);
    StartCall();
    Await(written_);
  }
  absl::Duration Ask() {
    StartRead(&read_);
    const int64_t began = NowNanos();
    StartWrite(&message_);
    Await(answered_);
    const absl::Duration took = absl::Nanoseconds(NowNanos() - began);
    Await(written_);
    return took;
  }
  void End() {
    StartWritesDone();
    Await(is_over_);
  }
  void OnWriteDone(bool) override { Set(written_); }
  void OnReadDone(bool ok) override {
    if (ok) Set(answered_);
  }
  void OnDone(const grpc::Status&) override { Set(is_over_); }

 private:
  void Set(bool& flag) {
    absl::MutexLock lock(&mu_);
    flag = true;
  }
  void Await(bool& flag) {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&flag));
    flag = false;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const grpc::ByteBuffer message_ = RemoteBuffer(kRemoteMessageBytes);
  const grpc::ByteBuffer begin_ = RemoteBegin(0);
  grpc::ByteBuffer read_;
  absl::Mutex mu_;
  bool written_ = false;
  bool answered_ = false;
  bool is_over_ = false;
};

RemoteMeasurement Asks(const RemoteRun& run) {
  RemoteMeasurement measured;
  AskReactor reactor(RemoteChannel(run, 0));
  const int64_t began = NowNanos();
  for (int64_t i = 0; i < run.operations; ++i) {
    measured.latencies.push_back(reactor.Ask());
    RemotePause(kRemoteAskPause);
  }
  measured.count = run.operations;
  measured.seconds = static_cast<double>(NowNanos() - began) / 1e9;
  reactor.End();
  return measured;
}

}  // namespace

void ServeGrpcCallback(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended) {
  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort(serve.address, RemoteServerCredentials(serve), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  UNDERSTUDY_CHECK(server != nullptr, "the server does not start");
  ready(absl::StartsWith(serve.address, "unix:") ? serve.address : absl::StrCat("127.0.0.1:", port));
  ended();
  server->Shutdown(std::chrono::system_clock::now());
}

RemoteMeasurement MeasureGrpcCallback(const RemoteRun& run) {
  if (run.kind == RemoteRun::Kind::kAsk) return Asks(run);
  absl::BlockingCounter done(run.pairs);
  std::vector<std::unique_ptr<ClientReactor>> reactors;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (size_t server = 0; server < run.servers.size(); ++server) channels.push_back(RemoteChannel(run, server));
  for (const auto& channel : channels) (void)channel->GetState(/*try_to_connect=*/true);
  for (const auto& channel : channels) {
    UNDERSTUDY_CHECK(channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)),
                     "no server");
  }
  const RemoteStopwatch stopwatch;
  for (int pair = 0; pair < run.pairs; ++pair) {
    reactors.push_back(std::make_unique<ClientReactor>(channels[pair % channels.size()], run, &done));
  }
  done.Wait();
  const RemoteMeasurement measured = stopwatch.Measured(run.operations);
  for (const auto& reactor : reactors) reactor->AwaitOver();
  return measured;
}

}  // namespace understudy::bench
