// The functions for an actor's streams in its turn: they tell StreamTable what happened, and apply what it answers. The
// ask of a stream is an ask like any other (actor_asks.h). The functions use no other state of the actor than its
// public parts. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_STREAMS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_STREAMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

class ActorCore;

// What a cancel says to the writer: OK if the asker has cancelled the stream, else how the asker ends.
absl::Status WhyStreamIsCancelled(const ActorCore& core);

// At the asker: ask `id`, which is a stream, was answered.
void OnStreamEnd(ActorCore& core, uint64_t id);
// At the asker: a kItem came.
void OnStreamItem(ActorCore& core, Signal signal);

// At the writer: a kCancel or kStreamCredit came.
void OnStreamCancel(ActorCore& core, const Signal& signal);
void OnStreamCredit(ActorCore& core, Signal& signal);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_STREAMS_H_
