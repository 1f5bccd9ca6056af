#include "understudy/transport/gateway/call_server.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/gateway/gateway_limits.h"
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/grpc/grpc_queue.h"
#include "understudy/transport/grpc/grpc_time.h"

namespace understudy::internal {
namespace {

class CallOfUnknownMethod final : public CallReactor {
 public:
  void OnReadDone(bool) override {}
  void OnWriteDone(bool) override {}
  void OnCancel() override {}
  void OnDone() override { delete this; }
};

// Ends the calls that gRPC keeps although the server's shutdown has begun. gRPC first fails the outstanding request and
// ends the calls that have none, and then begins to refuse calls. One that comes between the two is kept, without an
// answer, until a connection of the server closes, when gRPC looks for such calls. So this gives it one that is closed.
// Does nothing if no descriptor is free.
void EndKeptCalls(grpc::Server& server) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
  close(ends[1]);
  grpc::AddInsecureChannelFromFd(&server, ends[0]);
}

}  // namespace

absl::Status CallServer::Start(grpc::ServerBuilder& builder, absl::Duration transfer_timeout) {
  waits_.set_limit(transfer_timeout);
  builder.RegisterAsyncGenericService(&service_);
  idle_queue_ = builder.AddCompletionQueue();
  ServeOnProcessQueue(builder);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC did not start a server; its log says why");
  Request();
  return absl::OkStatus();
}

CallServer::~CallServer() {
  server_.reset();
  if (idle_queue_ == nullptr) return;
  idle_queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (idle_queue_->Next(&tag, &ok)) {
  }
}

void CallServer::Request() {
  users_.fetch_add(1, std::memory_order_relaxed);  // this object counts, or the call that has come
  new IncomingCall(*this);                         // owned by the queue
}

CallReactor* CallServer::Accept(IncomingCall& call) {
  users_.fetch_add(1, std::memory_order_relaxed);  // as in Request
  BeforeNextPoll([this] { new IncomingCall(*this); });
  const auto found = methods_.find(call.path());
  if (found != methods_.end()) return found->second(call);
  call.Finish(ToGrpc(absl::UnimplementedError(absl::StrCat("the gateway serves no method ", call.path()))));
  return new CallOfUnknownMethod;  // deletes itself
}

void CallServer::Release() {
  // acq_rel: what calls did is visible to the thread that returns from Shutdown.
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) is_unused_.Notify();
}

bool CallServer::AwaitCalls(MonotonicTime deadline) {
  constexpr absl::Duration kPauseMax = absl::Seconds(1);
  told_ = grpc_completion_queue_create_for_next(nullptr);
  grpc_server_shutdown_and_notify(server_->c_server(), told_, nullptr);
  bool is_over = false;
  // More than once, because a call may have passed gRPC's check just before the shutdown began.
  for (absl::Duration pause = absl::Milliseconds(1); !is_over && Clock::Real().Now() < deadline;
       pause = std::min(pause * 2, kPauseMax)) {
    EndKeptCalls(*server_);
    // gRPC also waits until the connections are closed, but some clients do not close theirs.
    if (users_.load(std::memory_order_relaxed) == 1) {
      deadline = std::min(deadline, Clock::Real().Now() + limits::kConnectionsCloseWithin);
    }
    const absl::Duration wait = std::min(pause, deadline - Clock::Real().Now());
    is_over = grpc_completion_queue_next(told_, GrpcDeadlineIn(wait), nullptr).type == GRPC_OP_COMPLETE;
  }
  return is_over;
}

void CallServer::Shutdown() {
  server_->Shutdown(std::chrono::system_clock::now());  // cancels the calls that are left
  waits_.Stop();
  grpc_completion_queue_shutdown(told_);
  while (grpc_completion_queue_next(told_, gpr_inf_future(GPR_CLOCK_MONOTONIC), nullptr).type != GRPC_QUEUE_SHUTDOWN) {
  }
  grpc_completion_queue_destroy(told_);
  Release();
  is_unused_.WaitForNotification();
}

}  // namespace understudy::internal
