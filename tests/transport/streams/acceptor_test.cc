#include "understudy/transport/sockets/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/sockets/connection_gate.h"
#include "understudy/transport/sockets/peer_process.h"
#include "understudy/transport/sockets/socket_folder.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy::internal {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(60);

// The connections that an acceptor gives.
class Given {
 public:
  Acceptor::Give Take() {
    return [this](int descriptor) {
      absl::MutexLock lock(&mu_);
      descriptors_.push_back(descriptor);
    };
  }
  ~Given() {
    absl::MutexLock lock(&mu_);
    for (const int descriptor : descriptors_) close(descriptor);
  }
  int Wait(size_t count) {
    absl::MutexLock lock(&mu_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return descriptors_.size() >= count; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&there), kDeadline)) << "not accepted in time";
    return descriptors_.size() >= count ? descriptors_[count - 1] : -1;
  }

 private:
  absl::Mutex mu_;
  std::vector<int> descriptors_ ABSL_GUARDED_BY(mu_);
};

ListeningSocket ListenOn(absl::string_view text) {
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(text);
  EXPECT_TRUE(address.ok()) << address.status();
  const absl::StatusOr<ListeningSocket> socket = OpenListeningSocket(*address);
  EXPECT_TRUE(socket.ok()) << socket.status();
  return socket.ok() ? *socket : ListeningSocket();
}

int ConnectTcp(int port) {
  const int connected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(connected, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << strerror(errno);
  return connected;
}

std::string PeerOfClient(int client) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  EXPECT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return absl::StrCat("ipv4:127.0.0.1:", ntohs(address.sin_port));
}

bool IsClosedByPeer(int client) {
  pollfd closed = {.fd = client, .events = POLLIN | POLLRDHUP, .revents = 0};
  return poll(&closed, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))) == 1;
}

