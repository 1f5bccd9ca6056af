#include "understudy/transport/grpc/byte_buffers.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/transport/grpc/grpc_queue.h"

namespace understudy::internal {
namespace {

struct LentBytes {
  std::string bytes;
  void (*give_back)(std::string);
};

}  // namespace

grpc::ByteBuffer LendToGrpc(std::string bytes, void (*give_back)(std::string)) {
  auto* const lent = new LentBytes{std::move(bytes), give_back};  // deleted when given back
  void* const text = lent->bytes.data();
  const size_t size = lent->bytes.size();
  ReleaseToGrpc(lent);  // last: this thread does not touch the string again
  const grpc::Slice slice(
      text, size,
      [](void* object) {
        AcquireFromGrpc(object);
        const std::unique_ptr<LentBytes> given_back(static_cast<LentBytes*>(object));
        given_back->give_back(std::move(given_back->bytes));
      },
      lent);
  return {&slice, 1};
}

grpc::ByteBuffer ToBuffer(std::string bytes) {
  // Strings of at most this size are copied: gRPC stores the bytes in the slice itself or in one block, which costs no
  // more than keeping the string.
  constexpr size_t kCopiedBytesMax = 1024;
  if (bytes.size() > kCopiedBytesMax) return LendToGrpc(std::move(bytes), [](std::string) {});
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

absl::StatusOr<grpc::Slice> BytesOf(const grpc::ByteBuffer& message) {
  absl::StatusOr<grpc::Slice> bytes = grpc::Slice();
  if (message.TrySingleSlice(&*bytes).ok() || message.DumpToSingleSlice(&*bytes).ok()) return bytes;
  return absl::InternalError("gRPC could not decompress the message");
}

}  // namespace understudy::internal
