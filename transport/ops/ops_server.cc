#include "understudy/transport/ops/ops_server.h"

#include <fcntl.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grpc/byte_buffers.h"
#include "understudy/transport/grpc/grpc_credentials.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/acceptor.h"
#include "understudy/transport/sockets/thread.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy::internal {
namespace {

constexpr int kStarvedPauseMillis = 100;

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// Call: one call of a client, or the wait for the next call. A Call deletes itself when gRPC has no tag of it left.
// Used by Loop's thread only.
class Call {
 public:
  struct Shared {
    const OpsMethods& methods;
    grpc::AsyncGenericService& service;
    grpc::ServerCompletionQueue& queue;
    const absl::optional<StreamIdentity> identity;                   // of every caller; nullopt: the certificate says
    const std::function<void(const std::string& peer)> on_answered;  // a call of that peer was not refused
    const std::function<void(absl::string_view what)> warn;
    std::set<Call*> calls;    // all Calls that exist
    size_t unread_bytes = 0;  // of the replies that gRPC has not sent
    uint64_t replies = 0;     // so far
    bool is_stopping = false;
  };
  struct Tag {
    Call* call;
    void (Call::*step)(bool ok);
    void Done(bool ok) { call->Step(*this, ok); }
  };

  static void AwaitNext(Shared& shared) { (new Call(shared))->Request(); }
  // Writes the next entry of a stream, if nothing is being written and there is one.
  void Look() {
    if (!is_following_ || is_writing_ || is_finishing_) return;
    if (absl::optional<std::string> entry = feed_.next(); entry.has_value()) {
      is_writing_ = true;
      ++pending_;
      stream_.Write(Counted(*std::move(entry)), &written_);
    } else if (const absl::optional<absl::Status> end = feed_.ends(); end.has_value()) {
      Finish(ToGrpc(*end));
    }
  }
  // True if Look has work to go on with.
  bool is_busy() const {
    return is_following_ && !is_writing_ && !is_finishing_ && feed_.is_busy != nullptr && feed_.is_busy();
  }

 private:
  explicit Call(Shared& shared) : shared_(shared) { shared_.calls.insert(this); }
  ~Call() { shared_.calls.erase(this); }

