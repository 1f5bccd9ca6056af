#include "understudy/transport/sockets/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/sockets/connection_gate.h"
#include "understudy/transport/sockets/peer_process.h"
#include "understudy/transport/sockets/socket_thread.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy::internal {
namespace {

constexpr int kTcpBacklog = 512;
// The most connections accepted in a row before the other sockets of the SocketThread are served.
constexpr int kAcceptsInARowMax = 64;
// The pause when no descriptor is left: short enough for a peer that waits, and long enough not to spin.
constexpr absl::Duration kStarvedPause = absl::Milliseconds(100);

// The host in the result of PeerOf for a TCP connection, without the kind and the port.
std::string Host(absl::string_view key) {
  const size_t begin = key.find(':') + 1;
  return std::string(key.substr(begin, key.rfind(':') - begin));
}

// True if the peer of a TCP connection has sent a byte. The kernel counts the peer's FIN as one byte, hence the 1.
bool HasSpoken(int connected) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return getsockopt(connected, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_bytes_received > 1;
}

bool IsStarved(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

absl::Status ListenError(const NodeAddress& address, int error) {
  const std::string what = absl::StrCat("cannot listen on ", address.ToString(), ": ", strerror(error));
  if (error == EADDRINUSE) return absl::AlreadyExistsError(what);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(what);
  return absl::UnavailableError(what);
}

absl::StatusOr<ListeningSocket> OpenTcp(const NodeAddress& address, const addrinfo& found) {
  const int made = socket(found.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return ListenError(address, errno);
  const int on = 1;
  // A port whose last connections are still in TIME_WAIT may be listened on again.
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(made, found.ai_addr, found.ai_addrlen) != 0 || listen(made, kTcpBacklog) != 0) {
    const int error = errno;
    close(made);
    return ListenError(address, error);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(made, reinterpret_cast<sockaddr*>(&bound), &size);
  ListeningSocket listening = {.descriptor = made, .address = address};
  listening.address.port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                                             : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  return listening;
}

}  // namespace

std::string PeerOf(int connected) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getpeername(connected, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return absl::StrCat("ipv4:", text.data(), ":", ntohs(v4.sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
      return absl::StrCat("ipv4:", text.data(), ":", ntohs(v6.sin6_port));
    }
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    const std::string scope = v6.sin6_scope_id == 0 ? "" : absl::StrCat("%", v6.sin6_scope_id);
    return absl::StrCat("ipv6:[", text.data(), scope, "]:", ntohs(v6.sin6_port));
  }
  const auto& local = reinterpret_cast<const sockaddr_un&>(storage);
  constexpr size_t kPath = offsetof(sockaddr_un, sun_path);
  if (size <= kPath + 1 || local.sun_path[0] != '\0' || local.sun_path[1] == '\0') return "";
  return absl::StrCat("unix-abstract:", absl::string_view(local.sun_path + 1, size - kPath - 1));
}

std::string KeyOfPeer(absl::string_view peer) { return absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}}); }

absl::StatusOr<ListeningSocket> OpenListeningSocket(const NodeAddress& address) {
  if (address.reach == NodeAddress::Reach::kUnixSocket) {
    const absl::StatusOr<int> listening = ListenUnix(address.path);
    if (!listening.ok()) return listening.status();
    return ListeningSocket{.descriptor = *listening, .address = address};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (failed != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": ", gai_strerror(failed)));
  }
  absl::StatusOr<ListeningSocket> opened =
      absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": the name has no address"));
  for (const addrinfo* one = found; one != nullptr && !opened.ok(); one = one->ai_next) opened = OpenTcp(address, *one);
  freeaddrinfo(found);
  return opened;
}

class Acceptor::State : public std::enable_shared_from_this<State> {
 public:
  State(const ListeningSocket& socket, const ConnectionBounds& bounds, Give give, OnWithoutStream on_without_stream,
        unsigned uid)
      : address_(socket.address),
        give_(std::move(give)),
        on_without_stream_(std::move(on_without_stream)),
        uid_(uid),
        listening_(socket.descriptor),
        gate_(bounds, Clock::Real().Now()) {}
  ~State() { Stop(); }

  void Listen() {
    absl::MutexLock lock(&mu_);
    if (listening_ < 0 || watch_ != 0) return;
    const absl::StatusOr<uint64_t> watch =
        thread_.Watch(listening_, EPOLLIN, Weakly([](State& state) { state.Accept(); }));
    if (watch.ok()) {
      watch_ = *watch;
    } else {
      PauseLocked(Clock::Real().Now() + kStarvedPause);
    }
  }

