// ToGrpc: an error as a gRPC client is told it.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_RPC_STATUS_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace understudy::internal {

// Returns the status with the same code and the text of `status`, cut to limits::kStatusMessageBytesMax. If `status` is
// one of the library's errors (error.h), the details have a google.rpc.ErrorInfo with its kind. Any thread.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_RPC_STATUS_H_
