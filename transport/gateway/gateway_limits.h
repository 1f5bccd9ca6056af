// Bounds of a gateway that no option changes, each with its reason.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_GATEWAY_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_GATEWAY_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace understudy::limits {

// The text of an error that a client is told; a longer one is cut. gRPC's clients take 8 KiB of metadata in all, a byte
// of the text may take three bytes there, and the text is told a second time in the error's details.
inline constexpr size_t kStatusMessageBytesMax = 1024;

// Calls of grpc.health.v1.Health/Watch at once, of all clients. Each keeps about a kilobyte, and the name of a service
// that it asked for; one client needs one for each service that it calls.
inline constexpr size_t kHealthWatchesMax = 1024;
// Calls of Check at once, of all clients. One ends as soon as its request has come.
inline constexpr size_t kHealthChecksMax = 1024;
// The bytes of the request of either, which is a name.
inline constexpr size_t kHealthRequestBytesMax = size_t{4} << 10;

// Bounds of what an actor may be told of its caller (ExportedService::WithCaller): the metadata keys of a service, the
// values of one call under these keys and the bytes of both, and the names in the client's certificate with their
// bytes. gRPC itself takes 8 to 16 KiB of metadata for a call. With these bounds calls_max calls keep at most 80 MiB of
// metadata and 80 MiB of names.
inline constexpr size_t kCallerKeysMax = 16;
inline constexpr size_t kCallerKeyBytesMax = 64;
inline constexpr size_t kCallerValuesMax = 64;
inline constexpr size_t kCallerMetadataBytesMax = size_t{8} << 10;
inline constexpr size_t kCallerNamesMax = 64;
inline constexpr size_t kCallerNamesBytesMax = size_t{8} << 10;

// Calls of reflection at once, of all clients: people's tools, one call each.
inline constexpr size_t kReflectionCallsMax = 64;
// The bytes of one of its requests, which its reply repeats: a name.
inline constexpr size_t kReflectionRequestBytesMax = size_t{4} << 10;

// How long a client's connection may be open before its first call begins. Longer than a client needs that connects
// when it starts and calls soon.
inline constexpr absl::Duration kFirstCallWithin = absl::Minutes(1);

// A connection on which nothing has come for this long is asked for a sign of life, and ended if it gives none for 20 s
// (gRPC's default), so that clients whose machines have gone do not use up connections_max.
inline constexpr absl::Duration kKeepaliveAfter = absl::Minutes(1);

// How long a drain waits, after the last call has ended, for clients to close their connections. Clients of gRPC do so
// as soon as they have taken their answers; one that is silent, or whose machine has gone, never does.
inline constexpr absl::Duration kConnectionsCloseWithin = absl::Seconds(1);

// How long a drain waits for those who watch health to take the news, and for replies of reflection to be taken, before
// it cancels these calls. Clients that read take far less.
inline constexpr absl::Duration kWatchesEndWithin = absl::Seconds(1);

// Memory that gRPC is allowed for a call and for a connection, besides the bytes of requests. With these amounts
// clients that keep within the bounds of GatewayOptions cannot use up the memory quota of a gateway's server.
inline constexpr size_t kMemoryPerCallBytes = size_t{16} << 10;
inline constexpr size_t kMemoryPerConnectionBytes = size_t{128} << 10;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_GATEWAY_LIMITS_H_
