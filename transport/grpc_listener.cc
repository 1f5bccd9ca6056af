// The accepting side.
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/grpc_call.h"
#include "understudy/transport/grpc_stream.h"
#include "understudy/transport/thread.h"
#include "understudy/transport/unix_socket.h"

namespace understudy {
namespace {

// A server of gRPC. Its calls use it to their end, after Shutdown has returned
// too, so each keeps it.
struct Server {
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  // Calls that keep it: relaxed, it bounds and orders nothing.
  std::atomic<int> calls{0};
};

// A call that a server has accepted.
class ServerCall final : public internal::GrpcCall {
 public:
  explicit ServerCall(std::shared_ptr<Server> server)
      : GrpcCall(internal::NextQueue()), server_(std::move(server)), connection_(std::make_unique<Connection>()) {
    server_->calls.fetch_add(1, std::memory_order_relaxed);
  }
  ~ServerCall() override { Release(); }

  // Asks the server for the next call.
  void Request(void* tag) {
    server_->service.RequestCall(&connection_->context, &connection_->call, queue_, server_->queue.get(), tag);
  }
  const std::string& method() const { return connection_->context.method(); }

  // The requested call is there. `events` is null when it is refused.
  void Accepted(FrameStream::Events* events, absl::Status refusal) {
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
    // A call that never stood is refused by its status.
    if (was_open()) connection_->context.TryCancel();
  }
  absl::Status FinishStatus() override { return absl::UnavailableError("closed by the peer"); }
  void Release() override {
    connection_.reset();
    if (server_ != nullptr) server_->calls.fetch_sub(1, std::memory_order_relaxed);
    server_.reset();
  }

  grpc::Status FinalStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!refusal_.ok()) return ToGrpc(refusal_);
    return is_ended() ? ToGrpc(why()) : grpc::Status::OK;
  }
  static grpc::Status ToGrpc(const absl::Status& why) {
    return grpc::Status(static_cast<grpc::StatusCode>(why.code()), std::string(why.message()));
  }

  std::shared_ptr<Server> server_;
  absl::Status refusal_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Connection> connection_;  // reset after the last operation
};

}  // namespace

// A server with its queue and threads. The reaper that Stop starts keeps it
// until gRPC is done with it.
class GrpcListener::Serving final : public std::enable_shared_from_this<GrpcListener::Serving> {
 public:
  explicit Serving(AcceptStream accept) : accept_(std::move(accept)) {}
  ~Serving() {
    if (unix_socket_ >= 0) close(unix_socket_);
    if (stop_event_ >= 0) close(stop_event_);
  }

  absl::Status Start(const NodeAddress* address);
  absl::Status AcceptOver(int descriptor);
  void Stop();
  const std::string& address() const { return address_; }

 private:
  // A request for the next call; its completion is an accepted stream.
  class Request final : public internal::GrpcTag {
   public:
    explicit Request(Serving* serving) : serving_(serving), call_(std::make_shared<ServerCall>(serving->server_)) {
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
    Serving* const serving_;
    const std::shared_ptr<ServerCall> call_;
  };

  void RequestNext();
  void Accept(const std::shared_ptr<ServerCall>& call);
  // The threads.
  void AcceptUnixSockets();
  void Reap();

  // Constant after Start.
  const AcceptStream accept_;
  std::string address_;
  std::string unix_path_;
  int unix_socket_ = -1;
  int stop_event_ = -1;
  const std::shared_ptr<Server> server_ = std::make_shared<Server>();
  std::thread queue_thread_;
  std::thread unix_thread_;

