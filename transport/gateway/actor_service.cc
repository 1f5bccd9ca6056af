#include "understudy/transport/gateway/actor_service.h"

#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/named.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/call_parts.h"
#include "understudy/transport/gateway/call_trace.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/gateway/stream_call.h"

namespace understudy::internal {
// One call of a client.
//
// Invariants:
//  1. Three parties use the object: Begin, End and OnDone, each once. The last of them deletes it. End, and with it
//     OnDone, may run before Begin has returned.
//  2. gRPC calls OnDone only after Finish, so `reply_` is valid in End.
class ActorService::UnaryCall final : public grpc::ServerUnaryReactor, public ClientCall {
 public:
  UnaryCall(const ActorService& service, grpc::ByteBuffer* reply) : service_(service), reply_(reply) {}

  void Begin(const ExportedRpc& rpc, const grpc::CallbackServerContext& context, const grpc::ByteBuffer& request) {
    const ServiceHost& host = service_.host_;
    host.on_call(context.peer());
    absl::Status allowed = CheckCall(host, service_.exported_, context);
    if (allowed.ok()) allowed = Admit(request.Length());
    absl::StatusOr<std::shared_ptr<const Caller>> caller = nullptr;
    if (allowed.ok()) caller = CallerOf(host, service_.exported_, context);
    if (allowed.ok()) allowed = caller.status();
    if (allowed.ok()) {
      trace_ = CallTrace::Begin(host, context, service_.exported_.service(), rpc.name);
      const CallTrace::Scope scope(trace_.get());
      Ask(rpc, {.timeout = TimeoutOf(context, host.default_timeout), .caller = *std::move(caller)}, request);
    } else {
      End(std::move(allowed));
    }
    Release();
  }

  void End(absl::StatusOr<std::string> reply) override {
    if (trace_ != nullptr) trace_->End(reply.status().code());
    if (reply.ok()) {
      grpc::ByteBuffer buffer = ToBuffer(*std::move(reply));
      reply_->Swap(&buffer);
      Finish(grpc::Status::OK);
    } else {
      Finish(ToGrpc(reply.status()));
    }
    Release();
  }

  void OnCancel() override {
    absl::MutexLock lock(&mu_);
    is_cancelled_ = true;
    asked_.Cancel();
  }
  void OnDone() override {
    if (is_admitted_) service_.host_.budget->Release(CallKind::kUnary, request_bytes_);
    Release();
  }

 private:
  // Lets gRPC call OnCancel and OnDone on the thread that it is on, as for its own DefaultReactor: neither blocks. It
  // would otherwise pass each to another thread, whose wake-up costs more than the ask. Not part of gRPC's public API.
  bool InternalInlineable() override { return true; }

  absl::Status Admit(size_t bytes) {
    absl::Status admitted = service_.host_.budget->Admit(CallKind::kUnary, bytes);
    is_admitted_ = admitted.ok();
    request_bytes_ = bytes;
    return admitted;
  }

  // `client` lacks the actor and the bytes.
  void Ask(const ExportedRpc& rpc, ClientRequest client, const grpc::ByteBuffer& request) {
    const absl::StatusOr<grpc::Slice> bytes = BytesOf(request);
    if (!bytes.ok()) return End(bytes.status());
    ActorSystem& system = *service_.host_.system;
    client.to = Resolve(service_.exported_.actor(), CoreOf(system));
    client.bytes = absl::string_view(reinterpret_cast<const char*>(bytes->begin()), bytes->size());
    const AskHandle asked = rpc.begin(system, std::move(client), this);
    absl::MutexLock lock(&mu_);
    asked_ = asked;
    if (is_cancelled_) asked_.Cancel();
  }

  void Release() {
    // acq_rel: what each of the three did is visible to the one that deletes the object.
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const ActorService& service_;
  grpc::ByteBuffer* const reply_;
  // Written by Begin before there is an outcome, read after it.
  bool is_admitted_ = false;
  size_t request_bytes_ = 0;
  std::unique_ptr<CallTrace> trace_;  // null if the call belongs to no trace
  std::atomic<int> users_{3};
  absl::Mutex mu_;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  AskHandle asked_ ABSL_GUARDED_BY(mu_);
};

ActorService::ActorService(const ServiceHost& host, ExportedService exported)
    : host_(host), exported_(std::move(exported)) {
  paths_.reserve(exported_.rpcs().size());
  for (const ExportedRpc& rpc : exported_.rpcs()) {
    const int index = static_cast<int>(paths_.size());
    paths_.push_back(absl::StrCat("/", exported_.service(), "/", rpc.name));
    if (rpc.begin != nullptr) {
      AddUnary(index, rpc);
    } else if (rpc.takes_stream) {
      AddUpload(index, rpc);
    } else {
      AddStream(index, rpc);
    }
  }
}

// gRPC takes ownership of the methods and the handlers.

void ActorService::AddUnary(int index, const ExportedRpc& rpc) {
  using Handler = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
  AddMethod(
      new grpc::internal::RpcServiceMethod(paths_.back().c_str(), grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodRawCallback(index, new Handler([this, &rpc](grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
                          auto* const call = new UnaryCall(*this, reply);  // deletes itself
                          call->Begin(rpc, *context, *request);
                          return call;
                        }));
}

void ActorService::AddStream(int index, const ExportedRpc& rpc) {
  using Handler = grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
  AddMethod(new grpc::internal::RpcServiceMethod(paths_.back().c_str(), grpc::internal::RpcMethod::SERVER_STREAMING,
                                                 nullptr));
  MarkMethodRawCallback(
      index, new Handler([this, &rpc](grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
        auto* const call = new ClientAsk(host_);  // deletes itself
        call->Begin(exported_, rpc, *context, *request);
        return call;
      }));
}

// Answers in items or in one: gRPC's server and the protocol make no difference.
void ActorService::AddUpload(int index, const ExportedRpc& rpc) {
  using Handler = grpc::internal::CallbackBidiHandler<ReadItem, grpc::ByteBuffer>;
  AddMethod(
      new grpc::internal::RpcServiceMethod(paths_.back().c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(index, new Handler([this, &rpc](grpc::CallbackServerContext* context) {
                          auto* const call = new ClientUpload(host_, *context);  // deletes itself
                          call->Begin(exported_, rpc, *context, grpc::ByteBuffer());
                          return call;
                        }));
}

}  // namespace understudy::internal
