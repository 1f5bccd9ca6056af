// The functions for what is due in an actor's turn: its timers, asks, and messages that expire. They read the clocks
// and set the executor's timer, as ActorTimers, AskTable and DueTimes answer. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_DUE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_DUE_H_

#include <memory>

#include "understudy/actors/clock.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/message_handler.h"

namespace understudy::internal {

class ActorCore;

// The tick of the executor's timer came: does all that is due.
void FireTimers(ActorCore& core);
// Closes all mailboxes of the actor until `end`, in place of an earlier end; opens them again if `end` has passed.
void Suspend(ActorCore& core, MonotonicTime end);
// Called before the actor goes idle: has the executor post a kTick when the earliest timer, ask or waiting message is
// due.
void ArmExecutor(ActorCore& core);
// At the end of the life: cancels the executor's timers for this actor.
void DisarmExecutor(ActorCore& core);

// Enters the timers of `table`. `at_once` is as in ActorTimers::Enter.
void EnterTimersOf(ActorCore& core, const BehaviorTable& table, std::shared_ptr<MessageHandler>* at_once = nullptr);
// True if `event` is of a behavior's timer and must not be handled any more (ActorTimers::IsStale).
bool IsStale(ActorCore& core, const Event& event);
// True if `event` is of an At and is early, because the wall clock was set back (ActorTimers::RunsOn).
bool RunsOn(ActorCore& core, const Event& event);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_DUE_H_
