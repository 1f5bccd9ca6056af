#include "understudy/transport/client/service_channel.h"

#include <grpc/grpc.h>
#include <grpc/impl/codegen/connectivity_state.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/client/client_limits.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/grpc/byte_buffers.h"
#include "understudy/transport/grpc/grpc_credentials.h"
#include "understudy/transport/grpc/grpc_queue.h"

namespace understudy::internal {
namespace {

class ReceivedBytes final : public RpcBytes {
 public:
  // Takes the content of `buffer`.
  explicit ReceivedBytes(grpc::ByteBuffer& buffer) { buffer_.Swap(&buffer); }
  absl::optional<absl::string_view> Flatten() override {
    bytes_ = BytesOf(buffer_);
    if (!bytes_.ok()) return absl::nullopt;
    return absl::string_view(reinterpret_cast<const char*>(bytes_->begin()), bytes_->size());
  }

 private:
  grpc::ByteBuffer buffer_;
  absl::StatusOr<grpc::Slice> bytes_ = grpc::Slice();
};

// A reply or item. `buffer` is empty then.
RpcReply TakeMessage(grpc::ByteBuffer& buffer) {
  if (!buffer.Valid()) return {.status = absl::InternalError("the server ended the call with OK and sent no message")};
  return {.message = std::make_unique<ReceivedBytes>(buffer)};
}

// Gives the call its deadline, and the trace of the code that calls this, unless the trace has used up its hops.
void SetUp(grpc::ClientContext& context, absl::Duration timeout) {
  if (timeout < absl::InfiniteDuration()) context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  if (const absl::optional<TraceContext> trace = TraceOfNextMessage(); trace.has_value()) {
    context.AddMetadata("traceparent", trace->ToTraceParent());
  }
}

grpc::ChannelArguments ArgumentsOf(const GrpcClientOptions& options) {
  grpc::ChannelArguments arguments;
  const auto milliseconds = [](absl::Duration time) { return static_cast<int>(absl::ToInt64Milliseconds(time)); };
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.reply_bytes_max));
  const size_t quota =
      options.replies_bytes_max + static_cast<size_t>(options.calls_max) * limits::kClientMemoryPerCallBytes;
  arguments.SetResourceQuota(grpc::ResourceQuota("understudy client").Resize(quota));
  // No compression, so that a server cannot send a small message that decompresses to a large one.
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  // A client that was started again has connections of its own: the old ones' backoff would hold it up. It calls once,
  // because the call may have been handled.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Neither the environment nor a DNS record decides where and how often it calls.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(limits::kReconnectPauseMin));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(limits::kReconnectPauseMax));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(limits::kClientKeepaliveAfter));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // without this, the third ping is never sent
  return arguments;
}

// An operation of gRPC, which keeps its call until it is done.
template <typename C>
class Operation final : public GrpcTag {
 public:
  using Handler = void (C::*)(bool ok);
  Operation(C* call, Handler handler) : call_(call), handler_(handler) {}

  // Returns the tag to give to gRPC.
  void* Begin() {
    keep_ = call_->shared_from_this();
    return HandOver(this);
  }
  void Done(bool ok) override {
    const std::shared_ptr<C> keep = std::move(keep_);  // destroyed last, perhaps with this object
    (call_->*handler_)(ok);
  }

 private:
  C* const call_;
  const Handler handler_;
  std::shared_ptr<C> keep_;
};

class UnaryCall final : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(std::shared_ptr<OutsideAsks> asks, const PendingId& ask, std::shared_ptr<grpc::Channel> channel)
      : asks_(std::move(asks)), ask_(ask), channel_(std::move(channel)) {}

  void Begin(grpc::GenericStub& stub, const std::string& path, std::string request, absl::Duration timeout) {
    SetUp(context_, timeout);
    call_ = stub.PrepareUnaryCall(&context_, path, ToBuffer(std::move(request)), ProcessQueue());
    call_->StartCall();
    call_->Finish(&reply_, &status_, finish_.Begin());
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void FinishDone(bool) {
    RpcReply reply{.status = FromServer(status_)};
    if (reply.status.ok()) reply = TakeMessage(reply_);
    asks_->Answer(ask_, std::move(reply));
  }

  const std::shared_ptr<OutsideAsks> asks_;
  const PendingId ask_;
  const std::shared_ptr<grpc::Channel> channel_;  // outlives the context, as in StreamCall
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> call_;  // gRPC's, in the context's memory
  grpc::ByteBuffer reply_;
  grpc::Status status_;
  Operation<UnaryCall> finish_{this, &UnaryCall::FinishDone};
};

