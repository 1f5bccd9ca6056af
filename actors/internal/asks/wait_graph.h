// WaitGraph: finds call cycles (call_cycle.h). It is a directed graph with an edge for each call under way, from the
// actor that asked (CallWait::waiter) to the actor that has to answer (CallWait::holder). An edge counts, in the code
// "holds", only while the asker's handler awaits the answer and the asker handles nothing else meanwhile, and while the
// holder cannot answer before it is free itself. A cycle of edges that count is a call cycle.
//
// A plain state machine; thread-compatible. A call is identified by its asker and by `ask`, the asker's id for it. The
// functions do nothing for a call that the graph does not have.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_WAIT_GRAPH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_WAIT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "understudy/actors/call_cycle.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class WaitGraph {
 public:
  // Adds the call that `call.waiter` makes. The edge does not count until Awaits is called.
  void Asked(uint64_t ask, CallWait call);
  // The asker's `handler` awaits the answer, and the asker handles nothing else meanwhile. Returns the cycle that this
  // closes, or an empty one; Moved and WaitsAgain do the same.
  CallCycle Awaits(Pid asker, uint64_t ask, std::string handler);
  // The Replier of the call was moved to `holder`. A null `holder` is not an actor, so the edge is in no cycle then.
  CallCycle Moved(Pid asker, uint64_t ask, Pid holder);
  // An interleaved handler of the holder has the call: it can answer although another handler of the holder awaits an
  // answer. The edge does not count until the Replier is moved to another actor or WaitsAgain is called.
  void IsInHand(Pid asker, uint64_t ask);
  // The call waits in a mailbox of its holder again, because the handler forwarded or postponed it.
  CallCycle WaitsAgain(Pid asker, uint64_t ask);
  // Call when the call was answered, or its ask has ended.
  void Forget(Pid asker, uint64_t ask) { calls_.erase({asker, ask}); }
  // Forgets all calls of that asker, which has ended.
  void ForgetAll(Pid asker);

  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    CallWait wait;
    bool is_awaited = false;
    Pid in_hand_of;  // the actor with an interleaved handler that has the call; null if there is none

    // True if the asker can handle nothing before the holder is free and answers.
    bool holds() const { return is_awaited && wait.holder != in_hand_of; }
  };
  using Calls = std::map<std::pair<Pid, uint64_t>, Call>;

  // The cycle through `closing`, the call that changed last; empty if there is none or `closing` does not hold.
  CallCycle CycleThrough(const Call& closing) const;

  Calls calls_;  // sorted by asker, so that the calls of one asker can be found together
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_WAIT_GRAPH_H_
