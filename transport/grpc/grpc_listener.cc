// GrpcListener: the accepting side of streams.
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grpc/grpc_call.h"
#include "understudy/transport/grpc/grpc_credentials.h"
#include "understudy/transport/grpc/grpc_queue.h"
#include "understudy/transport/grpc/grpc_stream.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/acceptor.h"
#include "understudy/transport/sockets/connection_gate.h"
#include "understudy/transport/sockets/peer_process.h"
#include "understudy/transport/sockets/thread.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy {
namespace {

// A gRPC server. Its calls use it until they end, which may be after Shutdown has returned, so each call
// holds a reference.
struct Server {
  ~Server() {
    if (idle_queue == nullptr) return;
    server.reset();
    idle_queue->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (idle_queue->Next(&tag, &ok)) {
    }
  }

  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::ServerCompletionQueue> idle_queue;  // unused, but gRPC requires one for each server
  std::unique_ptr<grpc::Server> server;
};

// A call that a server has accepted.
class ServerCall final : public internal::GrpcCall {
 public:
  explicit ServerCall(std::shared_ptr<Server> server)
      : server_(std::move(server)), connection_(std::make_unique<Connection>()) {}
  ~ServerCall() override { Release(); }

  // Asks the server for the next call.
  void Request(void* tag) {
    server_->service.RequestCall(&connection_->context, &connection_->call, internal::ProcessQueue(),
                                 internal::ProcessQueue(), tag);
  }
  const std::string& method() const { return connection_->context.method(); }
  // The address of the call's peer, as gRPC prints it.
  std::string peer() const { return connection_->context.peer(); }
  // The identity that the peer's certificate proves.
  StreamIdentity certificate() const {
    return StreamIdentity::Certificate(internal::CertificateNames(*connection_->context.auth_context()));
  }
  // Calls `on_over` when gRPC is done with the call, or when the call is refused: gRPC may keep a refused call for as
  // long as its peer does not read the status. Before Accepted.
  void SetOnOver(std::function<void()> on_over) { on_over_ = std::move(on_over); }

  // The requested call has come. `events` is null if it is refused with `refusal`.
  void Accepted(FrameStream::Events* events, absl::Status refusal) {
    if (events == nullptr) Over();
    absl::MutexLock lock(&mu_);
    SetEvents(events);
    if (events == nullptr) {
      refusal_ = std::move(refusal);
      EndLocked(refusal_);
    }
    if (is_ended()) {
      FinishLocked();
    } else {
      OpenLocked();
    }
  }

 private:
  struct Connection {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter call{&context};
  };

  void BeginRead(grpc::ByteBuffer* into, void* tag) override { connection_->call.Read(into, tag); }
  void BeginWrite(const grpc::ByteBuffer& frame, void* tag) override { connection_->call.Write(frame, tag); }
  void BeginFinish(void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) override {
    connection_->call.Finish(FinalStatus(), tag);
  }
  void Cancel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) override {
    // A call that was never opened is not cancelled, so that Finish can send its status to the peer.
    if (was_open()) connection_->context.TryCancel();
  }
  absl::Status FinishStatus() override { return absl::UnavailableError("closed by the peer"); }
  void Release() override {
    connection_.reset();
    server_.reset();
    Over();
  }
  void Over() {
    if (const std::function<void()> on_over = std::exchange(on_over_, nullptr); on_over != nullptr) on_over();
  }

  grpc::Status FinalStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!refusal_.ok()) return ToGrpc(refusal_);
    return is_ended() ? ToGrpc(why()) : grpc::Status::OK;
  }
  static grpc::Status ToGrpc(const absl::Status& why) {
    return grpc::Status(static_cast<grpc::StatusCode>(why.code()), std::string(why.message()));
  }

  std::shared_ptr<Server> server_;
  std::function<void()> on_over_;
  absl::Status refusal_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Connection> connection_;  // reset after the last operation
};

}  // namespace

// A gRPC server and the callback that gets its streams. Kept alive by its request for the next call, and by
// the thread that Stop starts, until gRPC is done with the server.
class GrpcListener::Serving final : public std::enable_shared_from_this<GrpcListener::Serving> {
 public:
  Serving(StreamIdentity identity, AcceptStream accept) : accept_(std::move(accept)), identity_(std::move(identity)) {}

