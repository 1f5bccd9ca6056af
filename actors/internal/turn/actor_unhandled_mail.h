// The functions for unhandled mail: what an actor's life leaves in its mailboxes for its successor, and what it takes
// of its predecessor's. The functions use no other state of the actor than what is public. Owner's turn only, in kernel
// code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_UNHANDLED_MAIL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_UNHANDLED_MAIL_H_

#include <cstdint>
#include <vector>

#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy::internal {

class ActorCore;

// The id of the parent's first monitor of this actor, whose Down carries the unhandled mail. 0 if there is none, or the
// parent is on another node: then no mail is kept.
uint64_t HeirsMonitor(ActorCore& core);
// Counts an early message, which was not sorted when the life ended, in its mailbox. Returns false if that mailbox does
// not exist, does not keep its mail, or has no room.
bool KeepEarly(ActorCore& core, Envelope* envelope);
// Returns the mail that the life leaves: first mail of the predecessor that this actor has not taken, then `kept`.
UnhandledMail LeaveUnhandledMail(ActorCore& core, std::vector<Envelope*> kept, const ExitReason& reason);
// Puts the predecessor's mail into the mailboxes. Called before the gates open, so it precedes all messages that are
// sent to this life.
void TakeUnhandledMail(ActorCore& core);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_UNHANDLED_MAIL_H_
