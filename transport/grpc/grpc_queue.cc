#include "understudy/transport/grpc/grpc_queue.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "understudy/actors/event_source.h"
#include "understudy/transport/sockets/thread.h"

#if defined(__SANITIZE_THREAD__)
#define UNDERSTUDY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDERSTUDY_TSAN 1
#endif
#endif
#ifdef UNDERSTUDY_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace understudy::internal {
namespace {

class WakeUp final : public GrpcTag {
 public:
  void SetOn(grpc::CompletionQueue* queue) { alarm_.Set(queue, gpr_now(GPR_CLOCK_MONOTONIC), HandOver(this)); }
  void Done(bool) override { delete this; }

 private:
  grpc::Alarm alarm_;
};

class GrpcEvents final : public EventSource {
 public:
  GrpcEvents() : queue_(grpc::ServerBuilder().AddCompletionQueue()) {}

  bool Poll(Wait wait) override {
    // due_ is emptied before its functions are called, because gRPC may call back on this thread meanwhile and add to
    // it.
    for (absl::AnyInvocable<void()>& begin : std::exchange(due_, {})) begin();
    void* tag = nullptr;
    bool ok = false;
    const gpr_timespec until =
        wait == Wait::kUntil ? gpr_inf_future(GPR_CLOCK_MONOTONIC) : gpr_time_0(GPR_CLOCK_MONOTONIC);
    if (queue_->AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) return false;
    AcquireFromGrpc(tag);
    static_cast<GrpcTag*>(tag)->Done(ok);
    return true;
  }

  void Wake() override { (new WakeUp)->SetOn(queue_.get()); }  // owned by the queue
  void StartThread(absl::AnyInvocable<void()> body) override {
    internal::StartThread([body = std::make_shared<absl::AnyInvocable<void()>>(std::move(body))] {
      (*body)();
    }).detach();
  }

  grpc::ServerCompletionQueue* queue() const { return queue_.get(); }
  void BeforeNext(absl::AnyInvocable<void()> begin) { due_.push_back(std::move(begin)); }

 private:
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  // Used only by the thread that polls.
  std::vector<absl::AnyInvocable<void()>> due_;
};

GrpcEvents& Events() {
  static GrpcEvents* const events = [] {
    auto* const made = new GrpcEvents;
    InstallEventSource(*made);
    return made;
  }();
  return *events;
}

// A pseudo port by which the server gets the process's queue: a gRPC server takes queues only from its builder, but it
// passes itself to the credentials of each port before it starts.
class ProcessQueuePort final : public grpc::ServerCredentials {
 public:
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string&, grpc_server* server) override {
    grpc_server_register_completion_queue(server, ProcessQueue()->cq(), nullptr);
    return 1;
  }
};

}  // namespace

void ReleaseToGrpc([[maybe_unused]] void* object) {
#ifdef UNDERSTUDY_TSAN
  __tsan_release(object);
#endif
}

void AcquireFromGrpc([[maybe_unused]] void* object) {
#ifdef UNDERSTUDY_TSAN
  __tsan_acquire(object);
#endif
}

void* HandOver(GrpcTag* tag) {
  ReleaseToGrpc(tag);
  return tag;
}

grpc::ServerCompletionQueue* ProcessQueue() { return Events().queue(); }

void ServeOnProcessQueue(grpc::ServerBuilder& builder) {
  builder.AddListeningPort("process-queue", std::make_shared<ProcessQueuePort>());
}

void BeforeNextPoll(absl::AnyInvocable<void()> begin) { Events().BeforeNext(std::move(begin)); }

}  // namespace understudy::internal
