#include "understudy/transport/http/http_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/http/http_exchange.h"
#include "understudy/transport/http/http_limits.h"
#include "understudy/transport/sockets/acceptor.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::internal {
namespace {

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The texts of the files with which the server proves its name; empty without TLS.
struct TlsTexts {
  std::string certificate;
  std::string key;
  bool operator==(const TlsTexts&) const = default;
};

TlsTexts ReadTexts(const Credentials& credentials) {
  if (!credentials.tls.has_value()) return {};
  return {.certificate = Contents(credentials.tls->certificate_file), .key = Contents(credentials.tls->key_file)};
}

// An eventfd by which other threads end the wait of the server's thread. Shared with repliers and streams, which may
// outlive the server.
class WakeUp {
 public:
  WakeUp() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    UNDERSTUDY_CHECK(descriptor_ >= 0, "eventfd: ", strerror(errno));
  }
  ~WakeUp() { close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void Wake() const { eventfd_write(descriptor_, 1); }
  void Clear() const {
    eventfd_t count = 0;
    (void)eventfd_read(descriptor_, &count);
  }
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace

// All but Start and the constructor and destructor run on the thread.
class HttpServer::Loop {
 public:
  Loop(const ListeningSocket& socket, Credentials credentials, const HttpBounds& bounds, HttpHandler handler)
      : socket_(socket.descriptor),
        address_(socket.address.ToString()),
        credentials_(std::move(credentials)),
        shared_{.bounds = bounds, .handler = std::move(handler), .wake = [wake = wake_] { wake->Wake(); }},
        tls_(ReadTexts(credentials_)),
        reread_at_(Clock::Real().Now() + limits::kHttpRereadsTlsEvery) {}
  ~Loop() {
    if (thread_.joinable()) {
      is_stopping_.store(true, std::memory_order_release);
      wake_->Wake();
      thread_.join();
    }
    if (daemon_ != nullptr) StopDaemon();
    close(socket_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  absl::Status Start() {
    const absl::StatusOr<MHD_Daemon*> made = NewDaemon();
    if (!made.ok()) return made.status();
    daemon_ = *made;
    thread_ = StartThread([this] { Run(); });
    return absl::OkStatus();
  }
  const std::string& address() const { return address_; }

 private:
  // After so many runs in vain the thread pauses: the last events of a connection cause some, too.
  static constexpr int kInVainMax = 10;

  // A daemon that serves with tls_.
  absl::StatusOr<MHD_Daemon*> NewDaemon();
  // Ends all connections.
  void StopDaemon();
  void Run();
  // The longest time in milliseconds until the next look; -1: none is needed.
  int NextLook() const;
  void EndOldConnections();
  // At the bound of connections: the one that gives its place to a client which waits (HttpBounds::connections_max);
  // nullptr if there is none, or if room was made already and the library has not seen that.
  HttpConnection* Dispensable();
  // Closes Dispensable() if a client waits for a place.
  void MakeRoom();
  // Replaces the daemon if the files of the certificate have changed and belong together. While connections stand, the
  // files are read later, and not more than connection_within later.
  void RereadTls();

  static MHD_Result OnRequest(void* loop, MHD_Connection* connection, const char* url, const char* method,
                              const char* version, const char* upload, size_t* upload_bytes, void** request);
  static void OnRequestOver(void* loop, MHD_Connection* connection, void** request, MHD_RequestTerminationCode why);
  static void OnConnection(void* loop, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what);
  static void OnError(void* loop, const char* format, va_list arguments) __attribute__((format(printf, 2, 0)));

  const int socket_;
  const std::string address_;
  const Credentials credentials_;
  const std::shared_ptr<const WakeUp> wake_ = std::make_shared<WakeUp>();
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;

  HttpExchange::Shared shared_;
  MHD_Daemon* daemon_ = nullptr;
  TlsTexts tls_;  // those of daemon_
  MonotonicTime reread_at_;
  std::string last_error_;                 // the library's
  int in_vain_ = 0;                        // runs of the daemon, one after another, that had nothing to do
  uint64_t accepted_ = 0;                  // connections so far
  std::list<HttpConnection> connections_;  // the oldest first
  std::list<HttpExchange> exchanges_;      // at most one for each connection
};

absl::StatusOr<MHD_Daemon*> HttpServer::Loop::NewDaemon() {
  // The daemon closes its socket. This object keeps the original, so that a new daemon can listen on it.
  const int listens = fcntl(socket_, F_DUPFD_CLOEXEC, 0);
  if (listens < 0) return absl::ErrnoToStatus(errno, "cannot duplicate the listening socket");
  const auto option = [](MHD_OPTION name, intptr_t value, void* pointer = nullptr) {
    return MHD_OptionItem{.option = name, .value = value, .ptr_value = pointer};
  };
  std::vector<MHD_OptionItem> options = {
      option(MHD_OPTION_LISTEN_SOCKET, listens),
      option(MHD_OPTION_CONNECTION_LIMIT, shared_.bounds.connections_max),
      option(MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(shared_.bounds.connection_bytes_max)),
      option(MHD_OPTION_CONNECTION_TIMEOUT, absl::ToInt64Seconds(shared_.bounds.connection_within)),
      option(MHD_OPTION_STRICT_FOR_CLIENT, 1),
      option(MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&OnConnection), this),
      option(MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&OnRequestOver), this),
  };
  unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME;
  if (credentials_.tls.has_value()) {
    flags |= MHD_USE_TLS;
    options.push_back(option(MHD_OPTION_HTTPS_MEM_CERT, 0, tls_.certificate.data()));
    options.push_back(option(MHD_OPTION_HTTPS_MEM_KEY, 0, tls_.key.data()));
  }
  options.push_back(option(MHD_OPTION_END, 0));
  last_error_.clear();
  MHD_Daemon* const made = MHD_start_daemon(flags, 0, nullptr, nullptr, &OnRequest, this, MHD_OPTION_EXTERNAL_LOGGER,
                                            &OnError, this, MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
  if (made != nullptr) return made;
  close(listens);
  return absl::InvalidArgumentError(
      absl::StrCat("cannot serve HTTP at ", address_, ": ", absl::StripAsciiWhitespace(last_error_),
                   credentials_.tls.has_value() ? "; see the files of its credentials" : ""));
}

void HttpServer::Loop::StopDaemon() {
  // The library must not stop with a suspended connection.
  for (HttpExchange& exchange : exchanges_) exchange.Resume();
  MHD_stop_daemon(daemon_);
}

void HttpServer::Loop::Run() {
  while (true) {
    const int events = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    // The library does not look for clients while it is at its bound of connections.
    const int clients = Dispensable() != nullptr ? socket_ : -1;
    std::array<pollfd, 3> wait = {{{.fd = wake_->descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = events, .events = POLLIN, .revents = 0},
                                   {.fd = clients, .events = POLLIN, .revents = 0}}};
    (void)poll(wait.data(), wait.size(), NextLook());
    wake_->Clear();
    if (is_stopping_.load(std::memory_order_acquire)) return;
    for (HttpExchange& exchange : exchanges_) exchange.Look(Clock::Real().Now());
    const uint64_t accepted = accepted_;
    size_t before = 0;
    do {
      before = connections_.size();
      MHD_run(daemon_);
      // A daemon at its bound of connections accepts again in the run after the one that ended some.
    } while (connections_.size() < before);
    const bool was_in_vain = wait[1].revents != 0 && connections_.empty() && accepted_ == accepted;
    in_vain_ = was_in_vain ? in_vain_ + 1 : 0;
    if (in_vain_ > kInVainMax) {
      // A client waits, but the process has no descriptor left for it.
      (void)poll(wait.data(), 1, static_cast<int>(absl::ToInt64Milliseconds(limits::kHttpStarvedPause)));
    }
    EndOldConnections();
    MakeRoom();
    if (credentials_.tls.has_value()) RereadTls();
  }
}

int HttpServer::Loop::NextLook() const {
  int64_t millis = connections_.empty() ? -1 : absl::ToInt64Milliseconds(limits::kHttpLooksEvery);
  if (millis < 0 && credentials_.tls.has_value()) millis = absl::ToInt64Milliseconds(limits::kHttpRereadsTlsEvery);
  MHD_UNSIGNED_LONG_LONG wanted = 0;
  if (MHD_get_timeout(daemon_, &wanted) == MHD_YES && (millis < 0 || static_cast<int64_t>(wanted) < millis)) {
    millis = static_cast<int64_t>(wanted);
  }
  return static_cast<int>(millis);
}

void HttpServer::Loop::EndOldConnections() {
  const MonotonicTime now = Clock::Real().Now();
  for (const HttpConnection& connection : connections_) {
    if (now - connection.began < shared_.bounds.connection_within) return;
    if (connection.has_stream) continue;
    shutdown(connection.descriptor, SHUT_RDWR);  // the daemon sees the end, and closes the connection
  }
}

HttpConnection* HttpServer::Loop::Dispensable() {
  if (connections_.size() < shared_.bounds.connections_max) return nullptr;
  HttpConnection* oldest = nullptr;
  HttpConnection* unread = &connections_.front();
  for (HttpConnection& connection : connections_) {
    if (connection.is_given_up) return nullptr;
    if (oldest == nullptr && !connection.has_request) oldest = &connection;
    if (connection.answered < unread->answered) unread = &connection;
  }
  if (oldest != nullptr) return oldest;
  return Clock::Real().Now() - unread->answered >= limits::kHttpUnreadAnswerKept ? unread : nullptr;
}

void HttpServer::Loop::MakeRoom() {
  HttpConnection* const dispensable = Dispensable();
  pollfd client = {.fd = socket_, .events = POLLIN, .revents = 0};
  if (dispensable == nullptr || poll(&client, 1, 0) <= 0) return;
  dispensable->is_given_up = true;
  shutdown(dispensable->descriptor, SHUT_RDWR);
}

void HttpServer::Loop::RereadTls() {
  const MonotonicTime now = Clock::Real().Now();
  if (now < reread_at_ || (!connections_.empty() && now < reread_at_ + shared_.bounds.connection_within)) return;
  reread_at_ = now + limits::kHttpRereadsTlsEvery;
  TlsTexts texts = ReadTexts(credentials_);
  if (texts == tls_ || !credentials_.Check().ok()) return;
  TlsTexts old = std::exchange(tls_, std::move(texts));
  const absl::StatusOr<MHD_Daemon*> made = NewDaemon();
  if (!made.ok()) {
    tls_ = std::move(old);  // tried again later
    return;
  }
  StopDaemon();
  daemon_ = *made;
}

MHD_Result HttpServer::Loop::OnRequest(void* loop, MHD_Connection* connection, const char* url, const char* method,
                                       const char* /*version*/, const char* upload, size_t* upload_bytes,
                                       void** request) {
  if (*request != nullptr) return static_cast<HttpExchange*>(*request)->OnBody(upload, *upload_bytes);
  auto& self = *static_cast<Loop*>(loop);
  void* const from = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
  auto& its_connection = *static_cast<HttpConnection*>(from);
  its_connection.has_request = true;
  HttpExchange& begun = self.exchanges_.emplace_back(self.shared_, its_connection, connection);
  *request = &begun;
  return begun.OnHead(url, method);
}

void HttpServer::Loop::OnRequestOver(void* loop, MHD_Connection* /*connection*/, void** request,
                                     MHD_RequestTerminationCode /*why*/) {
  static_cast<Loop*>(loop)->exchanges_.remove_if([request](const HttpExchange& ended) { return &ended == *request; });
}

void HttpServer::Loop::OnConnection(void* loop, MHD_Connection* connection, void** context,
                                    MHD_ConnectionNotificationCode what) {
  std::list<HttpConnection>& connections = static_cast<Loop*>(loop)->connections_;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ++static_cast<Loop*>(loop)->accepted_;
    connections.push_back({.descriptor = info->connect_fd, .began = Clock::Real().Now()});
    *context = &connections.back();
    return;
  }
  connections.remove_if([context](const HttpConnection& ended) { return &ended == *context; });
}

void HttpServer::Loop::OnError(void* loop, const char* format, va_list arguments) {
  std::array<char, 256> text{};
  (void)vsnprintf(text.data(), text.size(), format, arguments);
  static_cast<Loop*>(loop)->last_error_ = text.data();
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

HttpServer::~HttpServer() = default;

const std::string& HttpServer::address() const { return loop_->address(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const NodeAddress& address,
                                                              const Credentials& credentials, const HttpBounds& bounds,
                                                              HttpHandler handler) {
  if (absl::Status good = credentials.Check(); !good.ok()) return good;
  absl::StatusOr<ListeningSocket> socket = OpenListeningSocket(address);
  if (!socket.ok()) return socket.status();
  auto loop = std::make_unique<Loop>(*socket, credentials, bounds, std::move(handler));
  if (absl::Status started = loop->Start(); !started.ok()) return started;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

}  // namespace understudy::internal
