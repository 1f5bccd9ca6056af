// The options of a GrpcClient (grpc_client.h). Values.
#ifndef UNDERSTUDY_TRANSPORT_CLIENT_GRPC_CLIENT_OPTIONS_H_
#define UNDERSTUDY_TRANSPORT_CLIENT_GRPC_CLIENT_OPTIONS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/transport/credentials.h"

namespace understudy {

struct GrpcClientOptions {
  // The server's TCP address (credentials.h), such as "127.0.0.1:8080" or "payments.example:443". gRPC resolves names.
  std::string target;
  // As for a node: a target that is not on loopback requires TLS, and this client proves itself with its certificate.
  Credentials credentials;
  // With TLS: the DNS name (SAN) that the server's certificate must have, as it is written there: "*.example" stands
  // only for itself. If empty, the host of `target`.
  std::string server_name;
  // How long the client may be without a connection, all the time trying to get one, before it ends with NoConnection.
  absl::Duration connect_within = absl::Seconds(10);
  // The timeout of an rpc that is a cast here, because a tell has none.
  absl::Duration cast_timeout = absl::Seconds(30);
  // Calls, streams and uploads under way at once. Further ones wait in the mailboxes.
  int calls_max = 1'000;
  // The bytes of the requests of calls under way, and of the items of uploads that gRPC has not taken yet. At this
  // bound further calls wait likewise.
  size_t requests_bytes_max = size_t{64} << 20;
  // The bytes of one reply or item.
  size_t reply_bytes_max = size_t{4} << 20;
  // The bytes of replies and items that have come and not been parsed. Beyond it gRPC reads no further or ends calls.
  size_t replies_bytes_max = size_t{64} << 20;

  // InvalidArgument names the field that is out of range, and says what is wrong with it. FailedPrecondition: the
  // target needs TLS.
  [[nodiscard]] absl::Status Check() const;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CLIENT_GRPC_CLIENT_OPTIONS_H_
