#include "understudy/transport/grpc/grpc_stream.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/tests/transport/streams/stream_end.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy {
namespace {

using net_testing::Accepting;
using net_testing::End;
using net_testing::ExpectCarries;
using net_testing::kStreamDeadline;
using ::testing::HasSubstr;

std::unique_ptr<GrpcListener> ListenAt(absl::string_view address, Accepting& accepting) {
  absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
      GrpcListener::Listen(address, Credentials::Insecure(), accepting.Accept());
  EXPECT_TRUE(listener.ok()) << listener.status();
  return listener.ok() ? *std::move(listener) : nullptr;
}

void DialTo(absl::string_view address, End& end) {
  end.Take(NewGrpcDialer(Credentials::Insecure())->Dial("b", address, &end));
}

// A path short enough for a socket, in a folder of its own.
class SocketPath {
 public:
  explicit SocketPath(absl::string_view name) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = absl::StrCat(folder_, "/", name);
  }
  ~SocketPath() {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  const std::string& path() const { return path_; }
  std::string address() const { return absl::StrCat("unix:", path_); }

 private:
  std::string folder_ = "/tmp/understudy.XXXXXX";
  std::string path_;
};

class GrpcStreamTest : public ::testing::Test {
 protected:
  // Ends are used by the transport until they are closed.
  ~GrpcStreamTest() override {
    if (!client_.is_taken()) return;
    client_.Drop();
    EXPECT_FALSE(client_.WaitUntilClosed().ok());
    if (server_ != nullptr) {
      server_->Drop();
      EXPECT_FALSE(server_->WaitUntilClosed().ok());
    }
  }
  void Connect(absl::string_view address) {
    listener_ = ListenAt(address, accepting_);
    ASSERT_NE(listener_, nullptr);
    DialTo(listener_->address(), client_);
    server_ = &accepting_.Wait(0);
  }

