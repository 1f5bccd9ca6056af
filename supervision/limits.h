// The bounds of supervision, each with its reason. actors/limits.h and transport/limits.h have those of the other
// layers.
//
// A tree with a value beyond a bound does not start, and its error names the field, the value and the bound
// (spec_errors.h). A request beyond a bound is answered with Full. Long answers come in pages, and long texts are cut
// where a comment says so. No supervisor waits at a bound.
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
// Requests and exits that wait for an ordered plan to end. A request beyond this is refused.
inline constexpr size_t kWaitingRequestsMax = 10000;
// A tree is drawn and read by people, and validated by recursion.
inline constexpr int kTreeDepthMax = 100;
// The interval at which a child that waits for its name is started again, unless
// the name is known to be taken: it may have become free while the start failed.
inline constexpr absl::Duration kParkedRetryAfter = absl::Seconds(10);
// Subscribers to the events of one supervisor.
inline constexpr size_t kSupervisionSubscribersMax = 100;

// Default size of a report in several lines (SupervisionEvent::ToReport).
inline constexpr size_t kSupervisionReportBytesMax = size_t{8} << 10;
// Trees are written by people; a longer file is probably the wrong one.
inline constexpr size_t kTreeFileBytesMax = size_t{16} << 20;
// Children in one answer to WhichChildren, so that a query does not delay its
// supervisor for long.
inline constexpr size_t kChildrenPerAnswerMax = 1000;
// Supervisors (shards) that share the children of a pool: more than most machines
// have CPUs to run them.
inline constexpr int kPoolShardsMax = 64;
// Requests that wait in a supervisor's mailbox: enough to start as many children as
// it may have (kChildrenPerSupervisorMax) at once.
inline constexpr int64_t kSupervisorRequestsMax = 100000;
// The reason of a child's last exit that a supervisor keeps for looks from outside, in bytes: enough for a few causes,
// and 100,000 children that have all crashed keep 50 MB. Events have the whole reason.
inline constexpr size_t kLastExitBytesMax = 500;
// Children that a look from outside copies at once, while their supervisor waits for the lock: some tens of
// microseconds.
inline constexpr size_t kChildrenPerLookMax = 100;
// Supervisors and children on one page of such looks: about as many as an answer to an operator has room for.
inline constexpr size_t kTreePageEntriesMax = 10'000;
// How long TerminateChild waits for another node to say whether an unknown pid there has ended:
// several round trips.
inline constexpr absl::Duration kUnknownPidAnswersWithin = absl::Seconds(2);

}  // namespace understudy::limits

#endif  // UNDERSTUDY_SUPERVISION_LIMITS_H_
