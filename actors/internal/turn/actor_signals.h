// The functions for signals, links, monitors and children in an actor's turn: they tell the parts (LinkTable, Watches,
// Exits, ParentTie, EventQueue) what happened, and apply their answers. The functions use no other state of the actor
// than what is public. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_SIGNALS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_SIGNALS_H_

#include <cstdint>
#include <memory>

#include "understudy/actors/actor_spec.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/internal/turn/watches.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/router.h"

namespace understudy::internal {

class ActorCore;

// A child has started, declined or failed to start.
struct SpawnReport {
  uint64_t id = 0;  // the parent's, of this child
  SpawnOutcome outcome;
};

// Stamps `event` and queues it. Returns false if it was merged with waiting events instead.
bool AddEvent(ActorCore& core, Event event);

// A signal came.
void Act(ActorCore& core, Signal signal);
// A signal came that was not acted on before the end of the life. Acts on it if it still matters: if it changes who is
// told of the end, or must be answered or counted.
void ActAfterEnd(ActorCore& core, Signal& signal);
// The start of this actor has an outcome: tells the parent, if it asked for that.
void TellOutcome(ActorCore& core, SpawnOutcome::Kind kind, const ExitReason& reason);
// The start of a child has an outcome.
void OnOutcome(ActorCore& core, SpawnReport report);

Pid SpawnChild(ActorCore& core, SpawnOptions&& options, MakeActor&& make);
void Link(ActorCore& core, Pid peer);
void Unlink(ActorCore& core, Pid peer);
// Each returns the id of the new monitor. The Down of the second comes only when nothing is left of the target's life.
uint64_t Monitor(ActorCore& core, Pid target, std::shared_ptr<MessageHandler> handler);
uint64_t MonitorUntilGone(ActorCore& core, Pid target, std::shared_ptr<MessageHandler> handler);
void Demonitor(ActorCore& core, uint64_t id);
// Tells `target` that monitor `id` has ended.
void TellOfDemonitor(ActorCore& core, uint64_t id, Pid target);
// At the end of the life: tells the children whose outcome or end this actor asked for. A tied child gets an exit,
// others a Demonitor.
void TellChildrenOfEnd(ActorCore& core, const Watches& watches, const ExitReason& reason);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_SIGNALS_H_