  absl::Mutex accept_mu_;  // held while accept_ runs
  bool accepting_ ABSL_GUARDED_BY(accept_mu_) = true;
  absl::Mutex server_mu_;
  bool serving_ ABSL_GUARDED_BY(server_mu_) = true;
};

absl::Status GrpcListener::Serving::Start(const NodeAddress* address) {
  if (address != nullptr && address->reach == NodeAddress::Reach::kUnixSocket) {
    absl::StatusOr<int> listening = internal::ListenUnix(address->path);
    if (!listening.ok()) return listening.status();
    unix_socket_ = *listening;
    unix_path_ = address->path;
    stop_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_event_ < 0) return absl::ResourceExhaustedError(absl::StrCat("eventfd: ", strerror(errno)));
  }
  const bool by_grpc = address != nullptr && unix_socket_ < 0;
  grpc::ServerBuilder builder;
  internal::SetCommonArguments([&](const std::string& name, int value) { builder.AddChannelArgument(name, value); });
  int port = 0;
  if (by_grpc) builder.AddListeningPort(address->ToString(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterAsyncGenericService(&server_->service);
  server_->queue = builder.AddCompletionQueue();
  server_->server = builder.BuildAndStart();
  if (server_->server == nullptr || (by_grpc && port == 0)) {
    if (server_->server != nullptr) server_->server->Shutdown();
    server_->queue->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (server_->queue->Next(&tag, &ok)) {
    }
    return absl::UnavailableError(absl::StrCat("cannot listen on ",
                                               address == nullptr ? "a descriptor" : address->ToString(),
                                               ": the address is taken or not of this machine"));
  }
  if (address != nullptr) {
    NodeAddress real = *address;
    real.port = port;
    address_ = real.ToString();
  }
  RequestNext();
  queue_thread_ = internal::StartThread([this] { internal::Serve(server_->queue.get()); });
  if (unix_socket_ >= 0) unix_thread_ = internal::StartThread([this] { AcceptUnixSockets(); });
  return absl::OkStatus();
}

absl::Status GrpcListener::Serving::AcceptOver(int descriptor) {
  if (absl::Status adopted = internal::Adopt(descriptor); !adopted.ok()) return adopted;
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
  // A queue that was shut down takes no more.
  if (serving_) new Request(this);  // owned by the queue
}

void GrpcListener::Serving::Accept(const std::shared_ptr<ServerCall>& call) {
  if (call->method() != internal::kCarryMethod) {
    call->Accepted(nullptr, absl::UnimplementedError(absl::StrCat("a node serves ", internal::kCarryMethod)));
    return;
  }
  if (server_->calls.load(std::memory_order_relaxed) > limits::kStreamsPerListenerMax) {
    call->Accepted(nullptr, absl::ResourceExhaustedError("this node has too many streams"));
    return;
  }
  absl::MutexLock lock(&accept_mu_);
  FrameStream::Events* const events = accepting_ ? accept_(call->NewHandle()) : nullptr;
  call->Accepted(events, absl::UnavailableError("this node takes no more streams"));
}

void GrpcListener::Serving::AcceptUnixSockets() {
  while (true) {
    std::array<pollfd, 2> wait = {
        {{.fd = unix_socket_, .events = POLLIN, .revents = 0}, {.fd = stop_event_, .events = POLLIN, .revents = 0}}};
    if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    if (wait[0].revents == 0) continue;
    absl::StatusOr<int> accepted = internal::AcceptUnix(unix_socket_);
    if (accepted.ok()) AcceptOver(*accepted).IgnoreError();  // it has stopped, and the descriptor is closed
  }
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
  if (unix_socket_ >= 0) {
    unlink(unix_path_.c_str());
    eventfd_write(stop_event_, 1);
  }
  // It may take long, or for ever: nobody waits.
  internal::StartThread([self = shared_from_this()] { self->Reap(); }).detach();
}

void GrpcListener::Serving::Reap() {
  if (unix_thread_.joinable()) unix_thread_.join();
  server_->server->Shutdown(std::chrono::system_clock::now());  // cancels what is left
  server_->queue->Shutdown();
  queue_thread_.join();
}

GrpcListener::GrpcListener(std::shared_ptr<Serving> serving) : serving_(std::move(serving)) {}

GrpcListener::~GrpcListener() { Stop(); }

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Listen(absl::string_view address,
                                                                   const Credentials& credentials,
                                                                   AcceptStream accept) {
  const absl::StatusOr<NodeAddress> parsed = NodeAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  if (absl::Status allowed = CheckAllowed(credentials, *parsed, "listen on"); !allowed.ok()) return allowed;
  auto serving = std::make_shared<Serving>(std::move(accept));
  if (absl::Status started = serving->Start(&*parsed); !started.ok()) return started;
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(serving)));
}

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::WithoutAddress(AcceptStream accept) {
  auto serving = std::make_shared<Serving>(std::move(accept));
  if (absl::Status started = serving->Start(nullptr); !started.ok()) return started;
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(serving)));
}

const std::string& GrpcListener::address() const { return serving_->address(); }

absl::Status GrpcListener::AcceptOver(int descriptor) { return serving_->AcceptOver(descriptor); }

void GrpcListener::Stop() { serving_->Stop(); }

}  // namespace understudy
