#include "understudy/transport/gateway/actor_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/named.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/call_parts.h"
#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/call_trace.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/gateway/stream_call.h"
#include "understudy/transport/grpc/byte_buffers.h"

namespace understudy::internal {

// The state of one unary call of a client.
//
// Invariant: End, called once and on any thread, ends the call by its last statement, because OnDone may then delete
// the object. OnDone does not come before OnReadDone has returned (incoming_call.h), so that may use the object after
// the ask has begun. The other members are used by the polling thread alone.
class ActorService::UnaryCall final : public CallReactor, public ClientCall {
 public:
  UnaryCall(const ActorService& service, const ExportedRpc& rpc, IncomingCall& call)
      : service_(service), rpc_(rpc), call_(call) {}

  // The client and the gateway's bounds are checked before anything is kept of the request.
  void Begin() {
    absl::Status admitted = AdmitCall(service_.host_, service_.exported_, call_.context(), CallKind::kUnary);
    if (!admitted.ok()) return End(std::move(admitted));
    is_admitted_ = true;
    call_.ReadRequest(&request_);
  }

  void End(absl::StatusOr<std::string> reply) override {
    if (reply.ok()) {
      absl::Status kept = service_.host_.budget->AddReply(reply->size());
      if (kept.ok()) {
        reply_bytes_ = reply->size();
      } else {
        reply = std::move(kept);
      }
    } else {
      reply = EndOfAsk(service_.host_, service_.exported_, asked_of_, std::move(reply).status());
    }
    if (trace_ != nullptr) trace_->End(reply.status().code());
    if (reply.ok()) {
      call_.WriteAndFinish(ToBuffer(*std::move(reply)));
    } else {
      call_.Finish(ToGrpc(reply.status()));
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End(NoRequestError());
    const ServiceHost& host = service_.host_;
    const grpc::ServerContextBase& context = call_.context();
    absl::Status added = host.budget->AddRequest(request_.bytes.Length());
    if (!added.ok()) return End(std::move(added));
    request_bytes_ = request_.bytes.Length();
    absl::StatusOr<std::shared_ptr<const Caller>> caller = CallerOf(host, service_.exported_, context);
    if (!caller.ok()) return End(std::move(caller).status());
    trace_ = CallTrace::Begin(host, context, service_.exported_.service(), rpc_.name);
    const CallTrace::Scope scope(trace_.get());
    Ask({.timeout = TimeoutOf(context, host.default_timeout), .caller = *std::move(caller)});
  }
  void OnWriteDone(bool) override {}
  void OnCancel() override {
    is_cancelled_ = true;
    (void)asked_.Cancel();
  }
  void OnDone() override {
    if (is_admitted_) service_.host_.budget->Release(CallKind::kUnary, request_bytes_, reply_bytes_);
    delete this;
  }

 private:
  // `client` lacks the actor and the bytes.
  void Ask(ClientRequest client) {
    const absl::StatusOr<grpc::Slice> bytes = BytesOf(request_.bytes);
    if (!bytes.ok()) return End(bytes.status());
    ActorSystem& system = *service_.host_.system;
    asked_of_ = Resolve(service_.exported_.actor(), CoreOf(system));
    client.to = asked_of_;
    client.bytes = absl::string_view(reinterpret_cast<const char*>(bytes->begin()), bytes->size());
    asked_ = rpc_.begin(system, std::move(client), this);
    if (is_cancelled_) (void)asked_.Cancel();
    request_.bytes.Clear();
  }

  const ActorService& service_;
  const ExportedRpc& rpc_;
  IncomingCall& call_;
  ReadItem request_;
  bool is_admitted_ = false;
  size_t request_bytes_ = 0;
  size_t reply_bytes_ = 0;            // written by End, read by OnDone
  Pid asked_of_;                      // written before the ask, then End's
  std::unique_ptr<CallTrace> trace_;  // null if the call belongs to no trace; written before the ask, then End's
  bool is_cancelled_ = false;
  AskHandle asked_;
};

void ActorService::AddTo(CallServer& server) {
  for (const ExportedRpc& rpc : exported_.rpcs()) {
    server.Add(absl::StrCat("/", exported_.service(), "/", rpc.name),
               [this, &rpc](IncomingCall& call) { return Serve(rpc, call); });
  }
}

// The objects that it makes delete themselves.
CallReactor* ActorService::Serve(const ExportedRpc& rpc, IncomingCall& call) const {
  host_.on_call(call.context().peer());
  const auto begin = [](auto* made) {
    made->Begin();
    return made;
  };
  if (rpc.begin != nullptr) return begin(new UnaryCall(*this, rpc, call));
  if (!rpc.takes_stream) return begin(new ClientAsk(host_, exported_, rpc, call));
  return begin(new ClientUpload(host_, exported_, rpc, call));
}

}  // namespace understudy::internal
