// A listener against hostile connections.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/transport/streams/stream_end.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grpc/grpc_stream.h"
#include "understudy/transport/sockets/connection_gate.h"

namespace understudy {
namespace {

using net_testing::Accepting;
using net_testing::End;
using net_testing::kStreamDeadline;

// Polls `done`, for states that send no notification when they change.
void WaitUntil(const std::function<bool()>& done) {
  const MonotonicTime deadline = Clock::Real().Now() + kStreamDeadline;
  while (!done() && Clock::Real().Now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(done());
}

int64_t OpenDescriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open));
}

int64_t ResidentBytes() {
  FILE* const file = fopen("/proc/self/statm", "r");
  long long total = 0;     // NOLINT(google-runtime-int): as scanf has it
  long long resident = 0;  // NOLINT(google-runtime-int)
  EXPECT_EQ(fscanf(file, "%lld %lld", &total, &resident), 2);
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

// A client that speaks no HTTP/2, or not to the end.
class RawClient {
 public:
  // kSmall: the buffers that lead to the client hold less than 80 KB.
  enum class Buffers { kLarge, kSmall };
  RawClient(int port, absl::string_view says, Buffers buffers = Buffers::kLarge)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_GE(socket_, 0);
    if (buffers == Buffers::kSmall) {
      // The kernel sizes the listener's send buffer by the size of a segment.
      const int receive_bytes = 2048;
      const int segment_bytes = 536;
      EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)), 0);
      EXPECT_EQ(setsockopt(socket_, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof(segment_bytes)), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    // The listener may have closed it already.
    if (!says.empty()) (void)send(socket_, says.data(), says.size(), MSG_NOSIGNAL);
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Reads to the end of the connection.
  bool IsClosed() const {
    while (true) {
      pollfd readable = {.fd = socket_, .events = POLLIN, .revents = 0};
      if (poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(kStreamDeadline))) != 1) return false;
      char buffer[1024];
      if (recv(socket_, buffer, sizeof(buffer), 0) <= 0) return true;
    }
  }

 private:
  const int socket_;
};

class GrpcListenerTest : public ::testing::Test {
 protected:
  // Both ends of many connections are in this process.
  GrpcListenerTest() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  void Listen(const internal::ConnectionBounds& bounds) {
    absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
        GrpcListener::Listen("127.0.0.1:0", Credentials::Insecure(), accepting_.Accept(), bounds);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    port_ = NodeAddress::Parse(listener_->address())->port;
  }
  // The peer dials again if its connection was closed to make room, or if it took too long on a loaded machine.
  void ExpectAGoodPeerGetsIn() {
    accepting_.SetEcho();
    const auto dialer = NewGrpcDialer(Credentials::Insecure());
    const MonotonicTime deadline = Clock::Real().Now() + kStreamDeadline;
    bool is_in = false;
    while (!is_in && Clock::Real().Now() < deadline) {
      End client;
      client.Take(dialer->Dial("b", listener_->address(), &client));
      client.Write("ping");
      is_in = !client.WaitForFrameOrEnd();
      client.Drop();
      EXPECT_FALSE(client.WaitUntilClosed().ok());
    }
    EXPECT_TRUE(is_in);
  }

  Accepting accepting_;
  std::unique_ptr<GrpcListener> listener_;
  int port_ = 0;
};

TEST_F(GrpcListenerTest, AThousandSilentConnectionsAreClosedInTimeAndAGoodPeerGetsIn) {
  Listen({.per_second = 100'000, .burst = 2000, .begins_within = absl::Seconds(2)});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 1000; ++i) silent.push_back(std::make_unique<RawClient>(port_, ""));
  ExpectAGoodPeerGetsIn();
  for (const auto& one : silent) EXPECT_TRUE(one->IsClosed());
  WaitUntil([&] { return listener_->connection_counts().connections == 0; });
  EXPECT_GE(listener_->connection_counts().closed, 1000);
}

TEST_F(GrpcListenerTest, ThousandsOfHalfOpenHandshakesLeaveDescriptorsAndMemoryAsTheyWere) {
  // Ten thousand, and more, in .ci/long.
  constexpr int kBatch = 1000;
  const int batches = RoundsOf(4);
  Listen({.per_second = 100'000, .burst = 2000, .begins_within = absl::Seconds(1)});
  ExpectAGoodPeerGetsIn();  // what gRPC keeps for ever is there
  WaitUntil([&] { return listener_->connection_counts().connections == 0; });
  int64_t descriptors = 0;
  int64_t resident = 0;
  for (int batch = 0; batch < batches; ++batch) {
    {
      std::vector<std::unique_ptr<RawClient>> clients;
      for (int i = 0; i < kBatch; ++i) {
        const absl::string_view says[] = {"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HT", "GET / HTTP/1.1\r\n\r\n"};
        clients.push_back(std::make_unique<RawClient>(port_, says[i % 4]));
      }
      for (const auto& client : clients) EXPECT_TRUE(client->IsClosed());
    }
    WaitUntil([&] { return listener_->connection_counts().connections == 0; });
    if (batch == 2) {  // the allocator has grown to what a batch takes
      descriptors = OpenDescriptors();
      resident = ResidentBytes();
    }
  }
  // gRPC closes its own a little later.
  WaitUntil([&] { return OpenDescriptors() <= descriptors; });
  // A sanitizer keeps memory that was freed.
  if (!kIsSanitized) EXPECT_LE(ResidentBytes(), resident + (int64_t{16} << 20));
  ExpectAGoodPeerGetsIn();
}

// A frame of HTTP/2.
std::string Http2Frame(char type, char flags, char stream, absl::string_view payload) {
  std::string frame(9, '\0');
  frame[1] = static_cast<char>(payload.size() >> 8);
  frame[2] = static_cast<char>(payload.size());
  frame[3] = type;
  frame[4] = flags;
  frame[8] = stream;
  return absl::StrCat(frame, payload);
}

// The client reads nothing, and gRPC's answers to its settings have filled the buffers between the two before its call
// begins, so gRPC cannot send the status of the refusal.
TEST_F(GrpcListenerTest, ARefusedCallWhoseClientReadsNothingIsClosedInTime) {
  Listen({.begins_within = absl::Minutes(10), .linger = absl::Milliseconds(100)});
  accepting_.Refuse();
  const auto text = [](absl::string_view value) { return absl::StrCat(std::string(1, char(value.size())), value); };
  std::string says = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  // Each is answered with a frame. gRPC stops reading when 10,000 answers wait.
  for (int i = 0; i < 9000; ++i) says += Http2Frame(/*type=SETTINGS*/ 4, 0, 0, "");
  const std::string fields =
      absl::StrCat("\x83\x86\x04", text("/understudy.proto.NodeLink/Carry"), "\x01", text("a"), "\x0f\x10",
                   text("application/grpc"), std::string(1, '\0'), text("te"), text("trailers"));
  says += Http2Frame(/*type=HEADERS*/ 1, /*END_HEADERS*/ 4, 1, fields);
  const RawClient client(port_, says, RawClient::Buffers::kSmall);
  WaitUntil([&] { return listener_->connection_counts().accepted == 1; });
  WaitUntil([&] { return listener_->connection_counts().connections == 0; });
}

TEST_F(GrpcListenerTest, APeerOverIpv6IsKnownByItsAddress) {
  absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
      GrpcListener::Listen("[::1]:0", Credentials::Insecure(), accepting_.Accept());
  if (!listener.ok()) GTEST_SKIP() << "no IPv6 here: " << listener.status();
  listener_ = *std::move(listener);
  ExpectAGoodPeerGetsIn();
}

}  // namespace
}  // namespace understudy