  void Stop() {
    absl::MutexLock lock(&mu_);
    if (listening_ < 0) return;
    thread_.Forget(watch_);
    // Before close: a closed socket's file looks left behind, so another process could replace it, and unlink would
    // remove the file of that process.
    if (address_.reach == NodeAddress::Reach::kUnixSocket) unlink(address_.path.c_str());
    close(listening_);
    listening_ = -1;
    while (!connections_.empty()) ForgetLocked(connections_.begin());
  }

  bool OnBegun(absl::string_view peer, std::shared_ptr<const PeerProcess>& process) {
    absl::MutexLock lock(&mu_);
    const std::string key = KeyOfPeer(peer);
    const auto connection = connections_.find(key);
    if (connection == connections_.end() || !gate_.OnBegun(key)) return false;
    connection->second.has_begun = true;
    process = connection->second.process;
    return true;
  }
  void OnOver(absl::string_view peer) {
    absl::MutexLock lock(&mu_);
    gate_.OnOver(KeyOfPeer(peer), Clock::Real().Now());
    WakeLocked();
  }
  ConnectionCounts counts() {
    absl::MutexLock lock(&mu_);
    ConnectionCounts counts = counts_;
    counts.connections = gate_.connections();
    counts.half_open = gate_.half_open();
    return counts;
  }

 private:
  struct Connection {
    int descriptor = -1;  // a duplicate of the one that gRPC owns
    uint64_t watch = 0;
    std::shared_ptr<const PeerProcess> process;
    MonotonicTime accepted_at;
    bool has_begun = false;  // a stream has begun on it
  };
  using Connections = std::map<std::string, Connection, std::less<>>;

  // gRPC escapes the brackets of a v6 address.

  template <class F>
  std::function<void(uint32_t)> Weakly(F what) {
    return [weak = weak_from_this(), what = std::move(what)](uint32_t) {
      if (const std::shared_ptr<State> state = weak.lock(); state != nullptr) what(*state);
    };
  }

