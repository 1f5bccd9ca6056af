// The functions for an actor's asks in its turn: they tell AskTable what happened, and apply the actions that it
// returns. The functions use no other state of the actor than its public parts. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_ASKS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_ASKS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class ActorCore;

// The smaller of `timeout` from now and the deadline of the call in hand.
MonotonicTime DeadlineWithin(ActorCore& core, absl::Duration timeout);

// Adds an ask to the table of asks, and records for which call it is made, if one is in hand. A null `callee` means
// that no actor is to be told when the ask is given up. The id is 0 if the table is full: awaiting that ask gives Full.
PendingId NewAsk(ActorCore& core, Pid callee, MonotonicTime deadline);
// Like NewAsk, for a call whose answer or request comes in items (AskTable::AddWithItems).
PendingId NewAskWithItems(ActorCore& core, Pid callee, MonotonicTime deadline, uint64_t kind);
// Like NewAsk, for what something outside of actors answers (asks/outside_asks.h). It is recorded for the call in hand
// although it has no callee, and ends with that call's deadline if that is earlier.
PendingId NewOutsideAsk(ActorCore& core, MonotonicTime deadline);
// Gives ask `id` its answer. Returns false if it already had one or is gone.
bool AnswerAsk(ActorCore& core, uint64_t id, absl::Status status, Payload payload);
// True if ask `id` has an answer or is not in the table, so that awaiting it would not suspend.
bool IsAnswered(const ActorCore& core, uint64_t id);
// Tells the search for call cycles that the current handler waits for ask `id`, unless it is interleaved: then the
// actor handles other messages meanwhile.
void TellOfWait(ActorCore& core, uint64_t id);

// Gives up ask `id`, unless it has an answer: tells its callee, and makes `answer` its answer.
void GiveUpAsk(ActorCore& core, uint64_t id, absl::Status answer);
// Likewise, with Cancelled.
void CancelAsk(ActorCore& core, uint64_t id);
// Cancels the asks that were made for `calls`, which were in hand when their askers cancelled them. Each call is given
// by its asker and the asker's id of it. One walk through the asks, however many calls there are.
void CancelAsksFor(ActorCore& core, std::vector<std::pair<Pid, uint64_t>> calls);
// Answers the asks whose deadlines have passed.
void ExpireAsks(ActorCore& core, MonotonicTime now);
// At the end of the life: tells the callees, and ends all else that the asks keep up.
void EndAsks(ActorCore& core);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_ASKS_H_