  void Request() {
    context_.AsyncNotifyWhenDone(&done_);
    ++pending_;
    shared_.service.RequestCall(&context_, &stream_, &shared_.queue, &shared_.queue, &arrived_);
  }
  StreamIdentity Caller() const {
    return shared_.identity.has_value() ? *shared_.identity
                                        : StreamIdentity::Certificate(CertificateNames(*context_.auth_context()));
  }
  void Step(const Tag& tag, bool ok) {
    --pending_;
    (this->*tag.step)(ok);
    if (pending_ == 0) delete this;
  }
  void Arrived(bool ok) {
    if (!ok) return;  // the server ends; `done_` does not come
    ++pending_;       // done_
    if (!shared_.is_stopping) AwaitNext(shared_);
    ++pending_;
    stream_.Read(&request_, &read_);
  }
  void Read(bool ok) {
    if (is_finishing_) return;  // the client has cancelled
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INTERNAL, "the request is missing"));
    const absl::StatusOr<grpc::Slice> bytes = BytesOf(request_);
    if (!bytes.ok()) return Finish(ToGrpc(bytes.status()));
    const std::string request(bytes->begin(), bytes->end());
    if (const auto unary = shared_.methods.unary.find(context_.method()); unary != shared_.methods.unary.end()) {
      absl::StatusOr<std::string> answer = unary->second(Caller(), request);
      if (!answer.ok()) return Finish(ToGrpc(answer.status()));
      shared_.on_answered(context_.peer());
      is_finishing_ = true;
      ++pending_;
      stream_.WriteAndFinish(Counted(*std::move(answer)), grpc::WriteOptions(), grpc::Status::OK, &finished_);
      return;
    }
    const auto opened = shared_.methods.feeds.find(context_.method());
    if (opened == shared_.methods.feeds.end()) {
      return Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "unknown method " + context_.method()));
    }
    absl::StatusOr<OpsFeed> feed = opened->second(Caller(), request);
    if (!feed.ok()) return Finish(ToGrpc(feed.status()));
    shared_.on_answered(context_.peer());
    feed_ = *std::move(feed);
    is_following_ = true;
    Look();
  }
  // Counts the bytes of the reply until gRPC has sent it, and keeps those of all replies within their bound.
  grpc::ByteBuffer Counted(std::string reply) {
    unread_bytes_ = reply.size();
    reply_number_ = ++shared_.replies;
    shared_.unread_bytes += unread_bytes_;
    while (shared_.unread_bytes > limits::kOpsUnreadBytesMax) GiveUpOldest(shared_);
    return ToBuffer(std::move(reply));
  }
  // Ends the call with the oldest reply among those that are not smaller than the average, so that a reader of a stream
  // who pauses keeps it.
  static void GiveUpOldest(Shared& shared) {
    const size_t average = shared.unread_bytes / shared.calls.size();
    Call* oldest = nullptr;
    for (Call* const call : shared.calls) {
      const bool is_large = call->unread_bytes_ > 0 && call->unread_bytes_ >= average;
      if (is_large && (oldest == nullptr || call->reply_number_ < oldest->reply_number_)) oldest = call;
    }
    const size_t bytes = oldest->unread_bytes_;
    oldest->NoLongerUnread();
    oldest->context_.TryCancel();
    shared.warn(absl::StrCat("ops: gave up a reply of ", bytes, " bytes, because its client does not read"));
  }
  void NoLongerUnread() { shared_.unread_bytes -= std::exchange(unread_bytes_, 0); }
  void Written(bool ok) {
    NoLongerUnread();
    is_writing_ = false;
    if (!ok) return Finish(grpc::Status::CANCELLED);
    Look();
  }
  void Finished(bool) { NoLongerUnread(); }
  // The client has cancelled or its connection has ended, or the call is over.
  void Done(bool) {
    is_following_ = false;
    if (!is_writing_) Finish(grpc::Status::CANCELLED);
  }
  void Finish(const grpc::Status& status) {
    if (is_finishing_) return;
    is_finishing_ = true;
    ++pending_;
    stream_.Finish(status, &finished_);
  }

  Shared& shared_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
  OpsFeed feed_;
  bool is_following_ = false;
  bool is_writing_ = false;
  bool is_finishing_ = false;
  size_t unread_bytes_ = 0;    // of the present reply
  uint64_t reply_number_ = 0;  // among all replies, from 1 on
  int pending_ = 0;            // tags that gRPC has
  Tag arrived_{this, &Call::Arrived};
  Tag read_{this, &Call::Read};
  Tag written_{this, &Call::Written};
  Tag finished_{this, &Call::Finished};
  Tag done_{this, &Call::Done};
};

}  // namespace

class OpsServer::Loop {
 public:
  using Into = grpc::experimental::ExternalConnectionAcceptor;

  Loop(ListeningSocket socket, unsigned uid, OpsMethods methods, std::function<void(absl::string_view)> warn)
      : address_(std::move(socket.address)),
        uid_(uid),
        methods_(std::move(methods)),
        warn_(std::move(warn)),
        listening_(socket.descriptor) {}
  ~Loop();

  absl::Status Start(const Credentials& credentials);
  const NodeAddress& address() const { return address_; }

 private:
  void Run();
  // Accepts connections, and notices those that have ended. Waits for at most `wait_millis`; negative: for ever.
  void PollSockets(int wait_millis);
  void Accept();
  void NoteAnswer(const std::string& peer);
  // Closes the oldest connection of which every call was refused, or that has made none, so that such connections do
  // not keep an operator out. Returns false if there is none. Connections of a Unix socket are never closed, because
  // only processes of this user can connect there.
  bool MakeRoom();
  void Warn(absl::string_view what);
  struct Connection {
    int watched = -1;          // a duplicate of the descriptor that gRPC has, to see when it ends
    std::string peer;          // as gRPC prints it
    bool is_answered = false;  // a call of it was not refused, so its client may keep it
  };

