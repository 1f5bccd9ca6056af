#include "understudy/transport/gateway/stream_call.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/named.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/call_parts.h"
#include "understudy/transport/gateway/call_trace.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/rpc_status.h"

namespace understudy::internal {

void StreamCall::Begin(const ExportedService& exported, const ExportedRpc& rpc,
                       const grpc::CallbackServerContext& context, const grpc::ByteBuffer& request) {
  host_.on_call(context.peer());
  absl::Status allowed = CheckCall(host_, exported, context);
  if (allowed.ok()) allowed = host_.budget->Admit(CallKind::kStream, request.Length());
  absl::StatusOr<std::shared_ptr<const Caller>> caller = nullptr;
  if (allowed.ok()) {
    is_admitted_ = true;
    request_bytes_ = request.Length();
    caller = CallerOf(host_, exported, context);
    allowed = caller.status();
  }
  if (allowed.ok()) {
    const absl::Duration timeout = TimeoutOf(context, absl::InfiniteDuration());
    trace_ = CallTrace::Begin(host_, context, exported.service(), rpc.name);
    const CallTrace::Scope scope(trace_.get());
    StartRelay(exported, rpc, {.timeout = timeout, .caller = *std::move(caller)}, request);
  } else {
    End(std::move(allowed));
  }
  Release();
}

void StreamCall::StartRelay(const ExportedService& exported, const ExportedRpc& rpc, ClientRequest client,
                            const grpc::ByteBuffer& request) {
  const absl::StatusOr<grpc::Slice> bytes = BytesOf(request);
  if (!bytes.ok()) return End(bytes.status());
  ActorSystem& system = *host_.system;
  client.to = Resolve(exported.actor(), CoreOf(system));
  client.bytes = absl::string_view(reinterpret_cast<const char*>(bytes->begin()), bytes->size());
  const Pid relay = rpc.begin_stream(system, std::move(client), this);
  absl::MutexLock lock(&mu_);
  relay_ = relay;
  if (is_cancelled_) CancelLocked();
}

void StreamCall::CancelLocked() {
  is_cancelled_ = true;
  if (!relay_.is_null()) host_.system->Exit(relay_, ExitReason::Shutdown());
}

void StreamCall::Write(std::string item, const Channel<Written>& written) {
  absl::MutexLock lock(&mu_);
  item_ = ToBuffer(std::move(item));
  written_ = written;
  is_writing_ = true;
  StartWrite(&item_);
}

void StreamCall::End(absl::Status status) {
  if (trace_ != nullptr) trace_->End(status.code());
  {
    absl::MutexLock lock(&mu_);
    end_ = std::move(status);
    if (!is_writing_) Finish(ToGrpc(*end_));
  }
  Release();
}

void StreamCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mu_);
  is_writing_ = false;
  item_.Clear();
  if (end_.has_value()) {
    Finish(ToGrpc(*end_));
  } else if (!ok) {
    CancelLocked();
  } else if (!is_cancelled_) {
    // The mailbox has room, because one item at a time is written. It is refused if the relay has just been ended.
    (void)written_.Send(Written());
  }
}

void StreamCall::OnCancel() {
  absl::MutexLock lock(&mu_);
  CancelLocked();
}

void StreamCall::OnDone() {
  if (is_admitted_) host_.budget->Release(CallKind::kStream, request_bytes_);
  Release();
}

void StreamCall::Release() {
  // acq_rel: what each of the three did is visible to the one that deletes the object.
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace understudy::internal
