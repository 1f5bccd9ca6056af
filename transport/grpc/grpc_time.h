// Times as gRPC takes them. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_GRPC_TIME_H_
#define UNDERSTUDY_TRANSPORT_GRPC_GRPC_TIME_H_

#include <grpc/support/time.h>

#include "absl/time/time.h"

namespace understudy::internal {

// Returns the time that is `left` from now, on the monotonic clock, because the wall clock may be set.
inline gpr_timespec GrpcDeadlineIn(absl::Duration left) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(absl::ToInt64Nanoseconds(left), GPR_TIMESPAN));
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_TIME_H_
