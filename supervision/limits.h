// The bounds of supervision, each with its reason (see actors/limits.h).
#ifndef UNDERSTUDY_SUPERVISION_LIMITS_H_
#define UNDERSTUDY_SUPERVISION_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy::limits {

// A supervisor is linked to each child, and an actor has at most
// kLinksPerActorMax links.
inline constexpr size_t kChildrenPerSupervisorMax = 100000;
// A restart window keeps one time stamp per allowed restart: 800 kB.
inline constexpr int kRestartIntensityMax = 100000;
// Administrative requests that wait for a plan to end; more are refused.
inline constexpr size_t kWaitingRequestsMax = 10000;
// A tree is drawn and read by people, and validated by recursion.
inline constexpr int kTreeDepthMax = 100;
// A child that waits for its name is tried again this often unless the name is
// known to be taken: it may have become free while the child failed.
inline constexpr absl::Duration kParkedRetryAfter = absl::Seconds(10);
// Subscribers to the events of one supervisor.
inline constexpr size_t kSupervisionSubscribersMax = 100;

// A report in several lines, unless its reader says otherwise.
inline constexpr size_t kSupervisionReportBytesMax = size_t{8} << 10;
// A tree is written by people; a file that is longer was not meant.
inline constexpr size_t kTreeFileBytesMax = size_t{16} << 20;
// Children in one answer to WhichChildren: a query must not hold up its
// supervisor.
inline constexpr size_t kChildrenPerAnswerMax = 1000;
// Supervisors that share the children of a pool: more than a machine has CPUs
// to run them.
inline constexpr int kPoolShardsMax = 64;
// Requests that wait in a supervisor's mailbox: to start all its children at once.
inline constexpr int64_t kSupervisorRequestsMax = 100000;
// How long TerminateChild waits for another node to say whether an unknown pid there has ended:
// several round trips.
inline constexpr absl::Duration kUnknownPidAnswersWithin = absl::Seconds(2);

}  // namespace understudy::limits

#endif  // UNDERSTUDY_SUPERVISION_LIMITS_H_
