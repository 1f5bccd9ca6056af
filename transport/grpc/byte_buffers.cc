#include "understudy/transport/grpc/byte_buffers.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace understudy::internal {

grpc::ByteBuffer ToBuffer(std::string bytes) {
  // Strings of at most this size are copied: gRPC stores the bytes in the slice itself or in one block, which costs no
  // more than keeping the string.
  constexpr size_t kCopiedBytesMax = 1024;
  if (bytes.size() <= kCopiedBytesMax) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    return grpc::ByteBuffer(&slice, 1);
  }
  auto owned = std::make_unique<std::string>(std::move(bytes));
  std::string* const kept = owned.release();  // deleted by the slice
  const grpc::Slice slice(kept->data(), kept->size(), [](void* text) { delete static_cast<std::string*>(text); }, kept);
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<grpc::Slice> BytesOf(const grpc::ByteBuffer& message) {
  absl::StatusOr<grpc::Slice> bytes = grpc::Slice();
  if (message.TrySingleSlice(&*bytes).ok() || message.DumpToSingleSlice(&*bytes).ok()) return bytes;
  return absl::InternalError("gRPC could not decompress the message");
}

}  // namespace understudy::internal
