// The dialing side of streams.
#include "understudy/transport/grpc/grpc_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grpc/grpc_call.h"
#include "understudy/transport/grpc/grpc_credentials.h"
#include "understudy/transport/grpc/grpc_queue.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/peer_process.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy {
namespace {

class ClientCall final : public internal::GrpcCall {
 public:
  // Call either Start or Fail, once, before the handle is given away.
  void Start(std::shared_ptr<grpc::Channel> channel, FrameStream::Events* events) {
    absl::MutexLock lock(&mu_);
    SetEvents(events);
    connection_ = std::make_unique<Connection>(std::move(channel));
    connection_->call =
        connection_->stub.PrepareCall(&connection_->context, internal::kCarryMethod, internal::ProcessQueue());
    connection_->call->StartCall(Begin(starting_));
  }
  void Fail(absl::Status why, FrameStream::Events* events) {
    absl::MutexLock lock(&mu_);
    SetEvents(events);
    FailLocked(std::move(why));
  }

 private:
  // gRPC's objects, in the order of their construction.
  struct Connection {
    explicit Connection(std::shared_ptr<grpc::Channel> channel) : stub(std::move(channel)) {}
    grpc::GenericStub stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
    grpc::Status status;
  };

  void Started(bool ok) {
    absl::MutexLock lock(&mu_);
    if (!ok || is_ended()) {
      FinishLocked();
    } else {
      OpenLocked();
    }
  }

  void BeginRead(grpc::ByteBuffer* into, void* tag) override { connection_->call->Read(into, tag); }
  void BeginWrite(const grpc::ByteBuffer& frame, void* tag) override { connection_->call->Write(frame, tag); }
  void BeginFinish(void* tag) override { connection_->call->Finish(&connection_->status, tag); }
  void Cancel() override { connection_->context.TryCancel(); }
  absl::Status FinishStatus() override {
    if (connection_->status.ok()) return absl::UnavailableError("closed by the peer");
    return internal::FromGrpc(connection_->status);
  }
  void Release() override { connection_.reset(); }

  Operation starting_{this, static_cast<Operation::Handler>(&ClientCall::Started)};
  std::unique_ptr<Connection> connection_;  // set before the first operation, reset after the last
};

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  internal::SetCommonArguments([&](const std::string& name, int value) { arguments.SetInt(name, value); });
  arguments.SetResourceQuota(internal::ReceiveQuota());
  return arguments;
}

std::unique_ptr<FrameStream> Started(std::shared_ptr<grpc::Channel> channel, FrameStream::Events* events) {
  auto call = std::make_shared<ClientCall>();
  call->Start(std::move(channel), events);
  return call->NewHandle();
}

class StreamOfProcess final : public FrameStream {
 public:
  StreamOfProcess(std::unique_ptr<FrameStream> stream, std::shared_ptr<const internal::PeerProcess> process)
      : stream_(std::move(stream)), process_(std::move(process)) {}
  void Write(std::string frame) override { stream_->Write(std::move(frame)); }
  void Close() override { stream_->Close(); }
  std::shared_ptr<const internal::PeerProcess> peer_process() const override { return process_; }

 private:
  const std::unique_ptr<FrameStream> stream_;
  const std::shared_ptr<const internal::PeerProcess> process_;
};

class GrpcDialer final : public Dialer {
 public:
  explicit GrpcDialer(const Credentials& credentials) : credentials_(credentials) {
    if (credentials.tls.has_value()) certificates_.emplace(*credentials.tls);
  }

  std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                    FrameStream::Events* events) override {
    const absl::StatusOr<NodeAddress> parsed = NodeAddress::Parse(address);
    if (!parsed.ok()) return FailedStream(parsed.status(), events);
    if (absl::Status allowed = CheckAllowed(credentials_, *parsed, "dial"); !allowed.ok()) {
      return FailedStream(std::move(allowed), events);
    }
    if (parsed->reach == NodeAddress::Reach::kUnixSocket) {
      const absl::StatusOr<int> connected = internal::ConnectUnix(parsed->path);
      if (!connected.ok()) return FailedStream(connected.status(), events);
      std::shared_ptr<const internal::PeerProcess> process = internal::PeerProcess::Of(*connected);
      return WithPeerProcess(DialOver(*connected, events), std::move(process));
    }
    // Each dial has its own channel, so that the host's name is resolved again.
    const std::shared_ptr<grpc::ChannelCredentials> credentials =
        certificates_.has_value() ? certificates_->ForDial(node) : grpc::InsecureChannelCredentials();
    grpc::ChannelArguments arguments = Arguments();
    // The name that TLS asks the server for (SNI). With the address in its place, the server's gRPC would log an error
    // for each connection, because no certificate has that name.
    if (certificates_.has_value()) arguments.SetSslTargetNameOverride(std::string(node));
    return Started(grpc::CreateCustomChannel(parsed->ToGrpcTarget(), credentials, arguments), events);
  }

  StreamIdentity IdentityAt(absl::string_view node, absl::string_view address) const override {
    const absl::StatusOr<NodeAddress> parsed = NodeAddress::Parse(address);
    if (!parsed.ok()) return StreamIdentity::Unproved();
    if (parsed->reach == NodeAddress::Reach::kUnixSocket) return StreamIdentity::SameUser();
    return certificates_.has_value() ? StreamIdentity::Certificate({std::string(node)}) : StreamIdentity::Unproved();
  }

 private:
  const Credentials credentials_;
  absl::optional<internal::TlsCertificates> certificates_;  // constant after construction
};

}  // namespace

std::unique_ptr<Dialer> NewGrpcDialer(const Credentials& credentials) {
  return std::make_unique<GrpcDialer>(credentials);
}

std::unique_ptr<FrameStream> WithPeerProcess(std::unique_ptr<FrameStream> stream,
                                             std::shared_ptr<const internal::PeerProcess> process) {
  if (process == nullptr) return stream;
  return std::make_unique<StreamOfProcess>(std::move(stream), std::move(process));
}

std::unique_ptr<FrameStream> FailedStream(absl::Status why, FrameStream::Events* events) {
  auto call = std::make_shared<ClientCall>();
  call->Fail(std::move(why), events);
  return call->NewHandle();
}

std::unique_ptr<FrameStream> DialOver(int descriptor, FrameStream::Events* events) {
  if (absl::Status adopted = internal::Adopt(descriptor); !adopted.ok())
    return FailedStream(std::move(adopted), events);
  return Started(grpc::CreateCustomInsecureChannelFromFd("peer", descriptor, Arguments()), events);
}

}  // namespace understudy
