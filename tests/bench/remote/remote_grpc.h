// The code that both raw gRPC systems share. The first message of a call has 8 bytes, a number: 0 asks the server to
// send each message back; n asks it to send one message when n bytes have come.
#ifndef UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_GRPC_H_
#define UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_GRPC_H_

#include <grpc/grpc_security_constants.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/tests/bench/remote/remote_run.h"

namespace understudy::bench {

inline constexpr char kRemoteMethod[] = "/understudy.bench.Remote/Carry";

inline grpc::ByteBuffer RemoteBuffer(int64_t bytes) {
  const grpc::Slice slice(std::string(static_cast<size_t>(bytes), 'x'));
  return grpc::ByteBuffer(&slice, 1);
}

inline grpc::ByteBuffer RemoteBegin(int64_t expected_bytes) {
  const grpc::Slice slice(&expected_bytes, sizeof(expected_bytes));
  return grpc::ByteBuffer(&slice, 1);
}

inline int64_t RemoteExpected(const grpc::ByteBuffer& begin) {
  grpc::Slice slice;
  int64_t expected = 0;
  if (begin.DumpToSingleSlice(&slice).ok() && slice.size() == sizeof(expected)) {
    std::memcpy(&expected, slice.begin(), sizeof(expected));
  }
  return expected;
}

inline std::string RemoteFile(const std::string& folder, absl::string_view name) {
  std::ifstream file(absl::StrCat(folder, "/", name), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// A channel to the server with that index; with mutual TLS if the run has certificates.
inline std::shared_ptr<grpc::Channel> RemoteChannel(const RemoteRun& run, size_t server) {
  const std::string& address = run.servers[server].address;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const std::string target = absl::StartsWith(address, "unix:") ? address : absl::StrCat("ipv4:", address);
  if (run.certificates.empty()) {
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  }
  arguments.SetSslTargetNameOverride(ServerName(static_cast<int64_t>(server)));
  const grpc::SslCredentialsOptions options = {
      .pem_root_certs = RemoteFile(run.certificates, "ca.pem"),
      .pem_private_key = RemoteFile(run.certificates, absl::StrCat(kClientName, ".key")),
      .pem_cert_chain = RemoteFile(run.certificates, absl::StrCat(kClientName, ".pem"))};
  return grpc::CreateCustomChannel(target, grpc::SslCredentials(options), arguments);
}

inline std::shared_ptr<grpc::ServerCredentials> RemoteServerCredentials(const RemoteServe& serve) {
  if (serve.certificates.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = RemoteFile(serve.certificates, "ca.pem");
  options.pem_key_cert_pairs.push_back(
      {.private_key = RemoteFile(serve.certificates, absl::StrCat(serve.node, ".key")),
       .cert_chain = RemoteFile(serve.certificates, absl::StrCat(serve.node, ".pem"))});
  return grpc::SslServerCredentials(options);
}

// The state of one call on the server's side, which decides what to do with each message.
class RemoteServerSide {
 public:
  // Returns true if the server is to send `message` as the answer.
  bool OnMessage(grpc::ByteBuffer* message) {
    if (!has_begun_) {
      has_begun_ = true;
      expected_ = RemoteExpected(*message);
      echoes_ = expected_ == 0;
      return false;
    }
    if (echoes_) return true;
    expected_ -= static_cast<int64_t>(message->Length());
    return expected_ == 0;
  }

 private:
  bool has_begun_ = false;
  bool echoes_ = false;
  int64_t expected_ = 0;
};

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_GRPC_H_
