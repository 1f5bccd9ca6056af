// Measures what connections cost a server that listens on TCP with mutual TLS. The clients use OpenSSL directly, so
// that each connection stops exactly where the workload says.
#include <dirent.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/tests/bench/remote/remote_run.h"

namespace understudy::bench {
namespace {

constexpr int64_t kWarmUp = 16;
// After this time the server has closed the connections that the client has closed.
constexpr absl::Duration kSettle = absl::Milliseconds(500);
// A node closes a connection that has not begun a stream after 5 s and accepts 200 in a second after the first ones, so
// it is done with 1,000 within this. gRPC's own servers keep such connections for longer.
constexpr absl::Duration kHalfOpenWindow = absl::Seconds(12);
constexpr absl::Duration kSamplePause = absl::Milliseconds(50);

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Session = std::unique_ptr<SSL, FreeSession>;

Context MakeContext(const std::string& folder) {
  Context context(SSL_CTX_new(TLS_client_method()));
  const auto file = [&folder](absl::string_view name) { return absl::StrCat(folder, "/", name); };
  const std::array<unsigned char, 3> h2 = {2, 'h', '2'};
  UNDERSTUDY_CHECK(
      SSL_CTX_load_verify_locations(context.get(), file("ca.pem").c_str(), nullptr) == 1 &&
          SSL_CTX_use_certificate_chain_file(context.get(), file(absl::StrCat(kClientName, ".pem")).c_str()) == 1 &&
          SSL_CTX_use_PrivateKey_file(context.get(), file(absl::StrCat(kClientName, ".key")).c_str(),
                                      SSL_FILETYPE_PEM) == 1 &&
          SSL_CTX_set_alpn_protos(context.get(), h2.data(), h2.size()) == 0,
      "bad certificates in ", folder);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

// Connects. Waits for a slot in the server's backlog if it is full.
int Connect(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  UNDERSTUDY_CHECK(colon != std::string::npos && absl::SimpleAtoi(address.substr(colon + 1), &port), address);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  UNDERSTUDY_CHECK(descriptor >= 0, "no socket");
  UNDERSTUDY_CHECK(connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0, "no connection");
  return descriptor;
}

// Does a whole handshake. The server sends the first bytes of HTTP/2 after it has checked the client's certificate.
void ShakeHands(const Context& context, const std::string& address) {
  const int descriptor = Connect(address);
  const Session session(SSL_new(context.get()));
  SSL_set_fd(session.get(), descriptor);
  char byte = 0;
  UNDERSTUDY_CHECK(SSL_connect(session.get()) == 1 && SSL_read(session.get(), &byte, 1) == 1, "no TLS connection");
  UNDERSTUDY_CHECK(SSL_session_reused(session.get()) == 0, "the session was resumed: no full handshake");
  close(descriptor);
}

// Returns the bytes of a ClientHello.
std::string Hello(const Context& context) {
  const Session session(SSL_new(context.get()));
  BIO* const written = BIO_new(BIO_s_mem());
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), written);
  UNDERSTUDY_CHECK(SSL_connect(session.get()) != 1, "connected to nothing");
  std::string hello(BIO_pending(written), '\0');
  UNDERSTUDY_CHECK(BIO_read(written, hello.data(), static_cast<int>(hello.size())) > 0, "no ClientHello");
  return hello;
}

// Returns the number of sockets that the process has. Several of its descriptors may refer to the same socket.
int64_t Sockets(pid_t pid) {
  std::set<std::string> sockets;
  const std::string path = absl::StrCat("/proc/", pid, "/fd/");
  DIR* const folder = opendir(path.c_str());
  UNDERSTUDY_CHECK(folder != nullptr, "no process ", pid);
  while (const dirent* const entry = readdir(folder)) {
    std::array<char, 64> target;
    const ssize_t bytes = readlink(absl::StrCat(path, entry->d_name).c_str(), target.data(), target.size());
    const absl::string_view name(target.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
    if (absl::StartsWith(name, "socket:")) sockets.emplace(name);
  }
  closedir(folder);
  return static_cast<int64_t>(sockets.size());
}

int64_t ResidentBytes(pid_t pid) {
  int64_t pages = 0;
  std::ifstream(absl::StrCat("/proc/", pid, "/statm")) >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// Returns true if the server has closed the connection. Bytes that the server has sent are read and dropped.
bool IsClosed(int descriptor) {
  std::array<char, 4096> bytes;
  while (true) {
    const ssize_t got = recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) return true;
    if (got < 0) return errno != EAGAIN && errno != EINTR;
  }
}

RemoteMeasurement Handshakes(const RemoteRun& run, const Context& context) {
  const RemoteServer& server = run.servers.front();
  RemotePause(kSettle);
  const double before = CpuSeconds(server.pid);
  const int64_t began = NowNanos();
  for (int64_t i = 0; i < run.operations; ++i) ShakeHands(context, server.address);
  const double seconds = static_cast<double>(NowNanos() - began) / 1e9;
  RemotePause(kSettle);
  const double used = CpuSeconds(server.pid) - before;
  return {.count = run.operations,
          .seconds = seconds,
          .figures = {{"server_cpu_us", used / static_cast<double>(run.operations) * 1e6}}};
}

RemoteMeasurement HalfOpen(const RemoteRun& run, const Context& context) {
  const RemoteServer& server = run.servers.front();
  RemotePause(kSettle);
  const std::string hello = run.kind == RemoteRun::Kind::kHello ? Hello(context) : "";
  const int64_t sockets = Sockets(server.pid);
  const int64_t resident = ResidentBytes(server.pid);
  const double cpu = CpuSeconds(server.pid);
  int64_t kept_max = 0;
  int64_t resident_max = resident;
  const auto sample = [&] {
    kept_max = std::max(kept_max, Sockets(server.pid) - sockets);
    resident_max = std::max(resident_max, ResidentBytes(server.pid));
  };
  const int64_t began = NowNanos();
  std::vector<int> open;
  for (int64_t i = 0; i < run.operations; ++i) {
    open.push_back(Connect(server.address));
    UNDERSTUDY_CHECK(hello.empty() || send(open.back(), hello.data(), hello.size(), MSG_NOSIGNAL) ==
                                          static_cast<ssize_t>(hello.size()),
                     "no ClientHello was sent");
    if (i % 16 == 0) sample();
  }
  while (!open.empty() && NowNanos() - began < absl::ToInt64Nanoseconds(kHalfOpenWindow)) {
    sample();
    RemotePause(kSamplePause);
    const auto closed = std::partition(open.begin(), open.end(), [](int descriptor) { return !IsClosed(descriptor); });
    std::for_each(closed, open.end(), &close);
    open.erase(closed, open.end());
  }
  const double used = CpuSeconds(server.pid) - cpu;
  const double seconds = static_cast<double>(NowNanos() - began) / 1e9;
  const auto left_open = static_cast<double>(open.size());
  std::for_each(open.begin(), open.end(), &close);
  return {.count = run.operations,
          .seconds = seconds,
          .figures = {{"server_cpu_us", used / static_cast<double>(run.operations) * 1e6},
                      {"kept_at_once", static_cast<double>(kept_max)},
                      {"kept_kib", static_cast<double>(resident_max - resident) / 1024 /
                                       static_cast<double>(std::max<int64_t>(kept_max, 1))},
                      {"left_open", left_open}}};
}

}  // namespace

RemoteMeasurement MeasureConnections(const RemoteRun& run) {
  const Context context = MakeContext(run.certificates);
  for (int64_t i = 0; i < kWarmUp; ++i) ShakeHands(context, run.servers.front().address);
  return run.kind == RemoteRun::Kind::kHandshake ? Handshakes(run, context) : HalfOpen(run, context);
}

}  // namespace understudy::bench
