// The functions for an actor's mailboxes in its turn, among them the inline path of each message: how it enters and
// leaves its mailbox, and how the room that it frees is published to senders. The functions use no other state of the
// actor than what is public. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/envelope_ring.h"

namespace understudy::internal {

// Parses a message of another node, which came as bytes. Null if they do not parse: then it has been disposed of.
Envelope* Parsed(ActorCore& core, Envelope* envelope);
// Mailbox `place` may hold more than its bound since a message entered it: if it drops its oldest messages, drops them.
// If calls of the batch that is being drained have been cancelled, this is done after CancelCalls, which makes room.
void DropOverflow(ActorCore& core, size_t place);
// A message of another node leaves its mailbox for the first time: what covered it is free. The router is told when
// senders of this node are (PublishLimits), for one mailbox and node at a time.
void ReleaseRemote(ActorCore& core, CurrentTurn& turn, Envelope* envelope);
// Tells the router about the messages of another node that have left a mailbox and that `turn.left_remote` counts.
void TellReleased(ActorCore& core, CurrentTurn& turn);

// Admits a message that arrived before the mailboxes were known, as if it arrived now.
void AdmitEarly(ActorCore& core, Envelope* envelope);
// Takes `envelope` out of the ring of `newest`, which is the ring of its mailbox's queue or one of the postponed
// messages. `before` precedes it there.
void TakeOut(ActorCore& core, Envelope*& newest, Envelope* envelope, Envelope* before);
// Puts a message that was in hand back into its mailbox, in the order of its stamp, and undoes what Leave counted. If
// `waits_for_change`, the message waits until the behavior changes.
void PutBack(ActorCore& core, Envelope* envelope, bool waits_for_change);
// The behavior has changed: the postponed messages wait in their mailboxes again.
void ReturnPostponed(ActorCore& core);

// False also when all that were postponed have left since.
inline bool HasPostponed(ActorCore& core) { return !core.parts().empty() && !core.parts().postponed().empty(); }

// The asker of a call has cancelled it. CancelCalls must be called when the batch that is being drained has been
// sorted.
void CancelCall(Pid asker, uint64_t ask);
// Cancels those calls that wait in a mailbox or are in hand, and the asks that were made for the latter, in one walk
// however many they are. This comes at the end of a batch, because a call that the actor has forwarded to itself may
// lie behind the cancel of its asker. Then drops what overflows. Requires that CancelCall was called.
void CancelCalls(ActorCore& core);

// Called when a sender needs room: calls whose deadline has passed and messages whose time to live is over leave their
// mailboxes, whether those are open or closed. This looks at every call that waits.
void ExpireWaitingMessages(ActorCore& core);
// Called at the time that WatchExpiry has found: messages whose time to live is over leave their mailboxes. Of each
// mailbox this looks at the oldest messages, up to the first that has not expired.
void ExpireOldestMessages(ActorCore& core);
// Finds when the time to live of a waiting message ends next, although its mailbox is closed: of a call, because its
// asker is to be told then, and of a tell only while a sender waits for the room that it takes. (No sender waits for
// room in a mailbox for calls: an ask that finds none is refused.)
void WatchExpiry(ActorCore& core);

// Appends a message, which the mailbox's gate has accepted, to its mailbox. One of another node is parsed first.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Enqueue(ActorCore& core, const CurrentTurn& turn, Envelope* envelope) {
  if (ABSL_PREDICT_FALSE(envelope->type == &TypeOf<WireBytes>())) {
    envelope = Parsed(core, envelope);
    if (envelope == nullptr) return;
  }
  const size_t place = envelope->mailbox;
  envelope->stamp = core.NextStamp();
  core.mail().Add(core.cell().queue(turn.gates, place), place, envelope);
  if (ABSL_PREDICT_FALSE((turn.layout->overflowing() >> place & 1U) != 0)) DropOverflow(core, place);
}

// Counts a message as having left its mailbox, and its bytes and the credit of the node that it came from as free. The
// gate's `limit` shares a cache line with what senders write, so it is not stored for each message but for every so
// many (`publishing.mask`); between these, turn.unpublished notes the mailbox, and PublishLimits stores its limit.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Leave(ActorCore& core, CurrentTurn& turn, Queue& queue, size_t place,
                                               Envelope* envelope) {
  const uint64_t sender = envelope->sender_life;
  if (ABSL_PREDICT_FALSE(static_cast<uint16_t>(sender) != static_cast<uint16_t>(turn.self.life())) && sender != 0) {
    ReleaseRemote(core, turn, envelope);
  }
  const uint32_t left = AddAsOwner(queue.left, 1U);
  const MailboxLayout::Publishing publishing = turn.layout->publishing(place);
  if (ABSL_PREDICT_FALSE((left & publishing.mask) == 0)) {
    turn.gates[place].limit.store(left + publishing.room, std::memory_order_relaxed);
    if (ABSL_PREDICT_FALSE(turn.left_remote.messages != 0)) TellReleased(core, turn);
  } else {
    turn.unpublished |= uint64_t{1} << place;
  }
  if (ABSL_PREDICT_FALSE(envelope->has(Envelope::kHasCallPart) && envelope->call().bytes != 0)) {
    AddAsOwner(core.cell().byte_gate(place).limit, envelope->call().bytes);
  }
}

// Stores the limits of the gates whose mailboxes messages have left since their limit was stored last.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PublishLimits(ActorCore& core, CurrentTurn& turn) {
  for (uint64_t places = turn.unpublished; places != 0; places &= places - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(places));
    const uint32_t left = core.cell().queue(turn.gates, place).left.load(std::memory_order_relaxed);
    turn.gates[place].limit.store(left + turn.layout->room(place), std::memory_order_relaxed);
  }
  turn.unpublished = 0;
  if (ABSL_PREDICT_FALSE(turn.left_remote.messages != 0)) TellReleased(core, turn);
}

// Takes `envelope` out of the ring of `queue`, the queue of mailbox `place`. `before` precedes it in that ring.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void TakeOut(ActorCore& core, CurrentTurn& turn, Queue& queue, size_t place,
                                                 Envelope* envelope, Envelope* before) {
  core.mail().Cut(queue, place, envelope, before);
  Leave(core, turn, queue, place, envelope);
}

inline void Leave(ActorCore& core, Envelope* envelope) {
  Leave(core, ThisTurn(), core.cell().queue(envelope->mailbox), envelope->mailbox, envelope);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_
