// WaitGraph: the calls under way, who is to answer each, and which of them hold
// an actor up; finds circles of held actors.
//
// A plain state machine. A call that is answered is to be forgotten: no circle
// is found through it.
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
  // `call.waiter` has asked; its handler is not known to wait yet.
  void Asked(uint64_t ask, CallWait call);
  // The asker is held by `handler` until the answer is there. Gives the circle
  // that this closes, empty when there is none; as do Moved and WaitsAgain.
  CallCycle Awaits(Pid asker, uint64_t ask, std::string handler);
  // The right to answer is another's now; a null pid is nobody who can be held.
  CallCycle Moved(Pid asker, uint64_t ask, Pid holder);
  // A handler of its holder has it that goes on while the holder is held: as long
  // as that has it, and until it waits again, no circle is found through it.
  void IsInHand(Pid asker, uint64_t ask);
  // For its holder to be free: it was forwarded.
  CallCycle WaitsAgain(Pid asker, uint64_t ask);
  void Forget(Pid asker, uint64_t ask) { calls_.erase({asker, ask}); }
  void ForgetAll(Pid asker);

  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    CallWait wait;
    bool is_awaited = false;
    Pid in_hand_of;

    // Holds its asker until its holder is free.
    bool holds() const { return is_awaited && wait.holder != in_hand_of; }
  };
  using Calls = std::map<std::pair<Pid, uint64_t>, Call>;

  // Empty when it does not hold its asker.
  CallCycle CycleThrough(const Call& closing) const;

  Calls calls_;  // by asker: an asker's calls lie together
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_WAIT_GRAPH_H_