class UnaryHandle final : public RpcCall {
 public:
  explicit UnaryHandle(std::shared_ptr<UnaryCall> call) : call_(std::move(call)) {}
  ~UnaryHandle() override { call_->Cancel(); }

 private:
  const std::shared_ptr<UnaryCall> call_;
};

// A call whose answer or request is a stream.
//
// Invariants:
//  1. Each operation keeps the object. One read and one write are under way at most, from the end of the start on.
//  2. The last operation to begin is Finish: when the start or a read has failed, or, once the handle is gone, as soon
//     as no read is under way. Nothing else begins after it.
//  3. next_ is the ask that waits, from Next to its answer, which is an item or, when Finish is done, the end.
//     written_ is the ask that waits, from Write to the end of the write.
class StreamCall final : public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(std::shared_ptr<OutsideAsks> asks, std::shared_ptr<grpc::Channel> channel)
      : asks_(std::move(asks)), channel_(std::move(channel)) {}

  void Begin(grpc::GenericStub& stub, const std::string& path, absl::optional<std::string> request,
             absl::Duration timeout) {
    SetUp(context_, timeout);
    absl::MutexLock lock(&mu_);
    if (request.has_value()) {
      outgoing_ = ToBuffer(*std::move(request));
      ends_items_ = true;
    }
    call_ = stub.PrepareCall(&context_, path, ProcessQueue());
    call_->StartCall(start_.Begin());
  }
  void Next(const PendingId& ask) {
    absl::optional<absl::Status> end;
    {
      absl::MutexLock lock(&mu_);
      end = end_;
      if (!end.has_value()) next_ = ask;
      if (MayBegin()) Read();
    }
    if (end.has_value()) asks_->Answer(ask, RpcReply{.status = *std::move(end)});
  }
  void Write(std::string item, const PendingId& ask) {
    {
      absl::MutexLock lock(&mu_);
      if (!is_finishing_) {
        outgoing_ = ToBuffer(std::move(item));
        written_ = ask;
        if (MayBegin()) WriteOutgoing();
        return;
      }
    }
    asks_->Answer(ask, RpcWritten());
  }
  void EndItems() {
    absl::MutexLock lock(&mu_);
    ends_items_ = true;
    if (MayBegin()) call_->WritesDone(write_.Begin());
  }
  // The handle is gone.
  void Cancel() {
    context_.TryCancel();
    absl::MutexLock lock(&mu_);
    is_cancelled_ = true;
    if (MayBegin() && !is_reading_) Finish();
  }

 private:
  bool MayBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return is_started_ && !is_finishing_; }
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    is_reading_ = true;
    call_->Read(&item_, read_.Begin());
  }
  void WriteOutgoing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const grpc::WriteOptions options;
    if (ends_items_) {
      call_->WriteLast(outgoing_, options, write_.Begin());
    } else {
      call_->Write(outgoing_, options, write_.Begin());
    }
    outgoing_.Clear();
  }
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    is_finishing_ = true;
    call_->Finish(&status_, finish_.Begin());
  }

  // The ends of operations, on the thread that polls the process's queue.
  void StartDone(bool ok) {
    PendingId written;
    {
      absl::MutexLock lock(&mu_);
      is_started_ = true;
      if (!ok || is_cancelled_) {
        written = std::exchange(written_, PendingId());
        Finish();
      } else {
        if (outgoing_.Valid()) {
          WriteOutgoing();
        } else if (ends_items_) {
          call_->WritesDone(write_.Begin());
        }
        if (next_.id != 0) Read();
      }
    }
    if (written.id != 0) asks_->Answer(written, RpcWritten());
  }
  void ReadDone(bool ok) {
    RpcReply item;
    PendingId next;
    {
      absl::MutexLock lock(&mu_);
      is_reading_ = false;
      if (!ok || is_cancelled_) return Finish();
      item = TakeMessage(item_);
      next = std::exchange(next_, PendingId());
    }
    asks_->Answer(next, std::move(item));
  }
  void WriteDone(bool ok) {
    PendingId written;
    {
      absl::MutexLock lock(&mu_);
      written = std::exchange(written_, PendingId());
    }
    if (written.id != 0) asks_->Answer(written, RpcWritten{.is_taken = ok});
  }
  void FinishDone(bool) {
    PendingId next;
    absl::Status end = FromServer(status_);
    {
      absl::MutexLock lock(&mu_);
      end_ = end;
      next = std::exchange(next_, PendingId());
    }
    if (next.id != 0) asks_->Answer(next, RpcReply{.status = std::move(end)});
  }

  const std::shared_ptr<OutsideAsks> asks_;
  // Outlives the context, so that the channel's last owner is never one of libgrpc++, whose counting of owners
  // ThreadSanitizer does not see.
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  absl::Mutex mu_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_ ABSL_GUARDED_BY(mu_);  // in the context's memory
  grpc::ByteBuffer item_ ABSL_GUARDED_BY(mu_);                                       // gRPC's during a read
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mu_);  // invalid unless an item waits for the end of the start
  bool ends_items_ ABSL_GUARDED_BY(mu_) = false;    // no item comes after outgoing_
  bool is_started_ ABSL_GUARDED_BY(mu_) = false;    // the start has ended
  bool is_reading_ ABSL_GUARDED_BY(mu_) = false;
  bool is_finishing_ ABSL_GUARDED_BY(mu_) = false;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  PendingId next_ ABSL_GUARDED_BY(mu_);                    // its id is 0 if no ask waits
  PendingId written_ ABSL_GUARDED_BY(mu_);                 // likewise
  grpc::Status status_;                                    // gRPC's during Finish
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // once Finish is done
  Operation<StreamCall> start_{this, &StreamCall::StartDone};
  Operation<StreamCall> read_{this, &StreamCall::ReadDone};
  Operation<StreamCall> write_{this, &StreamCall::WriteDone};
  Operation<StreamCall> finish_{this, &StreamCall::FinishDone};
};

