// The bytes of a gRPC message as its buffer holds them. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_BYTE_BUFFERS_H_
#define UNDERSTUDY_TRANSPORT_GRPC_BYTE_BUFFERS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string>

#include "absl/status/statusor.h"

namespace understudy::internal {

// Makes a buffer of the bytes without copying them. `give_back` gets them when gRPC no longer reads them, on any
// thread.
grpc::ByteBuffer LendToGrpc(std::string bytes, void (*give_back)(std::string));

// Moves the bytes of a message into a buffer. At most 1,024 bytes are copied.
grpc::ByteBuffer ToBuffer(std::string bytes);

// Returns the bytes of a received message in one piece; an Internal error if gRPC cannot decompress them.
absl::StatusOr<grpc::Slice> BytesOf(const grpc::ByteBuffer& message);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_BYTE_BUFFERS_H_
