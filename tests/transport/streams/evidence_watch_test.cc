// Tests of what the sockets of this machine prove about a peer whose stream was lost: only that no process listens at
// its address.
#include "understudy/transport/grpc/evidence_watch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/transport/sockets/peer_evidence.h"

namespace understudy::internal {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(60);
// Time for at least three dials that each prove nothing: two refused ones would have been told long before.
const absl::Duration kSeveralDials = 4 * PeerEvidence::kDialsAgainAfter;

// A Unix socket that listens, in a folder of its own.
class Listening {
 public:
  explicit Listening(int backlog) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    sockaddr_un address = Address();
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(socket_, backlog), 0);
  }
  ~Listening() {
    Close();
    std::filesystem::remove_all(folder_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  std::string address() const { return absl::StrCat("unix:", path()); }
  // Connects without waiting; 0, or the error.
  int Connect() {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address = Address();
    const int error = connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
    connections_.push_back(made);
    return error;
  }
  void Close() {
    for (const int connection : connections_) close(connection);
    connections_.clear();
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  std::string path() const { return folder_ + "/node"; }
  sockaddr_un Address() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path().data(), path().size());
    return address;
  }
  std::string folder_ = "/tmp/understudy.XXXXXX";
  int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> connections_;
};

// Fills the queue of connections of a socket that listens on a port and accepts nobody: a further dial hangs, because
// the kernel drops what it sends.
class HangingPort {
 public:
  HangingPort() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(any);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&any), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &size), 0);
    EXPECT_EQ(listen(socket_, 0), 0);
    address_ = any;
    for (int i = 0; i < 10 && !hangs_; ++i) Fill();
  }
  ~HangingPort() {
    for (const int connection : connections_) close(connection);
    close(socket_);
  }
  HangingPort(const HangingPort&) = delete;
  HangingPort& operator=(const HangingPort&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", ntohs(address_.sin_port)); }
  bool hangs() const { return hangs_; }

 private:
  void Fill() {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    connections_.push_back(made);
    (void)connect(made, reinterpret_cast<const sockaddr*>(&address_), sizeof(address_));
    pollfd connected{.fd = made, .events = POLLOUT, .revents = 0};
    hangs_ = poll(&connected, 1, 200) == 0;
  }

  sockaddr_in address_{};
  int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> connections_;
  bool hangs_ = false;
};

class EvidenceWatchTest : public ::testing::Test {
 protected:
  // The stream of a peer that listens there is lost.
  void Lose(absl::string_view address) {
    watch_.OnCarried("peer", {1}, address, nullptr);
    watch_.OnBroken("peer");
  }
  bool IsProvedWithin(absl::Duration time) { return proved_.WaitForNotificationWithTimeout(time); }

  absl::Notification proved_;
  EvidenceWatch watch_{[this](const std::string& node, NodeIncarnation incarnation) {
    EXPECT_EQ(node, "peer");
    EXPECT_EQ(incarnation.bits, 1U);
    proved_.Notify();
  }};
};

TEST_F(EvidenceWatchTest, ASocketOnWhichNobodyListensProvesIt) {
  Listening peer(1);
  peer.Close();
  Lose(peer.address());
  EXPECT_TRUE(IsProvedWithin(kDeadline));
}

TEST_F(EvidenceWatchTest, ASocketThatIsNotThereProvesIt) {
  Lose("unix:/tmp/understudy.no-such-socket");
  EXPECT_TRUE(IsProvedWithin(kDeadline));
}

TEST_F(EvidenceWatchTest, AFullBacklogProvesNothing) {
  Listening peer(0);
  int error = 0;
  for (int i = 0; i < 10 && error == 0; ++i) error = peer.Connect();
  ASSERT_EQ(error, EAGAIN);
  Lose(peer.address());
  EXPECT_FALSE(IsProvedWithin(kSeveralDials));
  // The inquiry goes on.
  peer.Close();
  EXPECT_TRUE(IsProvedWithin(kDeadline));
}

TEST_F(EvidenceWatchTest, ADialThatHangsProvesNothing) {
  auto peer = std::make_unique<HangingPort>();
  ASSERT_TRUE(peer->hangs());
  Lose(peer->address());
  EXPECT_FALSE(IsProvedWithin(2 * EvidenceWatch::kDialAnsweredWithin + kSeveralDials));
  peer.reset();
  EXPECT_TRUE(IsProvedWithin(kDeadline)) << "the inquiry goes on";
}

TEST_F(EvidenceWatchTest, WithoutADescriptorForItADialProvesNothing) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer opens pipes to look at memory";
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  // The lowest number that was free: all below it are in use.
  const int last = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(last) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ASSERT_LT(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  Lose("unix:/tmp/understudy.no-such-socket");
  EXPECT_FALSE(IsProvedWithin(kSeveralDials));
  setrlimit(RLIMIT_NOFILE, &before);
  close(last);
  EXPECT_TRUE(IsProvedWithin(kDeadline)) << "the inquiry goes on";
}

// A name is another machine's, as far as anybody knows: it is not resolved, so no resolver's error is taken for proof.
TEST_F(EvidenceWatchTest, ANameThatNoResolverKnowsProvesNothing) {
  Lose("no-such-host.invalid:7000");
  EXPECT_FALSE(IsProvedWithin(kSeveralDials));
}

TEST_F(EvidenceWatchTest, AStreamThatCarriesTheSessionAgainEndsTheInquiry) {
  Listening peer(0);
  int error = 0;
  for (int i = 0; i < 10 && error == 0; ++i) error = peer.Connect();
  Lose(peer.address());
  watch_.OnCarried("peer", {1}, peer.address(), nullptr);
  peer.Close();
  EXPECT_FALSE(IsProvedWithin(kSeveralDials));
}

}  // namespace
}  // namespace understudy::internal