  // On the SocketThread.
  void Accept() {
    for (int i = 0; i < kAcceptsInARowMax; ++i) {
      int given = -1;
      std::vector<ConnectionWithoutStream> ended;
      {
        absl::MutexLock lock(&mu_);
        if (listening_ < 0) return;
        const MonotonicTime now = Clock::Real().Now();
        if (const MonotonicTime at = gate_.NextAcceptAt(now); at > now) return PauseLocked(at);
        const int accepted = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted < 0) {
          if (!IsStarved(errno)) return;  // no connection waits, or it was aborted meanwhile
          ++counts_.starved;
          return PauseLocked(now + kStarvedPause);
        }
        given = TakeLocked(accepted, now, ended);
      }
      if (given >= 0) give_(given);
      Tell(ended);
    }
  }
  void Tell(const std::vector<ConnectionWithoutStream>& ended) const {
    if (on_without_stream_ == nullptr) return;
    for (const ConnectionWithoutStream& connection : ended) on_without_stream_(connection);
  }

  // Returns `accepted` if gRPC may have it; otherwise closes it and returns -1.
  int TakeLocked(int accepted, MonotonicTime now, std::vector<ConnectionWithoutStream>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++counts_.accepted;
    const bool is_unix = address_.reach == NodeAddress::Reach::kUnixSocket;
    const std::string key = PeerOf(accepted);
    std::vector<std::string> closed;
    if (key.empty() || (is_unix && !CheckPeerUid(accepted, uid_).ok()) || !gate_.OnAccepted(key, now, closed)) {
      ++counts_.refused;
      close(accepted);
      return -1;
    }
    for (const std::string& other : closed) {
      ShutDownLocked(other, ConnectionWithoutStream::End::kMadeRoom, now, ended);
    }
    Connection connection;
    connection.descriptor = fcntl(accepted, F_DUPFD_CLOEXEC, 0);
    if (is_unix) connection.process = PeerProcess::Of(accepted);
    const absl::StatusOr<uint64_t> watch =
        connection.descriptor < 0
            ? absl::ResourceExhaustedError("no descriptor is left")
            : thread_.Watch(connection.descriptor, 0, Weakly([key](State& state) { state.Closed(key); }));
    if (!watch.ok()) {
      ++counts_.starved;
      gate_.OnClosed(key);
      if (connection.descriptor >= 0) close(connection.descriptor);
      close(accepted);
      PauseLocked(now + kStarvedPause);
      return -1;
    }
    connection.watch = *watch;
    connection.accepted_at = now;
    connections_.emplace(key, std::move(connection));
    const int on = 1;
    if (!is_unix) setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    WakeLocked();
    return accepted;
  }

  void Closed(const std::string& key) {
    std::vector<ConnectionWithoutStream> ended;
    {
      absl::MutexLock lock(&mu_);
      const auto connection = connections_.find(key);
      if (connection == connections_.end()) return;
      gate_.OnClosed(key);
      NoteLocked(*connection, ConnectionWithoutStream::End::kClosed, Clock::Real().Now(), ended);
      ForgetLocked(connection);
    }
    Tell(ended);
  }
  void NoteLocked(const Connections::value_type& entry, ConnectionWithoutStream::End end, MonotonicTime now,
                  std::vector<ConnectionWithoutStream>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto& [key, connection] = entry;
    if (connection.has_begun || on_without_stream_ == nullptr) return;
    const bool is_unix = address_.reach == NodeAddress::Reach::kUnixSocket;
    ended.push_back(
        {.peer = is_unix ? absl::StrCat("a process on ", address_.ToString()) : Host(key),
         .end = end,
         .lasted = now - connection.accepted_at,
         .has_spoken = is_unix ? end != ConnectionWithoutStream::End::kClosed : HasSpoken(connection.descriptor)});
  }
  void ForgetLocked(Connections::iterator connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    thread_.Forget(connection->second.watch);
    close(connection->second.descriptor);
    connections_.erase(connection);
  }
  // Shuts the socket down, which ends the connection for gRPC and for the peer.
  void ShutDownLocked(const std::string& key, ConnectionWithoutStream::End end, MonotonicTime now,
                      std::vector<ConnectionWithoutStream>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto connection = connections_.find(key);
    if (connection == connections_.end()) return;
    ++counts_.closed;
    NoteLocked(*connection, end, now, ended);
    shutdown(connection->second.descriptor, SHUT_RDWR);
    ForgetLocked(connection);
  }

  void PauseLocked(MonotonicTime until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    thread_.Forget(std::exchange(watch_, 0));
    thread_.RunAt(until, [resume = Weakly([](State& state) { state.Listen(); })] { resume(0); });
  }
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const MonotonicTime at = gate_.NextDeadline();
    if (at >= wake_at_) return;
    wake_at_ = at;
    thread_.RunAt(at, [tick = Weakly([](State& state) { state.Tick(); })] { tick(0); });
  }
  void Tick() {
    std::vector<ConnectionWithoutStream> ended;
    {
      absl::MutexLock lock(&mu_);
      wake_at_ = MonotonicTime::InfiniteFuture();
      const MonotonicTime now = Clock::Real().Now();
      for (const std::string& key : gate_.TakeExpired(now)) {
        ShutDownLocked(key, ConnectionWithoutStream::End::kTimeOver, now, ended);
      }
      WakeLocked();
    }
    Tell(ended);
  }

  SocketThread& thread_ = SocketThread::Process();
  const NodeAddress address_;
  const Give give_;
  const OnWithoutStream on_without_stream_;  // may be null
  const unsigned uid_;                       // whose processes a Unix socket accepts
  absl::Mutex mu_;
  int listening_ ABSL_GUARDED_BY(mu_);  // -1 after Stop
  uint64_t watch_ ABSL_GUARDED_BY(mu_) = 0;
  ConnectionGate gate_ ABSL_GUARDED_BY(mu_);
  Connections connections_ ABSL_GUARDED_BY(mu_);
  MonotonicTime wake_at_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();
  ConnectionCounts counts_ ABSL_GUARDED_BY(mu_);
};

Acceptor::Acceptor(const ListeningSocket& socket, const ConnectionBounds& bounds, Give give,
                   OnWithoutStream on_without_stream, unsigned uid)
    : state_(std::make_shared<State>(socket, bounds, std::move(give), std::move(on_without_stream), uid)) {}
Acceptor::~Acceptor() { Stop(); }
void Acceptor::Start() { state_->Listen(); }
void Acceptor::Stop() { state_->Stop(); }
bool Acceptor::OnBegun(absl::string_view peer, std::shared_ptr<const PeerProcess>& process) {
  return state_->OnBegun(peer, process);
}
void Acceptor::OnOver(absl::string_view peer) { state_->OnOver(peer); }
ConnectionCounts Acceptor::counts() { return state_->counts(); }

}  // namespace understudy::internal
