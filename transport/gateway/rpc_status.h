// ToGrpc: an error as a gRPC client is told it. FromServer: the other way, an error that a gRPC server told.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_RPC_STATUS_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace understudy::internal {

// Returns the status with the same code and the text of `status`, cut to limits::kStatusMessageBytesMax. If `status` is
// one of the library's errors (error.h), the details have a google.rpc.ErrorInfo with its kind. Any thread.
grpc::Status ToGrpc(const absl::Status& status);

// Returns the status with the same code and text, cut likewise. It is one of the library's errors if the details say
// so, as those of ToGrpc do, with a kind that has that code. Without details:
//
// | UNAVAILABLE       | NoConnection: gRPC's clients say so of a connection that failed, and a status does not tell
// |                   | whether the client or the server made it
// | DEADLINE_EXCEEDED | Expired
// | CANCELLED         | Cancelled
// | UNIMPLEMENTED     | NoMailbox
//
// and every other code is a status of the server's own. `status` may be hostile. Any thread.
absl::Status FromServer(const grpc::Status& status);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_RPC_STATUS_H_