  bool PollsGrpc() const {
    // One Call object always waits for the next call, so a size of 1 means that no call
    // is under way.
    return !connections_.empty() || calls_->calls.size() > 1 || Clock::Real().Now() < polls_until_;
  }

  bool is_unix() const { return address_.reach == NodeAddress::Reach::kUnixSocket; }

  const NodeAddress address_;
  const unsigned uid_;
  const OpsMethods methods_;
  const std::function<void(absl::string_view)> warn_;
  const int listening_;
  int wake_ = -1;  // an eventfd
  std::atomic<bool> is_stopping_{false};
  std::unique_ptr<Into> into_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;

  // The thread's.
  std::unique_ptr<Call::Shared> calls_;
  std::vector<Connection> connections_;  // the oldest first
  MonotonicTime polls_until_;
  MonotonicTime warns_from_;
};

absl::Status OpsServer::Loop::Start(const Credentials& credentials) {
  if (is_unix() && chmod(address_.path.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot set the mode of unix:", address_.path, ": errno ", errno));
  }
  const bool is_tls = !is_unix() && credentials.tls.has_value();
  absl::optional<StreamIdentity> identity;
  if (!is_tls) identity = is_unix() ? StreamIdentity::SameUser() : StreamIdentity::Unproved();
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return absl::ResourceExhaustedError(absl::StrCat("eventfd: errno ", errno));
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(&service_);
  builder.SetMaxReceiveMessageSize(limits::kOpsRequestBytesMax);
  // No compression, so that a client cannot send a small request that decompresses to a large one.
  builder.AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits::kOpsCallsPerConnectionMax);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(limits::kOpsHandshakeWithin)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(limits::kOpsIdleMax)));
  if (!is_unix()) {
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                               static_cast<int>(absl::ToInt64Milliseconds(limits::kOpsKeepaliveEvery)));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                               static_cast<int>(absl::ToInt64Milliseconds(limits::kOpsKeepaliveEvery)));
  }
  queue_ = builder.AddCompletionQueue();
  into_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      is_tls ? TlsCertificates(*credentials.tls).ForServer() : grpc::InsecureServerCredentials());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC did not start a server; its log says why");
  calls_ =
      std::make_unique<Call::Shared>(Call::Shared{.methods = methods_,
                                                  .service = service_,
                                                  .queue = *queue_,
                                                  .identity = std::move(identity),
                                                  .on_answered = [this](const std::string& peer) { NoteAnswer(peer); },
                                                  .warn = [this](absl::string_view what) { Warn(what); }});
  Call::AwaitNext(*calls_);
  thread_ = StartThread([this] { Run(); });
  return absl::OkStatus();
}

void OpsServer::Loop::Run() {
  while (!is_stopping_.load(std::memory_order_acquire)) {
    PollSockets(PollsGrpc() ? 0 : -1);
    if (!PollsGrpc()) continue;
    void* tag = nullptr;
    bool ok = false;
    const bool is_busy = std::any_of(calls_->calls.begin(), calls_->calls.end(), std::mem_fn(&Call::is_busy));
    const absl::Duration wait = is_busy ? absl::ZeroDuration() : limits::kOpsLooksEvery;
    const auto until = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(wait);
    if (queue_->AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT) {
      static_cast<Call::Tag*>(tag)->Done(ok);
    }
    for (Call* const call : calls_->calls) call->Look();
  }
  calls_->is_stopping = true;
  void* tag = nullptr;
  bool ok = false;
  // The destructor shuts the server down meanwhile, which ends all Calls. No operation may begin on a queue that is
  // shut down, so the Calls end first.
  while (!calls_->calls.empty() && queue_->Next(&tag, &ok)) static_cast<Call::Tag*>(tag)->Done(ok);
  queue_->Shutdown();
  while (queue_->Next(&tag, &ok)) {
  }
}

