#include "understudy/transport/gateway/stream_call.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
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
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/grpc/byte_buffers.h"

namespace understudy::internal {

bool StreamCall::Admit() {
  absl::Status admitted = AdmitCall(host_, exported_, call_.context(), CallKind::kStream);
  is_admitted_ = admitted.ok();
  if (!is_admitted_) End(std::move(admitted));
  return is_admitted_;
}

void StreamCall::Ask(const grpc::ByteBuffer& request) {
  const grpc::ServerContextBase& context = call_.context();
  const size_t bytes = request.Length();
  if (absl::Status added = host_.budget->AddRequest(bytes); !added.ok()) return End(std::move(added));
  {
    absl::MutexLock lock(&mu_);
    counted_bytes_ = bytes;
  }
  absl::StatusOr<std::shared_ptr<const Caller>> caller = CallerOf(host_, exported_, context);
  if (!caller.ok()) return End(std::move(caller).status());
  const absl::Duration timeout = TimeoutOf(context, absl::InfiniteDuration());
  trace_ = CallTrace::Begin(host_, context, exported_.service(), rpc_.name);
  const CallTrace::Scope scope(trace_.get());
  StartRelay({.timeout = timeout, .caller = *std::move(caller)}, request);
}

void StreamCall::StartRelay(ClientRequest client, const grpc::ByteBuffer& request) {
  const absl::StatusOr<grpc::Slice> bytes = rpc_.takes_stream ? grpc::Slice() : BytesOf(request);
  if (!bytes.ok()) return End(bytes.status());
  ActorSystem& system = *host_.system;
  asked_of_ = Resolve(exported_.actor(), CoreOf(system));
  client.to = asked_of_;
  client.bytes = absl::string_view(reinterpret_cast<const char*>(bytes->begin()), bytes->size());
  const Pid relay = rpc_.begin_stream(system, std::move(client), this);
  absl::MutexLock lock(&mu_);
  relay_ = relay;
  if (is_cancelled_) CancelLocked();
}

void StreamCall::CancelLocked() {
  is_cancelled_ = true;
  if (!relay_.is_null()) host_.system->Exit(relay_, ExitReason::Shutdown());
}

void StreamCall::Write(std::string answer, const Channel<Written>& written) {
  absl::MutexLock lock(&mu_);
  answer_ = ToBuffer(std::move(answer));
  written_ = written;
  is_writing_ = true;
  call_.Write(answer_);
}

void StreamCall::End(absl::Status status) {
  status = EndOfAsk(host_, exported_, asked_of_, std::move(status));
  if (trace_ != nullptr) trace_->End(status.code());
  {
    absl::MutexLock lock(&mu_);
    end_ = std::move(status);
    call_.LimitEnd();
    if (!is_writing_) call_.Finish(ToGrpc(*end_));
  }
  Release();
}

void StreamCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mu_);
  is_writing_ = false;
  answer_.Clear();
  if (end_.has_value()) {
    call_.Finish(ToGrpc(*end_));
  } else if (!ok) {
    CancelLocked();
  } else if (!is_cancelled_) {
    // The mailbox has room, because one answer at a time is written. It is refused if the relay has just been ended.
    (void)written_.Send(Written());
  }
}

void StreamCall::OnCancel() {
  absl::MutexLock lock(&mu_);
  CancelLocked();
}

void StreamCall::OnDone() {
  if (is_admitted_) {
    absl::MutexLock lock(&mu_);
    host_.budget->Release(CallKind::kStream, counted_bytes_);
  }
  Release();
}

void StreamCall::Release() {
  // acq_rel: what each of the two did is visible to the one that deletes the object.
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void ClientAsk::Begin() {
  if (Admit()) call_.ReadRequest(&request_);
}

void ClientAsk::OnReadDone(bool ok) {
  if (!ok) return End(NoRequestError());
  Ask(request_.bytes);
  request_.bytes.Clear();
}

void ClientUpload::Begin() {
  if (Admit()) Ask(grpc::ByteBuffer());
}

void ClientUpload::Read(const Channel<Received>& received) {
  absl::MutexLock lock(&mu_);
  if (IsOverLocked()) return;
  host_.budget->ReleaseRequest(earlier_bytes_);
  counted_bytes_ -= earlier_bytes_;
  earlier_bytes_ = std::exchange(item_bytes_, 0);
  received_ = received;
  call_.Read(&item_);
}

void ClientUpload::OnReadDone(bool ok) {
  if (!ok) return OnEnd();
  absl::StatusOr<std::string> item = TakeItem();
  absl::MutexLock lock(&mu_);
  // The mailbox has room, because one item at a time is read.
  if (!IsOverLocked()) (void)received_.Send(Received{.item = std::move(item)});
}

void ClientUpload::OnEnd() {
  absl::MutexLock lock(&mu_);
  if (IsOverLocked()) return;
  if (item_.has_failed) {
    CancelLocked();
  } else {
    (void)received_.Send(Received{.item = absl::nullopt});
  }
}

absl::StatusOr<std::string> ClientUpload::TakeItem() {
  const size_t size = item_.bytes.Length();
  if (absl::Status counted = host_.budget->AddRequest(size); !counted.ok()) return counted;
  {
    absl::MutexLock lock(&mu_);
    item_bytes_ = size;
    counted_bytes_ += size;
  }
  const absl::StatusOr<grpc::Slice> bytes = BytesOf(item_.bytes);
  item_.bytes.Clear();
  if (!bytes.ok()) return bytes.status();
  return std::string(reinterpret_cast<const char*>(bytes->begin()), bytes->size());
}

}  // namespace understudy::internal
