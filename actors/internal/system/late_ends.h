// Ends of actors that come with a timer: of one that does not end in the time it was given, and of one whose start
// takes too long. If the actor is in user code that does not return, a fence takes its life away.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LATE_ENDS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LATE_ENDS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace understudy::internal {

class ActorCell;
class SystemCore;

// Kills that life of `cell` after `delay`, unless it has ended, even if its handler does not return. Returns the id of
// the executor's timer. Any thread.
uint64_t KillAfter(SystemCore& system, absl::Duration delay, ActorCell& cell, uint64_t life);

// Like KillAfter, for the time limit of a start: ends the life with StartTimeout, unless it has started or ended.
uint64_t EndStartAfter(SystemCore& system, absl::Duration delay, ActorCell& cell, uint64_t life);

// For a life that was sent a kill: takes it away if its handler has not returned in time. Any thread.
void FenceAfterKill(SystemCore& system, ActorCell& cell, uint64_t life);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LATE_ENDS_H_
