#include "understudy/transport/grpc/grpc_call.h"

#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/codec/frame_memory.h"
#include "understudy/transport/grpc/byte_buffers.h"
#include "understudy/transport/grpc/grpc_queue.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/frame_stream.h"

namespace understudy::internal {
namespace {

// More than a frame may have, so that a frame which is slightly too long reaches ReadDone, whose error names the size.
constexpr int kMessageBytesMax = static_cast<int>(limits::kFrameBytesMax) + 1024;
constexpr int kConnectTimeoutMilliseconds = 5000;

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text = TakeFrameMemory();
  if (!buffer.Dump(&slices).ok()) return text;
  text.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

}  // namespace

const grpc::ResourceQuota& ReceiveQuota() {
  static const auto* const quota = [] {
    auto* const made = new grpc::ResourceQuota("understudy");
    made->Resize(limits::kReceivedBytesMax);
    return made;
  }();
  return *quota;
}

void SetCommonArguments(const std::function<void(const std::string&, int)>& set) {
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMessageBytesMax);
  // No compression, so that a peer cannot send a small frame that decompresses to a large one.
  set(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  // One connection carries one call, and the session decides when to dial again, so gRPC must not share connections,
  // retry calls or route them through a proxy.
  set(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  set(GRPC_ARG_ENABLE_RETRIES, 0);
  set(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  set(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  set(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMilliseconds);
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
  // A second node that listens on the same port must get an error.
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

absl::Status FromGrpc(const grpc::Status& status) {
  // The codes have the same numbers.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

class GrpcCall::Handle final : public FrameStream {
 public:
  explicit Handle(std::shared_ptr<GrpcCall> call) : call_(std::move(call)) {}
  ~Handle() override { Close(); }
  void Write(std::string frame) override { call_->Write(std::move(frame)); }
  void Close() override { call_->End(absl::CancelledError("closed by this node")); }

 private:
  const std::shared_ptr<GrpcCall> call_;
};

void* GrpcCall::Begin(Operation& operation) {
  operation.keep_ = shared_from_this();
  ++operations_;
  return HandOver(&operation);
}

void GrpcCall::Operation::Done(bool ok) {
  std::shared_ptr<GrpcCall> keep;
  {
    absl::MutexLock lock(&call_->mu_);
    keep = std::move(keep_);
  }
  (keep.get()->*handler_)(ok);
  keep->OperationDone();
}

std::unique_ptr<FrameStream> GrpcCall::NewHandle() { return std::make_unique<Handle>(shared_from_this()); }

void GrpcCall::Write(std::string frame) {
  UNDERSTUDY_CHECK(frame.size() <= limits::kFrameBytesMax, "a frame of ", frame.size(), " bytes; at most ",
                   limits::kFrameBytesMax);
  absl::MutexLock lock(&mu_);
  if (why_.has_value()) return;
  UNDERSTUDY_CHECK(!write_under_way_, "a frame was written before OnWritten of the last");
  write_under_way_ = true;
  if (open_) {
    BeginWriteLocked(std::move(frame));
  } else {
    held_ = std::move(frame);
  }
}

void GrpcCall::BeginWriteLocked(std::string frame) {
  BeginWrite(LendToGrpc(std::move(frame), KeepMemory), Begin(writing_));
}

void GrpcCall::OpenLocked() {
  open_ = true;
  BeginRead(&read_, Begin(reading_));
  if (held_.has_value()) {
    BeginWriteLocked(*std::exchange(held_, absl::nullopt));
  }
}

void GrpcCall::End(absl::Status why) {
  absl::MutexLock lock(&mu_);
  EndLocked(std::move(why));
}

void GrpcCall::EndLocked(absl::Status why) {
  if (why_.has_value() || finish_done_) return;
  why_ = std::move(why);
  held_.reset();
  Cancel();
  SetAlarmLocked();
}

void GrpcCall::FailLocked(absl::Status why) {
  why_ = std::move(why);
  finish_done_ = true;
  SetAlarmLocked();
}

void GrpcCall::FinishLocked() {
  if (finish_begun_) return;
  finish_begun_ = true;
  BeginFinish(Begin(finishing_));
}

void GrpcCall::SetAlarmLocked() { alarm_.Set(ProcessQueue(), std::chrono::system_clock::now(), Begin(alarming_)); }

void GrpcCall::ReadDone(bool ok) {
  std::string frame = ok ? Text(read_) : "";
  read_.Clear();
  bool deliver = false;
  {
    absl::MutexLock lock(&mu_);
    if (ok && frame.size() > limits::kFrameBytesMax) {
      EndLocked(absl::InvalidArgumentError(absl::StrCat("the peer sent a frame of ", frame.size(), " bytes; at most ",
                                                        limits::kFrameBytesMax, " are allowed")));
    }
    if (!ok || why_.has_value()) {
      FinishLocked();
      return;
    }
    deliver = events_ != nullptr;
  }
  if (deliver) events_->OnFrame(std::move(frame));
  BeforeNextPoll([self = shared_from_this()] { self->ReadOn(); });
}

void GrpcCall::ReadOn() {
  absl::MutexLock lock(&mu_);
  if (why_.has_value()) {
    FinishLocked();
  } else {
    BeginRead(&read_, Begin(reading_));
  }
}

void GrpcCall::WriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    write_under_way_ = false;
    // If the write failed, the pending read fails too, and ReadDone ends the call.
    if (!ok || why_.has_value()) return;
  }
  if (events_ != nullptr) events_->OnWritten();
}

void GrpcCall::FinishDone(bool) {
  {
    absl::MutexLock lock(&mu_);
    finish_done_ = true;
    if (!why_.has_value()) why_ = FinishStatus();
  }
  TellClosed();
}

void GrpcCall::AlarmDone(bool) { TellClosed(); }

void GrpcCall::TellClosed() {
  FrameStream::Events* events = nullptr;
  absl::Status why;
  {
    absl::MutexLock lock(&mu_);
    events = std::exchange(events_, nullptr);
    why = *why_;
  }
  if (events != nullptr) events->OnClosed(std::move(why));
}

void GrpcCall::OperationDone() {
  {
    absl::MutexLock lock(&mu_);
    --operations_;
    if (operations_ > 0 || !finish_done_) return;
  }
  Release();
}

}  // namespace understudy::internal
