#include "understudy/tests/transport/trials/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"

namespace understudy::net_testing {
namespace {

// The bytes that one direction buffers. Beyond this bound the sender has to wait, as on a real network.
constexpr size_t kHeldBytesMax = size_t{64} << 10;
// The size of a socket's buffers. It is small, so that a throttled connection is slow but does not buffer much.
constexpr int kSocketBufferBytes = 32 << 10;
constexpr size_t kSaidBytesMax = size_t{1} << 20;
constexpr int kForeverMilliseconds = 60'000;

sockaddr_in Loopback(uint32_t host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = host;
  address.sin_port = htons(port);
  return address;
}

void BoundBuffers(int socket) {
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof(kSocketBufferBytes));
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof(kSocketBufferBytes));
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void CloseWithReset(int socket) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(socket);
}

int MillisecondsUntil(MonotonicTime time, MonotonicTime now) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(time - now) + 1, 0, int64_t{kForeverMilliseconds}));
}

}  // namespace

FaultProxy::FaultProxy(absl::string_view target)
    : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const size_t colon = target.rfind(':');
  int port = 0;
  in_addr host{};
  UNDERSTUDY_CHECK(colon != absl::string_view::npos && absl::SimpleAtoi(target.substr(colon + 1), &port) &&
                       inet_pton(AF_INET, std::string(target.substr(0, colon)).c_str(), &host) == 1,
                   "the proxy's target is '", target, "': expected an IPv4 address with a port");
  target_port_ = static_cast<uint16_t>(port);
  target_host_ = host.s_addr;
  BoundBuffers(listening_);
  sockaddr_in address = Loopback(htonl(INADDR_LOOPBACK), 0);
  socklen_t size = sizeof(address);
  UNDERSTUDY_CHECK(bind(listening_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listening_, 64) == 0 &&
                       getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) == 0,
                   "the proxy cannot listen on loopback");
  address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  thread_ = std::thread([this] { Run(); });
}

FaultProxy::~FaultProxy() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  Wake();
  thread_.join();
  for (const Connection& connection : connections_) {
    for (const int end : connection.ends) close(end);
  }
  close(listening_);
  close(wake_);
}

void FaultProxy::Wake() const { eventfd_write(wake_, 1); }

void FaultProxy::Stall(int directions) {
  {
    absl::MutexLock lock(&mu_);
    stalled_ = directions;
  }
  Wake();
}

void FaultProxy::Cut() {
  {
    absl::MutexLock lock(&mu_);
    is_cut_ = true;
    for (Connection& connection : connections_) connection.is_over = true;
  }
  Wake();
}

void FaultProxy::ResetAll() {
  {
    absl::MutexLock lock(&mu_);
    for (Connection& connection : connections_) connection.is_over = connection.is_reset = true;
  }
  Wake();
}

void FaultProxy::Delay(absl::Duration by) {
  absl::MutexLock lock(&mu_);
  delay_ = by;
}

void FaultProxy::Throttle(int64_t bytes_per_second) {
  absl::MutexLock lock(&mu_);
  bytes_per_second_ = bytes_per_second;
}

void FaultProxy::Heal() {
  {
    absl::MutexLock lock(&mu_);
    stalled_ = 0;
    is_cut_ = false;
    delay_ = absl::ZeroDuration();
    bytes_per_second_ = 0;
  }
  Wake();
}

int64_t FaultProxy::accepted() {
  absl::MutexLock lock(&mu_);
  return accepted_;
}

std::string FaultProxy::said() {
  absl::MutexLock lock(&mu_);
  return said_;
}