  // If `address` is null the server does not listen.
  absl::Status Start(const NodeAddress* address, const Credentials& credentials,
                     const internal::ConnectionBounds& bounds, internal::Acceptor::OnWithoutStream on_without_stream);
  absl::Status AcceptOver(int descriptor);
  void Stop();
  const std::string& address() const { return address_; }
  internal::ConnectionCounts connection_counts() {
    return acceptor_ != nullptr ? acceptor_->counts() : internal::ConnectionCounts();
  }

 private:
  // A request for the next call; its completion is an accepted stream.
  class Request final : public internal::GrpcTag {
   public:
    explicit Request(std::shared_ptr<Serving> serving)
        : serving_(std::move(serving)), call_(std::make_shared<ServerCall>(serving_->server_)) {
      call_->Request(internal::HandOver(this));
    }
    void Done(bool ok) override {
      if (ok) {
        serving_->RequestNext();
        serving_->Accept(call_);
      }
      delete this;
    }

   private:
    const std::shared_ptr<Serving> serving_;
    const std::shared_ptr<ServerCall> call_;
  };

  void RequestNext();
  void Accept(const std::shared_ptr<ServerCall>& call);
  bool Begin(const std::shared_ptr<ServerCall>& call, std::shared_ptr<const internal::PeerProcess>& process);
  void Give(int descriptor);
  void Reap();

  // Constant after Start.
  const AcceptStream accept_;
  const StreamIdentity identity_;  // of every stream, unless TLS proves another
  bool is_tls_ = false;
  std::string address_;
  const std::shared_ptr<Server> server_ = std::make_shared<Server>();
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;  // into the server
  std::shared_ptr<internal::Acceptor> acceptor_;                                 // null if the server does not listen

  absl::Mutex accept_mu_;  // held while accept_ runs
  bool accepting_ ABSL_GUARDED_BY(accept_mu_) = true;
  absl::Mutex server_mu_;
  bool serving_ ABSL_GUARDED_BY(server_mu_) = true;
};

absl::Status GrpcListener::Serving::Start(const NodeAddress* address, const Credentials& credentials,
                                          const internal::ConnectionBounds& bounds,
                                          internal::Acceptor::OnWithoutStream on_without_stream) {
  absl::StatusOr<internal::ListeningSocket> listening = internal::ListeningSocket();
  if (address != nullptr) listening = internal::OpenListeningSocket(*address);
  if (!listening.ok()) return listening.status();
  grpc::ServerBuilder builder;
  internal::SetCommonArguments([&](const std::string& name, int value) { builder.AddChannelArgument(name, value); });
  if (address != nullptr) {
    is_tls_ = credentials.tls.has_value() && address->reach != NodeAddress::Reach::kUnixSocket;
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        is_tls_ ? internal::TlsCertificates(*credentials.tls).ForServer() : grpc::InsecureServerCredentials());
  }
  builder.SetResourceQuota(internal::ReceiveQuota());
  builder.RegisterAsyncGenericService(&server_->service);
  server_->idle_queue = builder.AddCompletionQueue();
  internal::ServeOnProcessQueue(builder);
  server_->server = builder.BuildAndStart();
  if (address != nullptr) {
    address_ = listening->address.ToString();
    acceptor_ = std::make_shared<internal::Acceptor>(
        *listening, bounds,
        [weak = weak_from_this()](int descriptor) {
          if (const std::shared_ptr<Serving> self = weak.lock(); self != nullptr) return self->Give(descriptor);
          close(descriptor);
        },
        std::move(on_without_stream));
  }
  if (server_->server == nullptr) return absl::InternalError("gRPC did not start a server; its log says why");
  RequestNext();
  if (acceptor_ != nullptr) acceptor_->Start();
  return absl::OkStatus();
}

