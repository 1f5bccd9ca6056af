// The functions that find what an actor handles next: events and messages in the order of arrival, subject to the
// clauses' guards, predicates, ranks and quotas. They run guards and predicates, which may end the actor, and leave
// the choice itself to MailChoice. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CHOICE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CHOICE_H_

#include <cstdint>
#include <memory>

#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/mail_choice.h"
#include "understudy/actors/internal/turn/message_handler.h"

namespace understudy::internal {

class ActorCore;

// Handles what is next. Returns false if there is nothing to handle now, or a guard or predicate has ended the actor.
bool HandleOne(ActorCore& core);
// The table whose clauses say what is handled now: that of the Receive under way, or the behavior. Null if nothing is
// handled.
BehaviorTable* Effective(ActorCore& core);
// The mailboxes (bit i: mailbox i) whose messages could be handled if one arrived now.
uint64_t OpenMask(ActorCore& core);

// The messages that `table` could handle next. Ask core.stage().has_exit() before you use it.
MailChoice Candidates(ActorCore& core, BehaviorTable& table);
// Takes the message out of its mailbox and handles it.
void HandleMessage(ActorCore& core, BehaviorTable& table, const Choice& choice);
// The handler that the actor has for `event`. Null if it has none.
const std::shared_ptr<MessageHandler>& HandlerOf(ActorCore& core, const Event& event);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CHOICE_H_