// Polls `done`, for states that send no notification when they change.
void WaitUntil(const std::function<bool()>& done) {
  const MonotonicTime deadline = Clock::Real().Now() + kDeadline;
  while (!done() && Clock::Real().Now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(done());
}

TEST(Acceptor, AConnectionThatBeginsNoStreamIsClosedInTime) {
  Given given;
  const ListeningSocket socket = ListenOn("127.0.0.1:0");
  Acceptor acceptor(socket, {.begins_within = absl::Milliseconds(50)}, given.Take());
  acceptor.Start();
  const int silent = ConnectTcp(socket.address.port);
  EXPECT_TRUE(IsClosedByPeer(silent));
  EXPECT_EQ(acceptor.counts().closed, 1);
  EXPECT_EQ(acceptor.counts().connections, 0);
  close(silent);
}

TEST(Acceptor, AConnectionIsKnownByItsPeersAddressAndCarriesOneStream) {
  Given given;
  const ListeningSocket socket = ListenOn("127.0.0.1:0");
  Acceptor acceptor(socket, {.linger = absl::Milliseconds(10)}, given.Take());
  acceptor.Start();
  const int client = ConnectTcp(socket.address.port);
  given.Wait(1);
  std::shared_ptr<const PeerProcess> process;
  const std::string peer = PeerOfClient(client);
  EXPECT_FALSE(acceptor.OnBegun("ipv4:127.0.0.1:1", process));
  EXPECT_TRUE(acceptor.OnBegun(peer, process));
  EXPECT_FALSE(acceptor.OnBegun(peer, process));
  EXPECT_EQ(process, nullptr);  // TCP tells of none
  acceptor.OnOver(peer);
  EXPECT_TRUE(IsClosedByPeer(client));
  close(client);
}

TEST(Acceptor, AConnectionThatItsPeerAndGrpcHaveClosedIsForgotten) {
  Given given;
  const ListeningSocket socket = ListenOn("127.0.0.1:0");
  Acceptor acceptor(socket, {}, given.Take());
  acceptor.Start();
  const int client = ConnectTcp(socket.address.port);
  const int accepted = given.Wait(1);
  EXPECT_EQ(acceptor.counts().connections, 1);
  close(client);
  shutdown(accepted, SHUT_RDWR);  // as gRPC does before it closes
  WaitUntil([&] { return acceptor.counts().connections == 0; });
  EXPECT_EQ(acceptor.counts().closed, 0);
}

TEST(Acceptor, AUnixConnectionOfAnotherUserIsClosedAndNotGiven) {
  std::string folder = "/tmp/understudy.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = absl::StrCat(folder, "/a");
  bool is_given = false;
  {
    Acceptor acceptor(
        ListenOn(absl::StrCat("unix:", path)), {},
        [&](int descriptor) {
          is_given = true;
          close(descriptor);
        },
        nullptr, geteuid() + 1);
    acceptor.Start();
    const absl::StatusOr<int> client = ConnectUnix(path);
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_TRUE(IsClosedByPeer(*client));
    EXPECT_EQ(acceptor.counts().refused, 1);
    EXPECT_EQ(acceptor.counts().connections, 0);
    EXPECT_FALSE(is_given);
    close(*client);
    EXPECT_EQ(ConnectUnix(path, geteuid() + 1).status().code(), absl::StatusCode::kPermissionDenied)
        << "the listener is of another user than the client expects";
  }
  std::filesystem::remove_all(folder);
}

TEST(Acceptor, AUnixConnectionTellsItsPeersProcess) {
  std::string folder = "/tmp/understudy.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = absl::StrCat(folder, "/a");
  Given given;
  Acceptor acceptor(ListenOn(absl::StrCat("unix:", path)), {}, given.Take());
  acceptor.Start();
  // The address of the client's end tells which connection it is.
  const absl::StatusOr<int> client = ConnectUnix(path);
  ASSERT_TRUE(client.ok()) << client.status();
  sockaddr_un own{};
  socklen_t size = sizeof(own);
  ASSERT_EQ(getsockname(*client, reinterpret_cast<sockaddr*>(&own), &size), 0);
  const std::string peer =
      absl::StrCat("unix-abstract:", absl::string_view(own.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1));
  given.Wait(1);
  std::shared_ptr<const PeerProcess> process;
  EXPECT_TRUE(acceptor.OnBegun(peer, process));
  ASSERT_NE(process, nullptr);
  EXPECT_FALSE(process->has_ended());  // it is this one
  close(*client);

  // A socket without an address of its own is refused.
  const int nameless = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(connect(nameless, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_TRUE(IsClosedByPeer(nameless));
  EXPECT_EQ(acceptor.counts().refused, 1);
  close(nameless);
  acceptor.Stop();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  rmdir(folder.c_str());
}

TEST(Acceptor, WithoutADescriptorItWaitsAndGoesOnWhenThereIsOne) {
  Given given;
  const ListeningSocket socket = ListenOn("127.0.0.1:0");
  Acceptor acceptor(socket, {}, given.Take());
  acceptor.Start();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> fill;
  for (int one = dup(client); one >= 0; one = dup(client)) fill.push_back(one);
  const MonotonicTime began = Clock::Real().Now();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(socket.address.port));
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  WaitUntil([&] { return acceptor.counts().starved >= 3; });
  // The acceptor checks ten times a second.
  const double elapsed = absl::ToDoubleSeconds(Clock::Real().Now() - began);
  EXPECT_LE(static_cast<double>(acceptor.counts().starved), elapsed * 10 + 2);
  EXPECT_EQ(acceptor.counts().accepted, 0);
  for (const int one : fill) close(one);
  setrlimit(RLIMIT_NOFILE, &before);
  given.Wait(1);
  EXPECT_EQ(acceptor.counts().connections, 1);
  close(client);
}

TEST(Acceptor, TwoListenersOnOneAddressAreAnError) {
  const ListeningSocket first = ListenOn("127.0.0.1:0");
  const absl::StatusOr<ListeningSocket> second = OpenListeningSocket(first.address);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
  close(first.descriptor);
  EXPECT_EQ(OpenListeningSocket(*NodeAddress::Parse("192.0.2.1:0")).status().code(), absl::StatusCode::kUnavailable);
}

TEST(SocketFolder, IsOpenToItsUserOnlyAndGoesWithItsNode) {
  std::string path;
  {
    SocketFolder folder;
    const absl::StatusOr<std::string> address = folder.AddressFor("house-1");
    ASSERT_TRUE(address.ok()) << address.status();
    const ListeningSocket socket = ListenOn(*address);
    path = std::filesystem::path(socket.address.path).parent_path();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    EXPECT_EQ(folder.AddressFor("house-2").value(), absl::StrCat("unix:", path, "/house-2"));
    EXPECT_TRUE(NodeAddress::Parse(folder.AddressFor(std::string(63, 'x')).value()).ok());
    close(socket.descriptor);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A starter for which ListenUnix succeeded can be reached at the path, even while others start or stop there.
TEST(ListenUnix, OfManyThatStartAtOnceOneReplacesTheFileThatWasLeftBehind) {
  constexpr int kStarters = 4;
  SocketFolder folder;
  const std::string path = NodeAddress::Parse(folder.AddressFor("house").value())->path;
  for (int round = 0; round < 500; ++round) {
    const absl::StatusOr<int> left_behind = ListenUnix(path);
    ASSERT_TRUE(left_behind.ok()) << left_behind.status();
    close(*left_behind);  // and the file stays
    absl::Barrier* const begin = new absl::Barrier(kStarters);
    std::vector<absl::StatusOr<int>> listening(kStarters, absl::UnknownError("has not tried"));
    std::vector<std::thread> starters;
    for (absl::StatusOr<int>& mine : listening) {
      starters.emplace_back([&mine, &path, begin] {
        if (begin->Block()) delete begin;
        mine = ListenUnix(path);
      });
    }
    for (std::thread& starter : starters) starter.join();
    int listeners = 0;
    for (const absl::StatusOr<int>& one : listening) {
      if (one.ok()) ++listeners;
      if (one.ok()) close(*one);
      if (!one.ok()) EXPECT_EQ(one.status().code(), absl::StatusCode::kAlreadyExists) << one.status();
    }
    ASSERT_EQ(listeners, 1) << "round " << round;
  }
}

TEST(Acceptor, WhoeverListensWhenItStopsKeepsTheFile) {
  SocketFolder folder;
  const std::string address = folder.AddressFor("house").value();
  const std::string path = NodeAddress::Parse(address)->path;
  for (int round = 0; round < 500; ++round) {
    Given given;
    Acceptor acceptor(ListenOn(address), {}, given.Take());
    acceptor.Start();
    std::thread stopper([&acceptor] { acceptor.Stop(); });
    absl::StatusOr<int> next = ListenUnix(path);
    while (!next.ok()) next = ListenUnix(path);
    stopper.join();
    const absl::StatusOr<int> connected = ConnectUnix(path);
    ASSERT_TRUE(connected.ok()) << "round " << round << ": " << connected.status();
    close(*connected);
    close(*next);
  }
}

TEST(PeerProcess, AKilledProcessHasEnded) {
  std::string folder = "/tmp/understudy.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = absl::StrCat(folder, "/a");
  const absl::StatusOr<int> listening = ListenUnix(path);
  ASSERT_TRUE(listening.ok()) << listening.status();
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<int> connected = ConnectUnix(path);
    pause();
    _exit(connected.ok() ? 0 : 1);
  }
  pollfd coming = {.fd = *listening, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&coming, 1, 60'000), 1);
  const int accepted = accept4(*listening, nullptr, nullptr, SOCK_CLOEXEC);
  const std::shared_ptr<const PeerProcess> process = PeerProcess::Of(accepted);
  ASSERT_NE(process, nullptr);
  EXPECT_FALSE(process->has_ended());
  kill(child, SIGKILL);
  pollfd ended = {.fd = process->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 60'000), 1);
  EXPECT_TRUE(process->has_ended());
  waitpid(child, nullptr, 0);
  // The process at the other end has ended, and another process that now has its number must not be taken for it.
  EXPECT_EQ(PeerProcess::Of(accepted), nullptr);
  close(accepted);
  close(*listening);
  unlink(path.c_str());
  rmdir(folder.c_str());
}

}  // namespace
}  // namespace understudy::internal
