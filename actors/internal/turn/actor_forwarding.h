// The functions by which a handler leaves the message in hand to others: it forwards it to another mailbox of its own
// actor, or postpones it. The functions use no other state of the actor than what is public. Owner's turn only, in
// kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_FORWARDING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_FORWARDING_H_

#include <cstdint>

#include "understudy/actors/message.h"
#include "understudy/actors/replier.h"

namespace understudy::internal {

class ActorCore;

// Puts `payload`, which is the message in hand or was made from it, into `mailbox` of this actor. If the message in
// hand is a call, `call` identifies it, and the right to answer goes along. The block of `payload` must have a call
// part. `bytes` is the payload's size if the mailbox is bounded in bytes, else 0.
void Forward(ActorCore& core, int mailbox, Payload payload, uint64_t bytes, CallInHand call);
// The message in hand waits until the behavior changes.
void Postpone(ActorCore& core);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_FORWARDING_H_
