#include "understudy/transport/client/service_channel.h"

#include <grpc/grpc.h>
#include <grpc/impl/codegen/connectivity_state.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/stub_options.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/client/client_limits.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/grpc/grpc_credentials.h"

namespace understudy::internal {
namespace {

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

class ReceivedBytes final : public RpcBytes {
 public:
  // Takes the content of `buffer`.
  explicit ReceivedBytes(grpc::ByteBuffer& buffer) { buffer_.Swap(&buffer); }
  absl::optional<absl::string_view> Flatten() override {
    if (!buffer_.TrySingleSlice(&slice_).ok() && !buffer_.DumpToSingleSlice(&slice_).ok()) return absl::nullopt;
    return absl::string_view(reinterpret_cast<const char*>(slice_.begin()), slice_.size());
  }

 private:
  grpc::ByteBuffer buffer_;
  grpc::Slice slice_;
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
  return arguments;
}

// The state of a unary call that gRPC uses until its callback has returned.
struct UnaryCall {
  explicit UnaryCall(std::shared_ptr<grpc::Channel> its_channel) : channel(std::move(its_channel)) {}

  const std::shared_ptr<grpc::Channel> channel;  // outlives the context, as in StreamReactor
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
};

class UnaryHandle final : public RpcCall {
 public:
  explicit UnaryHandle(std::shared_ptr<UnaryCall> call) : call_(std::move(call)) {}
  ~UnaryHandle() override { call_->context.TryCancel(); }

 private:
  const std::shared_ptr<UnaryCall> call_;
};

// A call whose answer or request is a stream, as a reactor of gRPC's callback API.
//
// Invariants:
//  1. self_ keeps the object until OnDone, the last reaction, has returned.
//  2. has_hold_ is true from the start until a read has failed or the handle is gone. A read or write begins only while
//     it is true, so gRPC's OnDone comes after the last of them.
//  3. next_ is the ask that waits, from Next to its answer. It is answered by OnReadDone with an item, or by OnDone.
//     written_ is the ask that waits, from Write to OnWriteDone.
class StreamReactor final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  StreamReactor(std::shared_ptr<OutsideAsks> asks, std::shared_ptr<grpc::Channel> channel)
      : asks_(std::move(asks)), channel_(std::move(channel)) {}

  void Begin(std::shared_ptr<StreamReactor> self, grpc::GenericStub& stub, const std::string& path,
             const absl::optional<std::string>& request, absl::Duration timeout) {
    self_ = std::move(self);
    SetUp(context_, timeout);
    stub.PrepareBidiStreamingCall(&context_, path, grpc::StubOptions(), this);
    if (request.has_value()) {
      absl::MutexLock lock(&mu_);
      outgoing_ = ToBuffer(*request);
      StartWriteLast(&outgoing_, grpc::WriteOptions());
    }
    AddHold();
    StartCall();
  }
  void Next(const PendingId& ask) {
    absl::optional<absl::Status> end;
    {
      absl::MutexLock lock(&mu_);
      end = end_;
      if (!end.has_value()) {
        next_ = ask;
        if (has_hold_) StartRead(&item_);
      }
    }
    if (end.has_value()) asks_->Answer(ask, RpcReply{.status = *std::move(end)});
  }
  void Write(const std::string& item, const PendingId& ask) {
    {
      absl::MutexLock lock(&mu_);
      if (has_hold_) {
        outgoing_ = ToBuffer(item);
        written_ = ask;
        StartWrite(&outgoing_);
        return;
      }
    }
    asks_->Answer(ask, RpcWritten());
  }
  void EndItems() {
    absl::MutexLock lock(&mu_);
    if (has_hold_) StartWritesDone();
  }
  // The handle is gone.
  void Cancel() {
    context_.TryCancel();
    GiveUpHold();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return GiveUpHold();
    RpcReply item;
    PendingId next;
    {
      absl::MutexLock lock(&mu_);
      item = TakeMessage(item_);
      next = std::exchange(next_, PendingId());
    }
    asks_->Answer(next, std::move(item));
  }
  void OnWriteDone(bool ok) override {
    PendingId written;
    {
      absl::MutexLock lock(&mu_);
      outgoing_.Clear();
      written = std::exchange(written_, PendingId());
    }
    if (written.id != 0) asks_->Answer(written, RpcWritten{.is_taken = ok});
  }
  void OnDone(const grpc::Status& status) override {
    PendingId next;
    absl::Status end = FromServer(status);
    {
      absl::MutexLock lock(&mu_);
      end_ = end;
      next = std::exchange(next_, PendingId());
    }
    if (next.id != 0) asks_->Answer(next, RpcReply{.status = std::move(end)});
    const std::shared_ptr<StreamReactor> last = std::move(self_);  // destroys this object, perhaps
  }

 private:
  void GiveUpHold() {
    {
      absl::MutexLock lock(&mu_);
      if (!std::exchange(has_hold_, false)) return;
    }
    RemoveHold();
  }

  const std::shared_ptr<OutsideAsks> asks_;
  // Outlives the context, so that the channel's last owner is never one of libgrpc++, whose counting of owners
  // ThreadSanitizer does not see.
  const std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<StreamReactor> self_;  // set by Begin, taken by OnDone
  grpc::ClientContext context_;
  absl::Mutex mu_;
  grpc::ByteBuffer item_ ABSL_GUARDED_BY(mu_);      // gRPC's during a read
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mu_);  // gRPC's during a write
  bool has_hold_ ABSL_GUARDED_BY(mu_) = true;
  PendingId next_ ABSL_GUARDED_BY(mu_);                    // its id is 0 if no ask waits
  PendingId written_ ABSL_GUARDED_BY(mu_);                 // likewise
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // from OnDone on
};

class StreamHandle final : public RpcStream {
 public:
  explicit StreamHandle(std::shared_ptr<StreamReactor> reactor) : reactor_(std::move(reactor)) {}
  ~StreamHandle() override { reactor_->Cancel(); }
  void Next(const PendingId& ask) override { reactor_->Next(ask); }
  void Write(const std::string& item, const PendingId& ask) override { reactor_->Write(item, ask); }
  void EndItems() override { reactor_->EndItems(); }

 private:
  const std::shared_ptr<StreamReactor> reactor_;
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

std::unique_ptr<RpcCall> ServiceChannel::Call(const std::string& path, const std::string& request,
                                              absl::Duration timeout, const PendingId& ask) {
  auto call = std::make_shared<UnaryCall>(parts_->channel);
  SetUp(call->context, timeout);
  call->request = ToBuffer(request);
  parts_->stub.UnaryCall(&call->context, path, grpc::StubOptions(), &call->request, &call->reply,
                         [call, ask, asks = parts_->asks](const grpc::Status& ended) {
                           RpcReply reply{.status = FromServer(ended)};
                           if (reply.status.ok()) reply = TakeMessage(call->reply);
                           asks->Answer(ask, std::move(reply));
                         });
  return std::make_unique<UnaryHandle>(std::move(call));
}

std::unique_ptr<RpcStream> ServiceChannel::Stream(const std::string& path, const absl::optional<std::string>& request,
                                                  absl::Duration timeout) {
  auto reactor = std::make_shared<StreamReactor>(parts_->asks, parts_->channel);
  reactor->Begin(reactor, parts_->stub, path, request, timeout);
  return std::make_unique<StreamHandle>(std::move(reactor));
}

bool ServiceChannel::LacksConnection() {
  return parts_->channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY;
}

}  // namespace understudy::internal
