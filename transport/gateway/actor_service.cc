#include "understudy/transport/gateway/actor_service.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/named.h"
#include "understudy/transport/gateway/rpc_status.h"

namespace understudy::internal {
namespace {

grpc::ByteBuffer ToBuffer(std::string bytes) {
  // Shorter ones are copied into the slice itself, or into a block that costs no more than the string's.
  constexpr size_t kCopiedBytesMax = 1024;
  if (bytes.size() <= kCopiedBytesMax) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    return grpc::ByteBuffer(&slice, 1);
  }
  auto owned = std::make_unique<std::string>(std::move(bytes));
  std::string* const kept = owned.release();  // deleted by the slice
  const grpc::Slice slice(kept->data(), kept->size(), [](void* text) { delete static_cast<std::string*>(text); }, kept);
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status CheckClient(const ExportedService& exported, const grpc::ServerContextBase& context) {
  if (!exported.clients().has_value()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const grpc::string_ref& name : context.auth_context()->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME)) {
    names.emplace_back(name.data(), name.size());
    const std::vector<std::string>& allowed = *exported.clients();
    if (std::find(allowed.begin(), allowed.end(), names.back()) != allowed.end()) return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("a client with the certificate of '", absl::StrJoin(names, "', '"),
                                                  "' may not call ", exported.service()));
}

absl::Duration TimeoutOf(const grpc::ServerContextBase& context, absl::Duration if_none) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return if_none;
  return absl::FromChrono(deadline) - absl::Now();
}

}  // namespace

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
    absl::Status allowed = CheckClient(service_.exported_, context);
    if (allowed.ok()) allowed = Admit(request.Length());
    if (allowed.ok()) {
      Ask(rpc, TimeoutOf(context, host.default_timeout), request);
    } else {
      End(std::move(allowed));
    }
    Release();
  }

  void End(absl::StatusOr<std::string> reply) override {
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
    if (is_admitted_) service_.host_.budget->Release(request_bytes_);
    Release();
  }

 private:
  // Lets gRPC call OnCancel and OnDone on the thread that it is on, as for its own DefaultReactor: neither blocks. It
  // would otherwise pass each to another thread, whose wake-up costs more than the ask. Not part of gRPC's public API.
  bool InternalInlineable() override { return true; }

  absl::Status Admit(size_t bytes) {
    absl::Status admitted = service_.host_.budget->Admit(bytes);
    is_admitted_ = admitted.ok();
    request_bytes_ = bytes;
    return admitted;
  }

  void Ask(const ExportedRpc& rpc, absl::Duration timeout, const grpc::ByteBuffer& request) {
    grpc::Slice bytes;
    if (!request.TrySingleSlice(&bytes).ok() && !request.DumpToSingleSlice(&bytes).ok()) {
      return End(absl::InternalError("gRPC could not decompress the request"));
    }
    ActorSystem& system = *service_.host_.system;
    const Pid to = Resolve(service_.exported_.actor(), CoreOf(system));
    const absl::string_view view(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    const AskHandle asked = rpc.begin(system, to, view, timeout, this);
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
    using Handler = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
    // gRPC takes ownership of both.
    AddMethod(
        new grpc::internal::RpcServiceMethod(paths_.back().c_str(), grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(index, new Handler([this, &rpc](grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
                            auto* const call = new UnaryCall(*this, reply);  // deletes itself
                            call->Begin(rpc, *context, *request);
                            return call;
                          }));
  }
}

}  // namespace understudy::internal