void OpsServer::Loop::PollSockets(int wait_millis) {
  std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const Connection& connection : connections_) {
    polled.push_back({.fd = connection.watched, .events = POLLRDHUP, .revents = 0});
  }
  polled.push_back({.fd = listening_, .events = POLLIN, .revents = 0});
  if (poll(polled.data(), polled.size(), wait_millis) <= 0) return;
  std::vector<Connection> connections = std::exchange(connections_, {});
  for (size_t i = 0; i < connections.size(); ++i) {
    if (polled[i + 1].revents == 0) {
      connections_.push_back(std::move(connections[i]));
    } else {
      close(connections[i].watched);
      polls_until_ = Clock::Real().Now() + limits::kOpsLingers;
    }
  }
  if (polled.back().revents != 0) Accept();
}

void OpsServer::Loop::Accept() {
  const int accepted = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (accepted < 0) {
    // Without a descriptor the connection stays in the backlog, and the next poll would return at once.
    pollfd wake = {.fd = wake_, .events = POLLIN, .revents = 0};
    if (errno == EMFILE || errno == ENFILE) (void)poll(&wake, 1, kStarvedPauseMillis);
    return;
  }
  absl::Status taken = is_unix() ? CheckPeerUid(accepted, uid_) : absl::OkStatus();
  if (taken.ok() && connections_.size() >= limits::kOpsConnectionsMax && !MakeRoom()) {
    taken = absl::ResourceExhaustedError(absl::StrCat("there are ", connections_.size(), " already"));
  }
  const int watched = taken.ok() ? fcntl(accepted, F_DUPFD_CLOEXEC, 0) : -1;
  if (watched < 0) {
    if (taken.ok()) taken = absl::ErrnoToStatus(errno, "cannot watch it");
    close(accepted);
    return Warn(absl::StrCat("ops: refused a connection: ", taken.message()));
  }
  connections_.push_back({.watched = watched, .peer = PeerOf(accepted)});
  Into::NewConnectionParameters connection;
  connection.fd = accepted;
  into_->HandleNewConnection(&connection);
}

void OpsServer::Loop::NoteAnswer(const std::string& peer) {
  const std::string key = KeyOfPeer(peer);
  for (Connection& connection : connections_) {
    connection.is_answered = connection.is_answered || connection.peer == key;
  }
}

bool OpsServer::Loop::MakeRoom() {
  const auto unanswered = std::find_if(connections_.begin(), connections_.end(),
                                       [](const Connection& connection) { return !connection.is_answered; });
  if (is_unix() || unanswered == connections_.end()) return false;
  shutdown(unanswered->watched, SHUT_RDWR);
  close(unanswered->watched);
  connections_.erase(unanswered);
  return true;
}

void OpsServer::Loop::Warn(absl::string_view what) {
  if (Clock::Real().Now() < warns_from_) return;
  warns_from_ = Clock::Real().Now() + absl::Seconds(1);
  warn_(what);
}

OpsServer::Loop::~Loop() {
  is_stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) {
    const uint64_t one = 1;
    UNDERSTUDY_CHECK(write(wake_, &one, sizeof(one)) == sizeof(one), "eventfd");
    server_->Shutdown(std::chrono::system_clock::now());  // cancels all calls
    thread_.join();
  }
  for (const Connection& connection : connections_) close(connection.watched);
  if (wake_ >= 0) close(wake_);
  close(listening_);
  if (is_unix()) unlink(address_.path.c_str());
}

OpsServer::OpsServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

OpsServer::~OpsServer() = default;

const NodeAddress& OpsServer::address() const { return loop_->address(); }

absl::StatusOr<std::unique_ptr<OpsServer>> OpsServer::Start(const Options& options, OpsMethods methods,
                                                            std::function<void(absl::string_view)> warn) {
  absl::StatusOr<ListeningSocket> listening = OpenListeningSocket(options.address);
  if (!listening.ok()) return listening.status();
  auto loop = std::make_unique<Loop>(*std::move(listening), options.uid, std::move(methods), std::move(warn));
  if (absl::Status started = loop->Start(options.credentials); !started.ok()) return started;
  return std::unique_ptr<OpsServer>(new OpsServer(std::move(loop)));
}

}  // namespace understudy::internal
