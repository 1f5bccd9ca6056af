// The functions of the process style: one coroutine that receives (semantics 3.8). The functions use no other state of
// the actor than what is public. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_RECEIVE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_RECEIVE_H_

#include <coroutine>

#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/behavior_table.h"

namespace understudy::internal {

// True while the actor's coroutine waits for what a Receive takes, or handles it.
inline bool IsReceiving(const ActorCore& core) {
  const Activations* const activations = core.parts().known_activations();
  return activations != nullptr && activations->IsReceiving();
}

// The actor's coroutine, which `waiter` resumes, waits for what `table` takes.
void BeginReceive(ActorCore& core, BehaviorPtr table, std::coroutine_handle<> waiter);
// Handles an event that is older than all messages that the Receive takes, else one of these messages, else the
// Receive's timeout if it is due. Returns false if there was none of them.
bool ReceiveOne(ActorCore& core, BehaviorTable& table);
// Called when the message or event that the Receive waited for is in hand: the Receive takes nothing more.
void BeginRound(ActorCore& core, Activation& activation);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_RECEIVE_H_
