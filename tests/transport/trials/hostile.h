// Helpers for the tests of hostile clients: streams and connections on which a test writes frames itself, the resources
// that a process uses, and an honest pair of nodes whose session must not suffer.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRIALS_HOSTILE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRIALS_HOSTILE_H_

#include <arpa/inet.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/rpc_method.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/tests/transport/trials/fault_proxy.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/tests/transport/trials/trial.h"
#include "understudy/tests/transport/trials/trial_times.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"

namespace understudy::net_testing {

inline constexpr absl::Duration kLongSilence = absl::Minutes(5);
inline constexpr absl::Duration kLongGrace = absl::Minutes(30);

// One call of the only gRPC method of a node, whose messages the test writes itself.
class RawStream {
 public:
  using Stream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  // Connects with the certificate of `client` in the folder `certificates`, or in plaintext if that is empty.
  explicit RawStream(const std::string& address, absl::string_view certificates = "", absl::string_view client = "")
      : channel_(grpc::CreateCustomChannel("ipv4:" + address, CredentialsOf(certificates, client), Arguments())) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const grpc::internal::RpcMethod method("/understudy.proto.NodeLink/Carry",
                                           grpc::internal::RpcMethod::BIDI_STREAMING);
    stream_.reset(grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
        channel_.get(), method, &context_));
  }
  ~RawStream() {
    context_.TryCancel();
    (void)stream_->Finish();
  }

  bool Write(const std::string& frame) {
    const grpc::Slice slice(frame);
    return stream_->Write(grpc::ByteBuffer(&slice, 1));
  }
  // Empty when the stream is over.
  std::string Read() {
    grpc::ByteBuffer buffer;
    grpc::Slice slice;
    if (!stream_->Read(&buffer) || !buffer.DumpToSingleSlice(&slice).ok()) return "";
    return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
  }
  // The next frame, which is a Refuse.
  proto::Refuse ReadRefuse() {
    const absl::StatusOr<proto::Frame> frame = DecodeFrame(Read());
    EXPECT_TRUE(frame.ok() && frame->has_refuse()) << frame.status();
    return frame.ok() ? frame->refuse() : proto::Refuse();
  }

 private:
  static std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(absl::string_view folder, absl::string_view client) {
    if (folder.empty()) return grpc::InsecureChannelCredentials();
    const auto file = [&](absl::string_view name) {
      std::ifstream from(absl::StrCat(folder, "/", name));
      return std::string(std::istreambuf_iterator<char>(from), {});
    };
    return grpc::SslCredentials({.pem_root_certs = file("ca.pem"),
                                 .pem_private_key = file(absl::StrCat(client, ".key")),
                                 .pem_cert_chain = file(absl::StrCat(client, ".pem"))});
  }
  // A connection of its own, to the node ledger.
  static grpc::ChannelArguments Arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("ledger");
    return arguments;
  }
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
};

// A connection on which the test says bytes.
class RawConnection {
 public:
  explicit RawConnection(const std::string& address)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(NodeAddress::Parse(address)->port));
    const int connected = connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to));
    EXPECT_TRUE(connected == 0 || errno == EINPROGRESS || errno == EAGAIN) << strerror(errno);
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool is_connected() const { return IsReady(POLLOUT); }
  void Say(absl::string_view bytes) const { (void)send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Whether the other end has closed it.
  bool is_closed() const {
    char byte[4096];
    while (true) {
      const ssize_t bytes = recv(socket_, byte, sizeof(byte), MSG_DONTWAIT);
      if (bytes > 0) continue;
      return bytes == 0 || errno != EAGAIN;
    }
  }

 private:
  bool IsReady(int16_t events) const {
    pollfd ready = {.fd = socket_, .events = events, .revents = 0};
    return poll(&ready, 1, 0) == 1;
  }
  const int socket_;
};

inline int64_t DescriptorsOf(int os_pid) {
  const std::filesystem::directory_iterator open(absl::StrCat("/proc/", os_pid, "/fd"));
  return std::distance(begin(open), end(open));
}

inline int64_t ResidentBytesOf(int os_pid) {
  FILE* const file = fopen(absl::StrCat("/proc/", os_pid, "/statm").c_str(), "r");
  long long total = 0;     // NOLINT(google-runtime-int): as scanf has it
  long long resident = 0;  // NOLINT(google-runtime-int)
  EXPECT_EQ(fscanf(file, "%lld %lld", &total, &resident), 2);
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

// The most that it ever had.
inline int64_t PeakBytesOf(int os_pid) {
  std::ifstream status(absl::StrCat("/proc/", os_pid, "/status"));
  std::string line;
  int64_t kilobytes = 0;
  while (std::getline(status, line)) {
    if (!absl::StartsWith(line, "VmHWM:")) continue;
    EXPECT_EQ(sscanf(line.c_str(), "VmHWM: %ld kB", &kilobytes), 1) << line;
  }
  EXPECT_GT(kilobytes, 0);
  return kilobytes * 1024;
}

// Certificates of the nodes house, ledger, mallory and guest, all of one authority.
class Certificates {
 public:
  Certificates() { Make(); }
  // Makes a new authority, and new certificates of it for all nodes.
  void MakeAnew() {
    std::filesystem::remove(made_.File("all/ca.pem"));
    Make();
  }
  std::string folder() const { return made_.File("all"); }
  Credentials Of(absl::string_view node) const { return Credentials::Tls(made_.Files("all", node)); }

 private:
  void Make() { made_.Make("all", "house ledger mallory guest"); }
  TestCertificates made_;
};

// The honest node house talks with ledger, which runs in a process of its own.
class HostileClientTest : public ::testing::Test {
 protected:
  HostileClientTest() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  void Join(const Certificates* certificates = nullptr) {
    std::vector<std::string> options = {"silence_ms=300000", "grace_ms=1800000"};
    if (certificates != nullptr) options.push_back("certificates=" + certificates->folder());
    ledger_ = std::make_unique<RemoteNode>("ledger", "127.0.0.1:0", options);
    proxy_ = std::make_unique<FaultProxy>(ledger_->address());
    NodeOptions house = {.listen = "", .peers = {{"ledger", proxy_->address()}}};
    house.times = TrialTimes(kLongSilence, kLongGrace);
    if (certificates != nullptr) house.credentials = certificates->Of("house");
    house_ = std::make_unique<LocalNode>("house", std::move(house));
    tally_ = house_->Find("ledger/tally");
    watch_ = std::make_unique<Watch>(house_->system(), tally_.pid());
  }
  // Runs `harm` while the honest peers exchange messages. Expects that all messages arrive in order and that the
  // session of the honest peers does not end.
  void ExpectNoHarmBy(const std::function<void()>& harm) {
    lane_ += 2;
    Traffic traffic(*house_, tally_, 500, lane_);
    traffic.WaitForTold(50);
    harm();
    traffic.ExpectAllCameInOrder();
    ExpectTheFirstSession();
  }
  void ExpectTheFirstSession() {
    EXPECT_FALSE(watch_->is_down());
    EXPECT_EQ(house_->diary().Count("ended"), 0);
    EXPECT_EQ(ledger_->diary().Count("ended house"), 0);
  }

  std::unique_ptr<RemoteNode> ledger_;
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<LocalNode> house_;
  TallyRef tally_;
  std::unique_ptr<Watch> watch_;
  int64_t lane_ = 0;
};

}  // namespace understudy::net_testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRIALS_HOSTILE_H_
