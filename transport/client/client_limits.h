// Bounds of a client of a gRPC service that no option changes, each with its reason.
#ifndef UNDERSTUDY_TRANSPORT_CLIENT_CLIENT_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_CLIENT_CLIENT_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace understudy::limits {

// How often a client checks its connection: eight times in `connect_within`, so that a client that ends because it has
// no connection is late by at most an eighth of that time. The two pauses below bound the interval.
inline constexpr int kLooksPerConnectWithin = 8;
inline constexpr absl::Duration kLookPauseMin = absl::Milliseconds(10);
inline constexpr absl::Duration kLookPauseMax = absl::Seconds(1);

// The pauses between gRPC's attempts to connect. Much shorter than gRPC's own (1 s to 2 min), because the supervisor's
// backoff takes over after `connect_within`.
inline constexpr absl::Duration kReconnectPauseMin = absl::Milliseconds(100);
inline constexpr absl::Duration kReconnectPauseMax = absl::Seconds(1);

// A connection with calls on which nothing has come for this long is asked for a sign of life, so that a stream of a
// machine that has gone ends. gRPC's servers take a client for hostile that asks more often than each five minutes.
inline constexpr absl::Duration kClientKeepaliveAfter = absl::Minutes(6);

// The memory that gRPC keeps for a call besides the bytes of its reply, like kMemoryPerCallBytes of a gateway.
inline constexpr size_t kClientMemoryPerCallBytes = size_t{16} << 10;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_CLIENT_CLIENT_LIMITS_H_
