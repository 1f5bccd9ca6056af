// The ends of an actor's messages: their dispositions in the ledger, except handled, which is counted in the
// mailbox's queue, and the disposal of messages that no handler gets. The functions use no other state of the actor
// than what is public. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_DISPOSAL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_DISPOSAL_H_

#include <cstddef>

#include "absl/status/status.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/mailbox_options.h"

namespace understudy::internal {

class ActorCore;

// True if the actor's successor is to get the message: it is a tell, and its mailbox keeps its mail.
inline bool IsKept(const MailboxLayout& layout, const Envelope& envelope) {
  return layout[envelope.mailbox].options.on_restart == OnRestart::kKeep && envelope.ask() == 0;
}

// Counts a message of mailbox `place`.
void Count(ActorCore& core, size_t place, Disposition disposition);
// A message counts as in hand from the call of a coroutine handler until that handler has ended or it is forwarded:
// meanwhile it has left its mailbox and has no disposition yet.
void CountInHand(ActorCore& core, Activation& activation);
void CountOutOfHand(ActorCore& core, Activation& activation);

// True if the message's deadline has passed, or its mailbox's time to live is over. Then `why` is the reason.
bool HasExpired(ActorCore& core, const Envelope& envelope, absl::Status& why);
// The disposition of a call whose asker no longer waits: expired if the call's deadline has passed, else cancelled.
Disposition DispositionOfCancelled(ActorCore& core, MonotonicTime deadline);

// Counts a message that has left its mailbox, tells of its loss, and destroys it.
void Dispose(ActorCore& core, Envelope* envelope, Disposition disposition, const absl::Status& why);
// Answers a call with `why`, publishes a dead letter, and destroys the message.
void TellOfLoss(ActorCore& core, Envelope* envelope, Disposition disposition, const absl::Status& why);
// Releases the allowance of a message of another node that never entered a mailbox, because it was early or was sent to
// an earlier life.
void LeaveEarly(ActorCore& core, const Envelope& envelope);
// Disposes of an envelope that was sent to an earlier life of the cell and arrived only now.
void DisposeOfStale(ActorCore& core, Envelope* envelope);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_DISPOSAL_H_
