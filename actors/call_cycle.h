// CallCycle: actors that wait for each other's answers in a circle.
//
// Each of these actors has a handler that awaits an answer from the next one, and handles
// nothing else meanwhile, so no answer can come: the cycle lasts until the deadline of an
// ask. Debug builds and every TestSystem find a cycle as soon as it closes; see
// ActorSystem::SubscribeCallCycles. Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_CALL_CYCLE_H_
#define UNDERSTUDY_ACTORS_CALL_CYCLE_H_

#include <string>
#include <vector>

#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"

namespace understudy {

// An actor of a cycle, and the answer that it waits for.
struct CallWait {
  Pid waiter;
  // The part of the waiter that waits: the mailbox of its current message; or "Start", "its
  // process", or "an event".
  std::string handler;
  // The actor that has to answer: the callee, or the actor that has the Replier now.
  Pid holder;
  // The mailbox that was asked; "room in …" for Channel::SendWhenRoom.
  std::string asked;
  // When the waiter asked.
  MonotonicTime since;
};

struct CallCycle {
  // First the wait that closed the cycle, then the chain of waits that existed already. The
  // holder of each wait is the waiter of the next one; the holder of the last is the waiter of
  // the first.
  std::vector<CallWait> waits;

  // Returns one line with all waits: handlers, mailboxes and ages at `now`.
  std::string ToString(MonotonicTime now) const;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CALL_CYCLE_H_
