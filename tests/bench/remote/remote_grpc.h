// What both raw gRPC systems share. A call begins with a message of 8 bytes: 0, and each message is sent back; or how
// many bytes are to come, which are answered by one message when they are there.
#ifndef UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_GRPC_H_
#define UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_GRPC_H_

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

inline std::shared_ptr<grpc::Channel> RemoteChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const std::string target = absl::StartsWith(address, "unix:") ? address : absl::StrCat("ipv4:", address);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// What a server does with each message that comes.
class RemoteServerSide {
 public:
  // True when an answer is to be sent; then `message` is it.
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
