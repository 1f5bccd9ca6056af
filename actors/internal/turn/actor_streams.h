// The functions for an actor's streams in its turn, in both directions: they tell StreamTable what happened, and apply
// what it answers. The ask of a stream is an ask like any other (actor_asks.h). The functions use no other state of the
// actor than its public parts. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_STREAMS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_STREAMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

class ActorCore;

// The status that a cancel carries to the callee: OK if the asker has cancelled the call, else how the asker ends.
absl::Status WhyStreamIsCancelled(const ActorCore& core);

// At the asker: ask `id`, whose answer or request is a stream, was answered.
void OnStreamsAnswered(ActorCore& core, uint64_t id);
// At the callee: a kCancel of such an ask came.
void OnItemsCancel(ActorCore& core, const Signal& signal);

// At the reader: a kItem or kUploadItem came.
void OnItem(ActorCore& core, Signal signal);
// At the writer: a kStreamCredit or kUploadCredit came.
void OnItemCredit(ActorCore& core, const Signal& signal);
// At the reader of an upload, and at its writer.
void OnUploadEnd(ActorCore& core, const Signal& signal);
void OnUploadCancel(ActorCore& core, const Signal& signal);

// At the end of the life: tells the writers of the uploads that the actor still reads.
void EndUploads(ActorCore& core);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_STREAMS_H_
