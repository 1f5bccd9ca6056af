// CallCycle: actors that wait for each other's answers in a circle.
//
// Each is held by a handler that awaits an answer of the next, so none of them
// can give one: only the deadlines of their asks end it. Found at once, in
// debug builds and in every TestSystem; see ActorSystem::SubscribeCallCycles.
// Plain values.
#ifndef UNDERSTUDY_ACTORS_CALL_CYCLE_H_
#define UNDERSTUDY_ACTORS_CALL_CYCLE_H_

#include <string>
#include <vector>

#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"

namespace understudy {

// A held actor, and what it waits for.
struct CallWait {
  Pid waiter;
  // The mailbox whose message it has in hand; "Start", "its process", or "an event".
  std::string handler;
  // Who is to answer: the callee, or who has its Replier now.
  Pid holder;
  // The mailbox that was asked; "room in …" for Channel::SendWhenRoom.
  std::string asked;
  // When it was asked.
  MonotonicTime since;
};

struct CallCycle {
  // First the wait that closed it, then the chain that was there: each one's
  // holder is the next one's waiter, and the last one's the first.
  std::vector<CallWait> waits;

  // One line: both chains, with handlers, mailboxes and ages at `now`.
  std::string ToString(MonotonicTime now) const;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CALL_CYCLE_H_