void GrpcListener::Serving::Give(int descriptor) {
  absl::MutexLock lock(&server_mu_);
  if (!serving_) {
    close(descriptor);
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = descriptor;
  connections_->HandleNewConnection(&connection);
}

absl::Status GrpcListener::Serving::AcceptOver(int descriptor) {
  if (absl::Status adopted = internal::Adopt(descriptor); !adopted.ok()) {
    close(descriptor);
    return adopted;
  }
  absl::MutexLock lock(&server_mu_);
  if (!serving_) {
    close(descriptor);
    return absl::FailedPreconditionError("the listener has stopped");
  }
  grpc::AddInsecureChannelFromFd(server_->server.get(), descriptor);
  return absl::OkStatus();
}

void GrpcListener::Serving::RequestNext() {
  absl::MutexLock lock(&server_mu_);
  // After Stop no call is requested any more.
  if (serving_) new Request(shared_from_this());  // owned by the queue
}

void GrpcListener::Serving::Accept(const std::shared_ptr<ServerCall>& call) {
  if (call->method() != internal::kCarryMethod) {
    call->Accepted(nullptr, absl::UnimplementedError(absl::StrCat("a node serves ", internal::kCarryMethod)));
    return;
  }
  std::shared_ptr<const internal::PeerProcess> process;
  if (!Begin(call, process)) {
    call->Accepted(nullptr, absl::ResourceExhaustedError("one stream is served on each connection"));
    return;
  }
  absl::MutexLock lock(&accept_mu_);
  FrameStream::Events* const events = accepting_ ? accept_(WithPeerProcess(call->NewHandle(), std::move(process)),
                                                           is_tls_ ? call->certificate() : identity_)
                                                 : nullptr;
  call->Accepted(events, absl::UnavailableError("this node takes no more streams"));
}

// Tells the acceptor that a stream begins; false if it is refused. Connections that were given to AcceptOver are not
// counted, because this node made them.
bool GrpcListener::Serving::Begin(const std::shared_ptr<ServerCall>& call,
                                  std::shared_ptr<const internal::PeerProcess>& process) {
  if (acceptor_ == nullptr) return true;
  if (!acceptor_->OnBegun(call->peer(), process)) return false;
  call->SetOnOver([acceptor = acceptor_, peer = call->peer()] { acceptor->OnOver(peer); });
  return true;
}

void GrpcListener::Serving::Stop() {
  {
    absl::MutexLock lock(&accept_mu_);
    accepting_ = false;
  }
  {
    absl::MutexLock lock(&server_mu_);
    if (!std::exchange(serving_, false)) return;
  }
  if (acceptor_ != nullptr) acceptor_->Stop();
  // On a detached thread, because Shutdown may take long or never return.
  internal::StartThread([self = shared_from_this()] { self->Reap(); }).detach();
}

void GrpcListener::Serving::Reap() {
  server_->server->Shutdown(std::chrono::system_clock::now());  // cancels what is left
}

GrpcListener::GrpcListener(std::shared_ptr<Serving> serving) : serving_(std::move(serving)) {}

GrpcListener::~GrpcListener() { Stop(); }

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Listen(
    absl::string_view address, const Credentials& credentials, AcceptStream accept,
    const internal::ConnectionBounds& bounds, internal::Acceptor::OnWithoutStream on_without_stream) {
  const absl::StatusOr<NodeAddress> parsed = NodeAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  if (absl::Status allowed = CheckAllowed(credentials, *parsed, "listen on"); !allowed.ok()) return allowed;
  const bool is_unix = parsed->reach == NodeAddress::Reach::kUnixSocket;
  auto serving =
      std::make_shared<Serving>(is_unix ? StreamIdentity::SameUser() : StreamIdentity::Unproved(), std::move(accept));
  if (absl::Status started = serving->Start(&*parsed, credentials, bounds, std::move(on_without_stream)); !started.ok())
    return started;
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(serving)));
}

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::WithoutAddress(StreamIdentity identity,
                                                                           AcceptStream accept) {
  auto serving = std::make_shared<Serving>(std::move(identity), std::move(accept));
  if (absl::Status started = serving->Start(nullptr, Credentials::Insecure(), {}, nullptr); !started.ok())
    return started;
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(serving)));
}

const std::string& GrpcListener::address() const { return serving_->address(); }
internal::ConnectionCounts GrpcListener::connection_counts() const { return serving_->connection_counts(); }

absl::Status GrpcListener::AcceptOver(int descriptor) { return serving_->AcceptOver(descriptor); }

void GrpcListener::Stop() { serving_->Stop(); }

}  // namespace understudy