class StreamHandle final : public RpcStream {
 public:
  explicit StreamHandle(std::shared_ptr<StreamCall> call) : call_(std::move(call)) {}
  ~StreamHandle() override { call_->Cancel(); }
  void Next(const PendingId& ask) override { call_->Next(ask); }
  void Write(std::string item, const PendingId& ask) override { call_->Write(std::move(item), ask); }
  void EndItems() override { call_->EndItems(); }

 private:
  const std::shared_ptr<StreamCall> call_;
};

std::shared_ptr<grpc::Channel> OpenChannel(const GrpcClientOptions& options) {
  const NodeAddress address = *NodeAddress::Parse(options.target);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.credentials.tls.has_value()) {
    credentials = TlsCertificates(*options.credentials.tls)
                      .ForDial(options.server_name.empty() ? address.host : options.server_name);
  }
  return grpc::CreateCustomChannel(address.ToGrpcTarget(), credentials, ArgumentsOf(options));
}

}  // namespace

class ServiceChannel::Parts {
 public:
  Parts(const GrpcClientOptions& options, std::shared_ptr<OutsideAsks> its_asks)
      : asks(std::move(its_asks)), channel(OpenChannel(options)), stub(channel) {}

  const std::shared_ptr<OutsideAsks> asks;
  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
};

ServiceChannel::ServiceChannel(const GrpcClientOptions& options, std::shared_ptr<OutsideAsks> asks)
    : parts_(std::make_unique<Parts>(options, std::move(asks))) {}

ServiceChannel::~ServiceChannel() = default;

std::unique_ptr<RpcCall> ServiceChannel::Call(const std::string& path, std::string request, absl::Duration timeout,
                                              const PendingId& ask) {
  auto call = std::make_shared<UnaryCall>(parts_->asks, ask, parts_->channel);
  call->Begin(parts_->stub, path, std::move(request), timeout);
  return std::make_unique<UnaryHandle>(std::move(call));
}

std::unique_ptr<RpcStream> ServiceChannel::Stream(const std::string& path, absl::optional<std::string> request,
                                                  absl::Duration timeout) {
  auto call = std::make_shared<StreamCall>(parts_->asks, parts_->channel);
  call->Begin(parts_->stub, path, std::move(request), timeout);
  return std::make_unique<StreamHandle>(std::move(call));
}

bool ServiceChannel::LacksConnection() {
  return parts_->channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY;
}

}  // namespace understudy::internal