void FaultProxy::Run() {
  while (true) {
    // poll() below only waits. Turn() finds out with the lock held what is ready, because other threads may have closed
    // descriptors while this thread waited.
    std::vector<pollfd> polled;
    int wait = 0;
    {
      absl::MutexLock lock(&mu_);
      if (stop_) return;
      wait = Turn();
      polled.push_back({.fd = listening_, .events = POLLIN, .revents = 0});
      polled.push_back({.fd = wake_, .events = POLLIN, .revents = 0});
      const MonotonicTime now = Clock::Real().Now();
      for (const Connection& connection : connections_) {
        for (int i = 0; i < 2; ++i) {
          const auto& in = connection.pipes[static_cast<size_t>(i)];
          const auto& out = connection.pipes[static_cast<size_t>(1 - i)];
          const bool may_write =
              !is_stalled(1 - i) && !out.chunks.empty() && out.chunks.front().due <= now && out.may_write_at <= now;
          const bool may_read = !is_stalled(i) && in.held_bytes < kHeldBytesMax;
          const int events = (may_read ? POLLIN : 0) | (may_write ? POLLOUT : 0);
          if (events == 0) continue;  // a hang-up would be told all the same, and make this loop spin
          polled.push_back(
              {.fd = connection.ends[static_cast<size_t>(i)], .events = static_cast<int16_t>(events), .revents = 0});
        }
      }
    }
    poll(polled.data(), polled.size(), wait);
    eventfd_t woken = 0;
    eventfd_read(wake_, &woken);
  }
}

int FaultProxy::Turn() {
  AcceptOne();
  const MonotonicTime now = Clock::Real().Now();
  int wait = kForeverMilliseconds;
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    for (int from = 0; from < 2 && !connection->is_over; ++from) {
      if (is_stalled(from)) continue;
      Read(*connection, from);
      Write(*connection, from, now);
      const Pipe& pipe = connection->pipes[static_cast<size_t>(from)];
      if (pipe.chunks.empty()) continue;
      const MonotonicTime at = std::max(pipe.chunks.front().due, pipe.may_write_at);
      if (at > now) wait = std::min(wait, MillisecondsUntil(at, now));
    }
    if (!connection->is_over) {
      ++connection;
      continue;
    }
    for (const int end : connection->ends) connection->is_reset ? CloseWithReset(end) : static_cast<void>(close(end));
    connection = connections_.erase(connection);
  }
  return wait;
}

void FaultProxy::AcceptOne() {
  while (true) {
    const int dialler = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (dialler < 0) return;
    ++accepted_;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    BoundBuffers(listener);
    const sockaddr_in target = Loopback(target_host_, target_port_);
    if (is_cut_ || connect(listener, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) {
      close(dialler);
      close(listener);
      continue;
    }
    BoundBuffers(dialler);
    said_.clear();
    connections_.push_back(Connection{.ends = {dialler, listener}, .number = accepted_});
  }
}

void FaultProxy::Read(Connection& connection, int from) {
  Pipe& pipe = connection.pipes[static_cast<size_t>(from)];
  std::array<char, 16384> buffer;
  while (pipe.held_bytes < kHeldBytesMax) {
    const ssize_t bytes = recv(connection.ends[static_cast<size_t>(from)], buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (bytes <= 0) {
      connection.is_over = true;
      return;
    }
    pipe.chunks.push_back({.due = Clock::Real().Now() + delay_, .bytes = {buffer.data(), static_cast<size_t>(bytes)}});
    pipe.held_bytes += static_cast<size_t>(bytes);
    const bool is_last = from == 0 && connection.number == accepted_;
    if (is_last && said_.size() < kSaidBytesMax) said_.append(buffer.data(), static_cast<size_t>(bytes));
  }
}

void FaultProxy::Write(Connection& connection, int from, MonotonicTime now) {
  Pipe& pipe = connection.pipes[static_cast<size_t>(from)];
  while (!pipe.chunks.empty() && pipe.chunks.front().due <= now && pipe.may_write_at <= now) {
    std::string& bytes = pipe.chunks.front().bytes;
    // A throttled wire passes small pieces on, so that it flows and does not gush.
    const size_t most =
        bytes_per_second_ > 0 ? std::max<size_t>(static_cast<size_t>(bytes_per_second_ / 200), 1) : bytes.size();
    const ssize_t sent = send(connection.ends[static_cast<size_t>(1 - from)], bytes.data(),
                              std::min(bytes.size(), most), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent <= 0) {
      connection.is_over = true;
      return;
    }
    const auto passed = static_cast<size_t>(sent);
    pipe.held_bytes -= passed;
    if (bytes_per_second_ > 0) {
      const absl::Duration takes = absl::Seconds(static_cast<double>(passed) / static_cast<double>(bytes_per_second_));
      pipe.may_write_at = std::max(pipe.may_write_at, now) + takes;
    }
    if (passed == bytes.size()) {
      pipe.chunks.pop_front();
    } else {
      bytes.erase(0, passed);
    }
  }
}

}  // namespace understudy::net_testing
