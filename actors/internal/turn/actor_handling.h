// The inline path of a message that its behavior can handle at once, without a coroutine.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_HANDLING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_HANDLING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/scheduling/message_ring.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/exceptions.h"

namespace understudy::internal {

// Records the disposition of a message that is not plainly handled: its handler failed, returned an error, postponed or
// forwarded it, or it is a call. Answers the call if it has no answer yet.
void SettleUnusual(ActorCore& core, Activation& activation);

// Timing of the run of a handler (HandlerTimer): begins if this one is due, and ends if one was begun.
UNDERSTUDY_SLOW_PATH void BeginTiming(ActorCore& core, Worker& worker, Activation& activation);
UNDERSTUDY_SLOW_PATH void EndTiming(SystemCore& system, Worker& worker);

// Notes a message that is about to be handled in the ring of its worker. A message with a call part needs its size too
// (NoteCall).
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RingEntry& NoteHandled(Worker& worker, const Envelope& message) {
  static_assert(offsetof(RingEntry, bytes) == sizeof(Envelope) - offsetof(Envelope, life));
  static_assert(offsetof(RingEntry, mailbox) == offsetof(Envelope, mailbox) - offsetof(Envelope, life));
  static_assert(offsetof(RingEntry, stamp) == offsetof(Envelope, stamp) - offsetof(Envelope, life));
  static_assert(offsetof(RingEntry, type) == offsetof(Envelope, type) - offsetof(Envelope, life));
  RingEntry& entry = worker.ring.Next();
  std::memcpy(static_cast<void*>(&entry), reinterpret_cast<const char*>(&message) + offsetof(Envelope, life),
              offsetof(RingEntry, bytes));
  return entry;
}
inline void NoteCall(Worker& worker, const Envelope& message) {
  RingEntry& entry = NoteHandled(worker, message);
  entry.bytes = message.counted_bytes();
}

// True if the oldest message in an open mailbox is what to handle next: the actor runs and does not end, its behavior
// has one rank and neither guards nor predicates, and there are no events, handlers to resume or Receives.
inline bool HandlesOldest(ActorCore& core) {
  ActorParts& parts = core.parts();
  return core.stage().is_plain() &&
         (ABSL_PREDICT_TRUE(parts.empty()) || (parts.events().empty() && parts.activations().IsQuiet()));
}

// Records the disposition of the message whose handler has ended, and applies what the handler asked for. `queue` is
// the queue of the message's mailbox; null if the handler was for an event.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::Settle(Queue* queue, Activation& activation) {
  if (queue != nullptr) {
    if (ABSL_PREDICT_TRUE(activation.is_plainly_handled())) {
      AddAsOwner(queue->handled, 1U);
    } else {
      SettleUnusual(*this, activation);
    }
  }
  if (ABSL_PREDICT_TRUE(parts_.empty())) return;
  ApplyBecome();
  if (ABSL_PREDICT_FALSE(activation.ends_receive)) parts_.activations().EndReceive();
}

// Runs a handler that is not a coroutine, and settles its message. If the actor was fenced while the handler ran, the
// other thread has already settled the message and ended the actor's life, so nothing more is done here.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::RunHandler(CurrentTurn& turn, Worker& worker, Queue* queue,
                                                               Activation& activation, MessageHandler& handler) {
  if (ABSL_PREDICT_FALSE(turn.system->observation().sees_steps())) Trace(*this, "handles", activation);
  SetCurrent(&activation);
  if (ABSL_PREDICT_FALSE(worker.timer.IsDue())) BeginTiming(*this, worker, activation);
  Guarded(
      [&] {
        UserCode user(worker);
        handler.Run(*actor_, activation);
      },
      [&](const std::exception_ptr& thrown) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        if (stage_.is_fenced()) return;
        activation.has_failed = true;
        SetExit(DescribeException(thrown), ExitCause::kOwn);
      });
  if (ABSL_PREDICT_FALSE(worker.timer.is_timing())) EndTiming(*turn.system, worker);
  SetCurrent(nullptr);
  if (ABSL_PREDICT_FALSE(stage_.is_fenced())) return;
  Settle(queue, activation);
}

// True if a tell needs nothing but a call of `handler`: the handler is of the form that just runs, and the behavior has
// no Idle, whose timer each message restarts.
inline bool RunsAtOnce(const BehaviorTable& table, const MessageHandler& handler) {
  return handler.form() == MessageHandler::Form::kRuns && !table.has_idle();
}

// Handles the oldest message that waits in the mailboxes `waiting` (bit i: mailbox i), which is not 0, with the first
// clause of its mailbox. Each of these mailboxes must have a message.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::HandleOldest(CurrentTurn& turn, uint64_t waiting) {
  auto place = static_cast<size_t>(std::countr_zero(waiting));
  Queue* queue = &cell().queue(turn.gates, place);
  for (uint64_t others = waiting & (waiting - 1); ABSL_PREDICT_FALSE(others != 0); others &= others - 1) {
    const auto other = static_cast<size_t>(std::countr_zero(others));
    Queue& others_queue = cell().queue(turn.gates, other);
    if (others_queue.newest->next->stamp < queue->newest->next->stamp) {
      queue = &others_queue;
      place = other;
    }
  }
  Envelope* const before = queue->newest;
  Envelope* const envelope = before->next;
  BehaviorTable& table = *behavior_;
  const size_t clause = table.ClauseFor(place);
  MessageHandler& handler = table.handler(clause);
  TakeOut(*this, turn, *queue, place, envelope, before);
  if (ABSL_PREDICT_TRUE(RunsAtOnce(table, handler) && !envelope->has(Envelope::kHasCallPart))) {
    Worker& worker = *ThisWorker();
    NoteHandled(worker, *envelope);
    Activation activation(*this, envelope);
    RunHandler(turn, worker, queue, activation, handler);
  } else {
    HandleTaken(envelope, table, clause);
  }
}

// Handles a tell that its sender gave directly to the idle actor, past the mailbox's gate, when no message waited in an
// open mailbox; so it is the oldest. If the actor is no longer free to handle it, or anything has arrived since (it may
// be a signal, which acts first), the tell is put into its mailbox instead.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::HandleHanded(CurrentTurn& turn, Envelope* envelope) {
  const size_t place = envelope->mailbox;
  if (ABSL_PREDICT_TRUE(HandlesOldest(*this) && !cell().HasInbound() &&
                        ((behavior_->mailboxes() & ~parts_.closed_mask()) >> place & 1U) != 0)) {
    BehaviorTable& table = *behavior_;
    MessageHandler& handler = table.handler(table.ClauseFor(place));
    if (ABSL_PREDICT_TRUE(RunsAtOnce(table, handler))) {
      Queue& queue = cell().queue(turn.gates, place);
      // Undoes ActorCell::Hand, which lowered `left` and `limit` by one for as long as this message waits. If the
      // message is put into its mailbox instead, Leave does so when it leaves.
      AddAsOwner(queue.left, 1U);
      AddAsOwner(turn.gates[place].limit, 1U);
      Worker& worker = *ThisWorker();
      NoteHandled(worker, *envelope);
      Activation activation(*this, envelope);
      RunHandler(turn, worker, &queue, activation, handler);
      return;
    }
  }
  SetCurrent(nullptr);
  NoteTime(turn.system->executor().CoarseNow());
  envelope->stamp = NextStamp();
  mail_.Add(cell().queue(turn.gates, place), place, envelope);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_HANDLING_H_