  Accepting accepting_;
  std::unique_ptr<GrpcListener> listener_;
  End client_;
  End* server_ = nullptr;
};

TEST_F(GrpcStreamTest, FramesCrossLoopback) {
  Connect("127.0.0.1:0");
  EXPECT_TRUE(absl::StartsWith(listener_->address(), "127.0.0.1:")) << listener_->address();
  EXPECT_NE(listener_->address(), "127.0.0.1:0");
  EXPECT_EQ(accepting_.identity().proof, StreamIdentity::Proof::kNone);
  ExpectCarries(client_, *server_);
}

TEST_F(GrpcStreamTest, FramesCrossAUnixSocket) {
  const SocketPath socket("node.sock");
  Connect(socket.address());
  EXPECT_EQ(listener_->address(), socket.address());
  EXPECT_EQ(accepting_.identity().proof, StreamIdentity::Proof::kSameUser);
  ExpectCarries(client_, *server_);
  // The file goes with the listener.
  listener_->Stop();
  struct stat file;
  EXPECT_NE(stat(socket.path().c_str(), &file), 0);
}

TEST_F(GrpcStreamTest, FramesCrossASocketPair) {
  absl::StatusOr<std::pair<int, int>> ends = internal::SocketPair();
  ASSERT_TRUE(ends.ok()) << ends.status();
  absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
      GrpcListener::WithoutAddress(StreamIdentity::ProcessChild("child"), accepting_.Accept());
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ((*listener)->address(), "");
  ASSERT_TRUE((*listener)->AcceptOver(ends->first).ok());
  client_.Take(DialOver(ends->second, &client_));
  server_ = &accepting_.Wait(0);
  EXPECT_TRUE(accepting_.identity().MayBe("child"));
  EXPECT_FALSE(accepting_.identity().MayBe("another"));
  ExpectCarries(client_, *server_);
  // There is no other way to the peer.
  client_.stream().Close();
  EXPECT_TRUE(absl::IsCancelled(client_.WaitUntilClosed()));
  EXPECT_FALSE(server_->WaitUntilClosed().ok());
}

TEST_F(GrpcStreamTest, TheEndOfTheConnectionOfASocketPairClosesTheStream) {
  absl::StatusOr<std::pair<int, int>> ends = internal::SocketPair();
  ASSERT_TRUE(ends.ok()) << ends.status();
  absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
      GrpcListener::WithoutAddress(StreamIdentity::ProcessChild("child"), accepting_.Accept());
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int cut = dup(ends->second);
  ASSERT_TRUE((*listener)->AcceptOver(ends->first).ok());
  client_.Take(DialOver(ends->second, &client_));
  server_ = &accepting_.Wait(0);
  client_.Write("ping");
  EXPECT_EQ(server_->WaitForFrames(1).back(), "ping");
  shutdown(cut, SHUT_RDWR);
  close(cut);
  EXPECT_FALSE(server_->WaitUntilClosed().ok());
  EXPECT_FALSE(client_.WaitUntilClosed().ok());
}

TEST_F(GrpcStreamTest, AFrameCanBeWrittenAndTheStreamClosedFromWithinAnEvent) {
  Connect("127.0.0.1:0");
  server_->SetFrameHook([this](const std::string& frame) {
    if (frame == "echo") server_->stream().Write("echoed");
    if (frame == "close") server_->stream().Close();
  });
  client_.Write("echo");
  EXPECT_EQ(client_.WaitForFrames(1).back(), "echoed");
  client_.Write("close");
  EXPECT_TRUE(absl::IsCancelled(server_->WaitUntilClosed()));
  EXPECT_FALSE(client_.WaitUntilClosed().ok());
}

TEST_F(GrpcStreamTest, ClosingTellsBothSidesOnce) {
  Connect("127.0.0.1:0");
  client_.stream().Close();
  client_.stream().Close();
  client_.stream().Write("too late");
  EXPECT_TRUE(absl::IsCancelled(client_.WaitUntilClosed()));
  EXPECT_FALSE(server_->WaitUntilClosed().ok());
}

TEST_F(GrpcStreamTest, DestroyingAStreamClosesIt) {
  Connect("127.0.0.1:0");
  server_->Drop();
  EXPECT_TRUE(absl::IsCancelled(server_->WaitUntilClosed()));
  EXPECT_FALSE(client_.WaitUntilClosed().ok());
}

TEST_F(GrpcStreamTest, ClosingDoesNotWaitForAWriteUnderWay) {
  Connect("127.0.0.1:0");
  // Nothing that is written in an event can be done before the event is.
  client_.SetFrameHook([&](const std::string&) {
    client_.Write(std::string(limits::kFrameBytesMax, 'x'));
    client_.stream().Close();
  });
  server_->Write("first");
  EXPECT_TRUE(absl::IsCancelled(client_.WaitUntilClosed()));
  EXPECT_FALSE(server_->WaitUntilClosed().ok());
}

// A port of the loopback interface that is bound, so that no other process can listen there, but on which no socket
// listens.
class BoundPort {
 public:
  BoundPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, any, size), 0);
    EXPECT_EQ(getsockname(socket_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~BoundPort() { close(socket_); }
  BoundPort(const BoundPort&) = delete;
  BoundPort& operator=(const BoundPort&) = delete;
  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

TEST_F(GrpcStreamTest, NobodyListeningClosesTheStream) {
  const BoundPort nobody;
  DialTo(absl::StrCat("127.0.0.1:", nobody.port()), client_);
  EXPECT_EQ(client_.WaitUntilClosed().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcStreamTest, OffLoopbackAndNonsenseAreRefusedWithAReason) {
  DialTo("192.0.2.1:7000", client_);
  const absl::Status status = client_.WaitUntilClosed();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("TLS is required"));

  const auto listener = GrpcListener::Listen("0.0.0.0:0", Credentials::Insecure(), accepting_.Accept());
  EXPECT_EQ(listener.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GrpcListener::Listen("nowhere", Credentials::Insecure(), accepting_.Accept()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(GrpcStreamTest, ADialledAddressTellsWhatItsStreamsProve) {
  const auto dialer = NewGrpcDialer(Credentials::Insecure());
  EXPECT_EQ(dialer->IdentityAt("b", "unix:/tmp/b.sock").proof, StreamIdentity::Proof::kSameUser);
  EXPECT_FALSE(dialer->IdentityAt("b", "127.0.0.1:7000").is_proved());
  EXPECT_FALSE(dialer->IdentityAt("b", "nonsense").is_proved());
}

TEST_F(GrpcStreamTest, AMissingUnixSocketClosesTheStream) {
  DialTo(SocketPath("none.sock").address(), client_);
  EXPECT_EQ(client_.WaitUntilClosed().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcStreamTest, ATakenAddressIsRefused) {
  Connect("127.0.0.1:0");
  Accepting other;
  const auto second = GrpcListener::Listen(listener_->address(), Credentials::Insecure(), other.Accept());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(listener_->address()));
}

TEST_F(GrpcStreamTest, ATakenUnixSocketIsRefusedAndOneLeftBehindIsReplaced) {
  const SocketPath socket("taken.sock");
  absl::StatusOr<int> left_behind = internal::ListenUnix(socket.path());
  ASSERT_TRUE(left_behind.ok()) << left_behind.status();
  const auto second = GrpcListener::Listen(socket.address(), Credentials::Insecure(), accepting_.Accept());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
  close(*left_behind);  // and the file stays
  Connect(socket.address());
  ExpectCarries(client_, *server_);
}

TEST_F(GrpcStreamTest, ARefusedStreamIsClosed) {
  accepting_.Refuse();
  listener_ = ListenAt("127.0.0.1:0", accepting_);
  ASSERT_NE(listener_, nullptr);
  DialTo(listener_->address(), client_);
  EXPECT_EQ(client_.WaitUntilClosed().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcStreamTest, StoppingTheListenerClosesWhatItAccepted) {
  Connect("127.0.0.1:0");
  client_.Write("ping");
  server_->WaitForFrames(1);
  listener_->Stop();
  EXPECT_FALSE(server_->WaitUntilClosed().ok());
  EXPECT_FALSE(client_.WaitUntilClosed().ok());
  EXPECT_EQ(listener_->AcceptOver(dup(0)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(GrpcStreamTest, ManyStreamsComeAndGo) {
  constexpr size_t kStreams = 40;
  listener_ = ListenAt("127.0.0.1:0", accepting_);
  ASSERT_NE(listener_, nullptr);
  std::vector<std::unique_ptr<End>> ends;
  for (size_t i = 0; i < kStreams; ++i) {
    ends.push_back(std::make_unique<End>());
    DialTo(listener_->address(), *ends.back());
    ends.back()->Write(absl::StrCat(i));
  }
  for (size_t i = 0; i < kStreams; ++i) accepting_.Wait(i).WaitForFrames(1);
  // Half of them are closed by this side, half by that one.
  for (size_t i = 0; i < kStreams; ++i) {
    if (i % 2 == 0) {
      ends[i]->Drop();
    } else {
      accepting_.Wait(i).Drop();
    }
  }
  for (size_t i = 0; i < kStreams; i += 2) EXPECT_FALSE(ends[i]->WaitUntilClosed().ok());
  listener_->Stop();
  for (size_t i = 0; i < kStreams; ++i) EXPECT_FALSE(accepting_.Wait(i).WaitUntilClosed().ok());
  for (size_t i = 0; i < kStreams; ++i) EXPECT_FALSE(ends[i]->WaitUntilClosed().ok());
  client_.Take(NewGrpcDialer(Credentials::Insecure())->Dial("b", "", &client_));
}

TEST(UnixSocket, AnotherUsersProcessIsRefused) {
  absl::StatusOr<std::pair<int, int>> ends = internal::SocketPair();
  ASSERT_TRUE(ends.ok()) << ends.status();
  EXPECT_TRUE(internal::CheckPeerUid(ends->first, geteuid()).ok());
  const absl::Status status = internal::CheckPeerUid(ends->first, geteuid() + 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  close(ends->first);
  close(ends->second);
}

}  // namespace
}  // namespace understudy
