// The bytes of a gRPC message as its buffer holds them. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_BYTE_BUFFERS_H_
#define UNDERSTUDY_TRANSPORT_GRPC_BYTE_BUFFERS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string>

#include "absl/status/statusor.h"

namespace understudy::internal {

// Moves the bytes of a message into a buffer. At most 1,024 bytes are copied.
grpc::ByteBuffer ToBuffer(std::string bytes);

// Returns the bytes of a received message in one piece; an Internal error if gRPC cannot decompress them.
absl::StatusOr<grpc::Slice> BytesOf(const grpc::ByteBuffer& message);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_BYTE_BUFFERS_H_
