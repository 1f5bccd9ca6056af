#include "understudy/transport/metrics/http_server.h"

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
#include "understudy/transport/metrics/metrics_limits.h"
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

struct Connection {
  int descriptor = -1;
  MonotonicTime began;
};

void AddHeader(MHD_Response* response, const char* name, const char* value) {
  UNDERSTUDY_CHECK(MHD_add_response_header(response, name, value) == MHD_YES, "MHD_add_response_header: ", name);
}

}  // namespace

// All but Start and the constructor and destructor run on the thread.
class HttpServer::Loop {
 public:
  Loop(const ListeningSocket& socket, Credentials credentials, HttpPages pages)
      : socket_(socket.descriptor),
        address_(socket.address.ToString()),
        credentials_(std::move(credentials)),
        pages_(std::move(pages)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        tls_(ReadTexts(credentials_)) {
    UNDERSTUDY_CHECK(stop_ >= 0, "eventfd: ", strerror(errno));
  }
  ~Loop() {
    if (thread_.joinable()) {
      eventfd_write(stop_, 1);
      thread_.join();
    }
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
    close(socket_);
    close(stop_);
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
  void Run();
  // The longest time in milliseconds until the next look; -1: none is needed.
  int NextLook() const;
  void EndOldConnections();
  // Replaces the daemon if the files of the certificate have changed and belong together.
  void RereadTls();
  MHD_Result Answer(MHD_Connection* connection, absl::string_view path, absl::string_view method) const;
  static MHD_Result Send(MHD_Connection* connection, const HttpAnswer& answer);

  static MHD_Result OnRequest(void* loop, MHD_Connection* connection, const char* url, const char* method,
                              const char* version, const char* upload, size_t* upload_bytes, void** request);
  static void OnConnection(void* loop, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what);
  static void OnError(void* loop, const char* format, va_list arguments) __attribute__((format(printf, 2, 0)));

  const int socket_;
  const std::string address_;
  const Credentials credentials_;
  const HttpPages pages_;
  const int stop_;  // eventfd, readable when the thread is to end
  std::thread thread_;

  MHD_Daemon* daemon_ = nullptr;
  TlsTexts tls_;  // those of daemon_
  MonotonicTime reread_at_;
  std::string last_error_;             // the library's
  int in_vain_ = 0;                    // runs of the daemon, one after another, that had nothing to do
  uint64_t accepted_ = 0;              // connections so far
  std::list<Connection> connections_;  // the oldest first
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
      option(MHD_OPTION_CONNECTION_LIMIT, limits::kMetricsConnectionsMax),
      option(MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(limits::kMetricsConnectionBytesMax)),
      option(MHD_OPTION_CONNECTION_TIMEOUT, absl::ToInt64Seconds(limits::kMetricsConnectionWithin)),
      option(MHD_OPTION_STRICT_FOR_CLIENT, 1),
      option(MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&OnConnection), this),
  };
  unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG;
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

void HttpServer::Loop::Run() {
  while (true) {
    const int events = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    std::array<pollfd, 2> wait = {
        {{.fd = stop_, .events = POLLIN, .revents = 0}, {.fd = events, .events = POLLIN, .revents = 0}}};
    (void)poll(wait.data(), wait.size(), NextLook());
    if (wait[0].revents != 0) return;
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
      (void)poll(wait.data(), 1, static_cast<int>(absl::ToInt64Milliseconds(limits::kMetricsStarvedPause)));
    }
    EndOldConnections();
    if (credentials_.tls.has_value()) RereadTls();
  }
}

int HttpServer::Loop::NextLook() const {
  int64_t millis = connections_.empty() ? -1 : absl::ToInt64Milliseconds(limits::kMetricsLooksEvery);
  if (millis < 0 && credentials_.tls.has_value()) millis = absl::ToInt64Milliseconds(limits::kMetricsRereadsTlsEvery);
  MHD_UNSIGNED_LONG_LONG wanted = 0;
  if (MHD_get_timeout(daemon_, &wanted) == MHD_YES && (millis < 0 || static_cast<int64_t>(wanted) < millis)) {
    millis = static_cast<int64_t>(wanted);
  }
  return static_cast<int>(millis);
}

void HttpServer::Loop::EndOldConnections() {
  const MonotonicTime now = Clock::Real().Now();
  for (const Connection& connection : connections_) {
    if (now - connection.began < limits::kMetricsConnectionWithin) return;
    shutdown(connection.descriptor, SHUT_RDWR);  // the daemon sees the end, and closes the connection
  }
}

void HttpServer::Loop::RereadTls() {
  const MonotonicTime now = Clock::Real().Now();
  if (now < reread_at_ || !connections_.empty()) return;
  reread_at_ = now + limits::kMetricsRereadsTlsEvery;
  TlsTexts texts = ReadTexts(credentials_);
  if (texts == tls_ || !credentials_.Check().ok()) return;
  TlsTexts old = std::exchange(tls_, std::move(texts));
  const absl::StatusOr<MHD_Daemon*> made = NewDaemon();
  if (!made.ok()) {
    tls_ = std::move(old);  // tried again later
    return;
  }
  MHD_stop_daemon(daemon_);
  daemon_ = *made;
}

MHD_Result HttpServer::Loop::Answer(MHD_Connection* connection, absl::string_view path,
                                    absl::string_view method) const {
  const auto page = pages_.find(std::string(path));
  if (page == pages_.end()) return Send(connection, {.status = 404, .body = "not found\n"});
  if (method != "GET" && method != "HEAD") {
    return Send(connection, {.status = 405, .body = "expected GET or HEAD\n"});
  }
  return Send(connection, page->second());
}

MHD_Result HttpServer::Loop::Send(MHD_Connection* connection, const HttpAnswer& answer) {
  MHD_Response* const response =
      MHD_create_response_from_buffer(answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;  // no memory: ends the connection
  AddHeader(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  AddHeader(response, MHD_HTTP_HEADER_CONNECTION, "close");
  AddHeader(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  AddHeader(response, "X-Content-Type-Options", "nosniff");
  if (answer.status == 405) AddHeader(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result HttpServer::Loop::OnRequest(void* loop, MHD_Connection* connection, const char* url, const char* method,
                                       const char* /*version*/, const char* /*upload*/, size_t* /*upload_bytes*/,
                                       void** /*request*/) {
  return static_cast<Loop*>(loop)->Answer(connection, url, method);
}

void HttpServer::Loop::OnConnection(void* loop, MHD_Connection* connection, void** context,
                                    MHD_ConnectionNotificationCode what) {
  std::list<Connection>& connections = static_cast<Loop*>(loop)->connections_;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ++static_cast<Loop*>(loop)->accepted_;
    connections.push_back({.descriptor = info->connect_fd, .began = Clock::Real().Now()});
    *context = &connections.back();
    return;
  }
  connections.remove_if([context](const Connection& ended) { return &ended == *context; });
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
                                                              const Credentials& credentials, HttpPages pages) {
  if (absl::Status good = credentials.Check(); !good.ok()) return good;
  absl::StatusOr<ListeningSocket> socket = OpenListeningSocket(address);
  if (!socket.ok()) return socket.status();
  auto loop = std::make_unique<Loop>(*socket, credentials, std::move(pages));
  if (absl::Status started = loop->Start(); !started.ok()) return started;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

}  // namespace understudy::internal
